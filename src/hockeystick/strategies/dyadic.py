"""What exact arithmetic needs: entries of C that are multiples of 2^-20, and a known distance."""

from __future__ import annotations

from typing import NoReturn

import numpy as np

from hockeystick._numerics import series
from hockeystick._numerics.law import FloatArray
from hockeystick.errors import InvalidParameter

__all__ = [
    "ARITHMETICS",
    "COEFFICIENT_BITS",
    "MOST_NUMBERS",
    "TOTAL_VARIATION",
    "movable",
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


# The largest steps * (bands + 1) with which coefficients are wrong by less than 2^-31.
MOST_PRODUCTS = 2**21


def rounded_entries(entries: FloatArray) -> FloatArray:
    """To the nearest multiples of 2^-20."""
    unit = 2.0**COEFFICIENT_BITS
    rounded: FloatArray = np.rint(entries * unit) / unit
    return rounded


def movable(inverse: FloatArray, steps: int) -> bool:
    """Whether exact noise is a moving sum: C is the inverse of the series, relatively to 2^-31.

    That is so if its recursion was computed, and all its terms have one sign: then coefficients are
    wrong by at most steps * (bands + 1) * 2^-52 of themselves (`moving_integers`).
    """
    few = inverse.size <= series.DIRECT and steps * (inverse.size + 1) <= MOST_PRODUCTS
    return bool(few and inverse[0] > 0 and (inverse[1:] <= 0).all())


def refuse_unbanded(strategy: object) -> NoReturn:
    """`InvalidParameter` for a strategy whose exact noise would have to remember every step."""
    allowed = (
        "one that remembers as many rows of noise as C or its inverse has bands, for exact "
        "arithmetic; from_coefficients with the coefficients of this one is the same matrix and "
        "remembers more rows"
    )
    raise InvalidParameter("strategy", allowed, strategy)
