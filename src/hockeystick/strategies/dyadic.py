"""Strategies for exact arithmetic: the entries of C are multiples of 2^-20."""

from __future__ import annotations

from typing import NoReturn

import numpy as np

from hockeystick._numerics.law import FloatArray
from hockeystick.errors import InvalidParameter

__all__ = ["ARITHMETICS", "COEFFICIENT_BITS", "refuse_unbanded", "rounded_entries"]

ARITHMETICS = ("float", "exact")
# A strategy loses some 1e-12 of its error by rounding to so many digits; more of them would be
# taken from the noise (`NoiseBounds`).
COEFFICIENT_BITS = 20


def rounded_entries(entries: FloatArray) -> FloatArray:
    """To the nearest multiples of 2^-20."""
    unit = 2.0**COEFFICIENT_BITS
    rounded: FloatArray = np.rint(entries * unit) / unit
    return rounded


def refuse_unbanded(strategy: object) -> NoReturn:
    """`InvalidParameter` for a strategy whose exact noise would have to remember every step."""
    allowed = (
        "one that remembers as many rows of noise as C has bands, for exact arithmetic: identity, "
        "bsr, band_mf, from_coefficients or from_matrix"
    )
    raise InvalidParameter("strategy", allowed, strategy)
