"""Strategies: how the noise of different steps is correlated. One factorization per file."""

from __future__ import annotations

from collections.abc import Callable

from hockeystick.strategies.band_inv_mf import band_inv_mf
from hockeystick.strategies.band_mf import band_mf
from hockeystick.strategies.bisr import bisr
from hockeystick.strategies.blt import blt
from hockeystick.strategies.bsr import bsr
from hockeystick.strategies.coefficients import from_coefficients
from hockeystick.strategies.identity import identity
from hockeystick.strategies.matrix import from_matrix
from hockeystick.strategies.noise import NoiseStream
from hockeystick.strategies.sensitivity import Sensitivity
from hockeystick.strategies.strategy import Strategy
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
    "momentum",
    "prefix_sums",
]

FACTORIZATIONS: dict[str, Callable[..., Strategy]] = {
    factorization.__name__.replace("_", "-"): factorization
    for factorization in (identity, bsr, bisr, band_mf, band_inv_mf, blt)
}
"""Every factorization that numbers alone describe, by its kebab-case name."""
