"""Strategies in closed form: square roots of the prefix sums, and `lambda_cgd`.

`bsr` is the banded square root, `bisr` the banded inverse one; `lambda_cgd` takes back a share of
the noise of the step before.
"""

from __future__ import annotations

import numpy as np

from hockeystick._numerics.law import FloatArray
from hockeystick._numerics.series import from_ratios, reciprocal
from hockeystick._validate import positive_integer, real, storable
from hockeystick.errors import InvalidParameter
from hockeystick.strategies.strategy import bands_within
from hockeystick.strategies.toeplitz import Toeplitz

__all__ = [
    "bisr",
    "bsr",
    "inverse_root_coefficients",
    "lambda_cgd",
]


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


def lambda_cgd(steps: int, *, decay: float) -> Toeplitz:
    """Noise Z_t - decay * Z_(t-1): C^-1 has the two coefficients 1 and -decay [Kalinin26].

    C has the coefficients decay^k, c_0 = 1. With `noise_memory="replay"` the noise of the step
    before is drawn again, so correlated noise costs no memory.

    Parameters
    ----------
    steps
        The number of updates, the size of C.
    decay
        The share that is taken back, in [0, 1); 0 is independent noise.

    Returns
    -------
    Toeplitz
        A strategy with ones on the diagonal.

    Examples
    --------
    >>> import hockeystick as hs
    >>> strategy = hs.strategies.lambda_cgd(100, decay=0.5)
    >>> strategy.inverse_coefficients
    array([ 1. , -0.5])
    >>> strategy.coefficients[:3]
    array([1.  , 0.5 , 0.25])
    """
    allowed = "in [0, 1)"
    number = real("decay", decay, allowed)
    if not 0 <= number < 1:
        raise InvalidParameter("decay", allowed, decay)
    count = storable("steps", positive_integer("steps", steps))
    return Toeplitz(
        "lambda-cgd",
        steps=count,
        coefficients=np.power(number, np.arange(count, dtype=np.float64)),
        inverse=np.array([1.0, -number])[: min(2, count)],
        parameters={"decay": number},
    )
