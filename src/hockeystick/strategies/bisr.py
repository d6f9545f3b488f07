"""Banded inverse square root."""

from __future__ import annotations

import numpy as np

from hockeystick._numerics.law import FloatArray
from hockeystick._numerics.series import from_ratios, reciprocal
from hockeystick._validate import storable
from hockeystick.strategies.strategy import bands_within
from hockeystick.strategies.toeplitz import Toeplitz

__all__ = ["bisr", "inverse_root_coefficients"]


def bisr(steps: int, bands: int) -> Toeplitz:
    """C^-1 has the first `bands` coefficients of the inverse square root, C is its inverse.

    The series of (1 - z)^(1/2), c_0 = 1 (Kalinin, McKenna, Upadhyay & Lampert 2025, "Back to square
    roots"). After the first the coefficients are negative, so 1 - C^-1 is a series with
    non-negative coefficients and C a sum of its powers: C is non-negative and computed without
    cancellation.
    """
    steps, bands = bands_within(steps, bands)
    storable("steps", steps)
    inverse = inverse_root_coefficients(bands)
    return Toeplitz(
        "bisr",
        steps=steps,
        # Long series are multiplied by FFT, whose rounding can end below zero.
        coefficients=np.maximum(reciprocal(inverse, steps), 0.0),
        inverse=inverse,
        parameters={"bands": bands},
    )


def inverse_root_coefficients(count: int) -> FloatArray:
    """The series of (1 - z)^(1/2): each coefficient is (2k - 3) / 2k of the one before."""
    k = np.arange(1.0, count)
    return from_ratios((2 * k - 3) / (2 * k))
