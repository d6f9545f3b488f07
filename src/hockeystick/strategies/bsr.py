"""Banded square root."""

from __future__ import annotations

import numpy as np

from hockeystick._numerics.law import FloatArray
from hockeystick._numerics.series import from_ratios
from hockeystick.strategies.strategy import bands_within
from hockeystick.strategies.toeplitz import Toeplitz

__all__ = ["bsr", "square_root_coefficients"]


def bsr(steps: int, bands: int) -> Toeplitz:
    """The first `bands` coefficients of the square root of the prefix-sum matrix, c_0 = 1.

    c_k = binomial(2k, k) / 4^k, the series of (1 - z)^(-1/2) (Kalinin & Lampert 2024, "Banded
    square root matrix factorization for differentially private model training"). Nearly optimal
    without any optimisation.
    """
    steps, bands = bands_within(steps, bands)
    coefficients = square_root_coefficients(bands)
    return Toeplitz("bsr", steps=steps, coefficients=coefficients, parameters={"bands": bands})


def square_root_coefficients(count: int) -> FloatArray:
    """The series of (1 - z)^(-1/2): each coefficient is (2k - 1) / 2k of the one before."""
    k = np.arange(1.0, count)
    return from_ratios((2 * k - 1) / (2 * k))
