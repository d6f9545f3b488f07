"""How improbable a sum over many independent canaries is, from the moments that it should have."""

from __future__ import annotations

import numpy as np

from hockeystick._numerics.law import FloatArray

__all__ = ["tails"]

# Variances below this, relative to the square of the mean, are rounding.
CONSTANT = 1e-20


def tails(
    total: FloatArray, mean: FloatArray, variance: FloatArray, third: FloatArray, *, above: bool
) -> FloatArray:
    """The probability of a value as far above the mean, or as far on either side.

    By the gamma law with the same mean, variance and third moment.
    """
    from scipy.stats import pearson3

    # What is the same for every canary tells nothing: alternatives about members without members.
    constant = variance <= CONSTANT * (1 + mean * mean)
    spread = np.sqrt(np.where(constant, 1.0, variance))
    skew = np.clip(third / spread**3, -2.0, 2.0)
    z = (total - mean) / spread
    upper = pearson3.sf(z, skew)
    found = upper if above else 2 * np.minimum(upper, pearson3.cdf(z, skew))
    result: FloatArray = np.where(constant, 1.0, np.clip(found, 0.0, 1.0))
    return result
