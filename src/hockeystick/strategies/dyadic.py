"""What exact arithmetic needs: entries of C that are multiples of 2^-20, and a known distance."""

from __future__ import annotations

from typing import NoReturn

import numpy as np

from hockeystick._numerics.law import FloatArray
from hockeystick.errors import InvalidParameter

__all__ = [
    "ARITHMETICS",
    "COEFFICIENT_BITS",
    "MOST_NUMBERS",
    "TOTAL_VARIATION",
    "refuse_unbanded",
    "rounded_entries",
]

ARITHMETICS = ("float", "exact")
# A strategy loses some 1e-12 of its error by rounding to so many digits; more of them would be
# taken from the noise (`NoiseBounds`).
COEFFICIENT_BITS = 20
# The numbers that a stream draws, at most, and how far they are together from their law in total
# variation: 2^-188 each, as `rounded_normals` proves.
MOST_NUMBERS = 2.0**64
TOTAL_VARIATION = MOST_NUMBERS * 2.0**-188


def rounded_entries(entries: FloatArray) -> FloatArray:
    """To the nearest multiples of 2^-20."""
    unit = 2.0**COEFFICIENT_BITS
    rounded: FloatArray = np.rint(entries * unit) / unit
    return rounded


def refuse_unbanded(strategy: object) -> NoReturn:
    """`InvalidParameter` for a strategy whose exact noise would have to remember every step."""
    allowed = (
        "one that remembers as many rows of noise as C has bands, for exact arithmetic: identity, "
        "bsr, band_mf, from_matrix or from_coefficients (with this strategy's coefficients it is "
        "the same matrix and remembers more rows)"
    )
    raise InvalidParameter("strategy", allowed, strategy)
