"""The leading block of a strategy: what correlates the noise of the first steps of a run."""

from __future__ import annotations

from functools import singledispatch
from typing import Any

from hockeystick._validate import positive_integer
from hockeystick.errors import InvalidParameter
from hockeystick.strategies.matrix import from_matrix
from hockeystick.strategies.strategy import Strategy
from hockeystick.strategies.toeplitz import Toeplitz

__all__ = ["CLOSED_FORM", "leading_block"]

# Factorizations whose coefficients do not depend on the number of steps.
CLOSED_FORM = ("identity", "bsr", "bisr", "lambda-cgd")


def leading_block(strategy: Strategy, steps: int) -> Strategy:
    """The first `steps` rows and columns of C, which is not optimised again.

    C is lower triangular. So the first rows of C G + Z depend on the first rows of G and Z alone,
    through the leading block, and the leading block of C^-1 is the inverse of that of C: the noise
    of the first steps is what the block gives.

    Parameters
    ----------
    strategy
        That of the whole run.
    steps
        At most those of the strategy.

    Returns
    -------
    Strategy
        The strategy itself if it has no more steps.
    """
    number = positive_integer("steps", steps)
    if not number <= strategy.steps:
        raise InvalidParameter("steps", f"an integer in [1, {strategy.steps}]", steps)
    return strategy if number == strategy.steps else _block(strategy, number)


@singledispatch
def _block(strategy: Strategy, steps: int) -> Strategy:
    return from_matrix(strategy.to_matrix()[:steps, :steps])


@_block.register
def _(strategy: Toeplitz, steps: int) -> Strategy:
    """The first coefficients; factorizations in closed form keep their name."""
    closed = strategy.name in CLOSED_FORM
    found = Toeplitz(
        strategy.name if closed else "coefficients",
        steps=steps,
        coefficients=strategy.coefficients[:steps],
        inverse=None if strategy._inverse is None else strategy._inverse[:steps],
        recurrence=strategy._recurrence,
        parameters=strategy.parameters if closed else {},
    )
    if not closed:
        found.parameters = {"bands": found.bands}
    elif "bands" in strategy.parameters:
        bands: Any = strategy.parameters["bands"]
        found.parameters = {**strategy.parameters, "bands": min(bands, steps)}
    return found
