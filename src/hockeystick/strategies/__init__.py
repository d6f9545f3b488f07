"""Strategies: how the noise of different steps is correlated."""

from __future__ import annotations

from collections.abc import Callable

from hockeystick.strategies.band_inv_mf import band_inv_mf
from hockeystick.strategies.band_mf import band_mf
from hockeystick.strategies.blt import blt
from hockeystick.strategies.columns import Sensitivity
from hockeystick.strategies.matrix import from_matrix
from hockeystick.strategies.noise import NoiseStream
from hockeystick.strategies.objective import momentum, prefix_sums
from hockeystick.strategies.square_root import bisr, bsr
from hockeystick.strategies.strategy import Strategy
from hockeystick.strategies.toeplitz import from_coefficients, identity

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
    "momentum",
    "prefix_sums",
]

FACTORIZATIONS: dict[str, Callable[..., Strategy]] = {
    factorization.__name__.replace("_", "-"): factorization
    for factorization in (identity, bsr, bisr, band_mf, band_inv_mf, blt)
}
"""The factorizations whose parameters are numbers, by their kebab-case name."""
