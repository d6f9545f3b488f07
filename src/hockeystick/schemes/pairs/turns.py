"""Participations in disjoint columns: a composition of subsampled Gaussian mechanisms.

If an example can only join steps that are at least `bands` apart, the columns of C that belong to
them have no row in common. Its contributions to C G + Z then lie in different coordinates, each
with its own coin, so the run is the composition of Gaussian mechanisms with the columns' lengths as
sensitivities, each subsampled at the rate (Choquette-Choo et al. 2023, "(Amplified) banded matrix
factorization", Theorem 4).
"""

from __future__ import annotations

from functools import reduce

import numpy as np

from hockeystick._numerics.law import FloatArray
from hockeystick.plan import Plan
from hockeystick.profile import Profile
from hockeystick.schemes.pairs.lengths import counted_lengths
from hockeystick.schemes.pairs.registry import DominatingPair, Step

__all__ = ["composed_turns", "too_many_bands"]


def too_many_bands(plan: Plan, groups: int) -> str | None:
    """The objection to columns that overlap."""
    bands = plan.strategy.bands
    if bands <= groups:
        return None
    return (
        f"it needs a strategy with at most {groups} band{'s' if groups > 1 else ''} under "
        f"{plan.sampling.name}, this one has {bands}"
    )


def composed_turns(plan: Plan, step: Step, *, rate: float, groups: int) -> DominatingPair:
    """The worst group's turns, composed. Turn r of group g is step g + r * groups.

    Groups are public. Each turn is charged the longest column that any group has there; a group
    that has the longest in all of them is the worst, and the pair is its own. All columns of a
    Toeplitz strategy are charged in full, although the end of the run may cut the last one short:
    that is how such runs are priced in the literature, and it costs nothing if whole rounds are
    run.
    """
    turns = -(-plan.steps // groups)
    coefficients = plan.strategy.coefficients
    if coefficients is not None:
        lengths = {float(np.linalg.norm(coefficients)): turns}
        tight = (turns - 1) * groups + plan.strategy.bands <= plan.steps
    else:
        lengths, tight = _longest_by_turn(plan.strategy.column_norms, turns, groups)
    parts = [step(length).subsample(rate).self_compose(count) for length, count in lengths.items()]
    return DominatingPair(reduce(Profile.compose, parts), tight=tight)


def _longest_by_turn(columns: FloatArray, turns: int, groups: int) -> tuple[dict[float, int], bool]:
    """How many turns have which length, and whether they are those of one group."""
    padded = np.zeros(turns * groups)
    padded[: columns.size] = columns
    by_turn = padded.reshape(turns, groups)
    longest = by_turn.max(axis=1)
    tight = bool((by_turn == longest[:, None]).all(axis=0).any())
    lengths, exact = counted_lengths(longest)
    return lengths, tight and exact
