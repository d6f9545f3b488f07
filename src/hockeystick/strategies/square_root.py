"""Square roots of the prefix sums, in closed form: the banded one, and the banded inverse."""

from __future__ import annotations

import numpy as np

from hockeystick._numerics.law import FloatArray
from hockeystick._numerics.series import from_ratios, reciprocal
from hockeystick._validate import storable
from hockeystick.strategies.strategy import bands_within
from hockeystick.strategies.toeplitz import Toeplitz

__all__ = ["bisr", "bsr", "inverse_root_coefficients"]


def bsr(steps: int, bands: int) -> Toeplitz:
    """The banded square root: the first `bands` coefficients of the prefix sums' root, c_0 = 1.

    c_k = binomial(2k, k) / 4^k, the series of (1 - z)^(-1/2) [KalininLampert24]. Nearly optimal
    without any optimisation.

    Parameters
    ----------
    steps
        The number of updates, the size of C.
    bands
        The bandwidth of C, at most `steps`.

    Returns
    -------
    Toeplitz
        A strategy with ones on the diagonal.

    Examples
    --------
    >>> import hockeystick as hs
    >>> hs.strategies.bsr(100, bands=3).coefficients
    array([1.   , 0.5  , 0.375])
    """
    steps, bands = bands_within(steps, bands)
    k = np.arange(1.0, bands)
    # Each coefficient is (2k - 1) / 2k of the one before.
    coefficients = from_ratios((2 * k - 1) / (2 * k))
    return Toeplitz("bsr", steps=steps, coefficients=coefficients, parameters={"bands": bands})


def bisr(steps: int, bands: int) -> Toeplitz:
    """The banded inverse square root: C^-1 has the first `bands` coefficients of the inverse root.

    The series of (1 - z)^(1/2), c_0 = 1 [Kalinin25]. After the first the coefficients of C^-1 are
    negative, so 1 - C^-1 is a series with non-negative coefficients and C a sum of its powers: C is
    non-negative and computed without cancellation.

    Parameters
    ----------
    steps
        The number of updates, the size of C.
    bands
        The bandwidth of C^-1, at most `steps`; C itself is full.

    Returns
    -------
    Toeplitz
        A strategy with ones on the diagonal.

    Examples
    --------
    >>> import hockeystick as hs
    >>> strategy = hs.strategies.bisr(100, bands=3)
    >>> strategy.inverse_coefficients
    array([ 1.   , -0.5  , -0.125])
    >>> strategy.bands, strategy.inverse_bands
    (100, 3)
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
