"""Strategies: how the noise of different steps is correlated.

A factorization is a function that returns a `Strategy`. It is known to the command line once it is
registered, with one line: `register(factorization)`, or `@register` above the function.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from hockeystick._validate import function_name
from hockeystick.errors import InvalidParameter
from hockeystick.strategies.band_inv_mf import band_inv_mf
from hockeystick.strategies.band_mf import band_mf
from hockeystick.strategies.blt import blt
from hockeystick.strategies.closed_forms import bisr, bsr, lambda_cgd
from hockeystick.strategies.columns import Sensitivity
from hockeystick.strategies.iterates import iterates, learning_rates
from hockeystick.strategies.matrix import from_matrix
from hockeystick.strategies.noise import NoiseStream
from hockeystick.strategies.strategy import Strategy
from hockeystick.strategies.toeplitz import from_coefficients, identity
from hockeystick.strategies.workloads import momentum, prefix_sums

__all__ = [
    "FACTORIZATIONS",
    "NoiseStream",
    "Sensitivity",
    "Strategy",
    "band_inv_mf",
    "band_mf",
    "bisr",
    "blt",
    "bsr",
    "from_coefficients",
    "from_matrix",
    "identity",
    "iterates",
    "lambda_cgd",
    "learning_rates",
    "momentum",
    "prefix_sums",
    "register",
]

FACTORIZATIONS: dict[str, Callable[..., Strategy]] = {}
"""The factorizations whose parameters are numbers, by their kebab-case name."""

Factorization = TypeVar("Factorization", bound=Callable[..., Strategy])


def register(factorization: Factorization) -> Factorization:
    """Make a factorization known by its name, to the command line and to statements.

    Parameters
    ----------
    factorization
        A function of `steps` and of numbers that returns a strategy. Registering the same one again
        changes nothing.

    Returns
    -------
    Callable
        The function itself, so that this also works as a decorator.

    Raises
    ------
    InvalidParameter
        If it is no function with a name, or another factorization has the name.

    Examples
    --------
    >>> import hockeystick as hs
    >>> hs.strategies.register(hs.strategies.bsr) is hs.strategies.FACTORIZATIONS["bsr"]
    True
    """
    name = function_name("factorization", factorization)
    if FACTORIZATIONS.setdefault(name, factorization) is not factorization:
        raise InvalidParameter("factorization", "one whose name is not registered yet", name)
    return factorization


for _factorization in (identity, bsr, bisr, lambda_cgd, band_mf, band_inv_mf, blt):
    register(_factorization)
