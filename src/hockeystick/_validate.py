"""Checks at the public boundary, written so that NaN never passes."""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hockeystick.errors import InvalidParameter

__all__ = [
    "at_least",
    "boolean",
    "positive",
    "positive_integer",
    "probability",
    "real",
    "relative_accuracy",
    "sampling_rate",
    "small_probability",
    "vector",
]


def real(name: str, value: Any, allowed: str = "a real number") -> float:
    """The value as a float; anything that is not a number (NaN included) is refused."""
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        raise InvalidParameter(name, allowed, value) from None
    if isinstance(value, (str, bytes)) or math.isnan(number):
        raise InvalidParameter(name, allowed, value)
    return number


def vector(name: str, values: Any, allowed: str = "a vector of numbers") -> NDArray[np.float64]:
    """The values as a float array; NaN is refused."""
    try:
        given = np.asarray(values)
        # Text would be parsed, and imaginary parts dropped.
        if given.dtype.kind in "cSU":
            raise InvalidParameter(name, allowed, values)
        array = given.astype(np.float64)
    except (TypeError, ValueError):
        raise InvalidParameter(name, allowed, values) from None
    if np.isnan(array).any():
        raise InvalidParameter(name, allowed, values)
    return array


def positive(name: str, value: Any) -> float:
    """A finite number above zero."""
    allowed = "a finite number > 0"
    number = real(name, value, allowed)
    if not (number > 0 and math.isfinite(number)):
        raise InvalidParameter(name, allowed, value)
    return number


def at_least(name: str, value: Any, bound: float) -> float:
    """A finite number not below `bound`."""
    allowed = f"a finite number >= {bound:g}"
    number = real(name, value, allowed)
    if not (number >= bound and math.isfinite(number)):
        raise InvalidParameter(name, allowed, value)
    return number


def probability(name: str, value: Any) -> float:
    """A number in [0, 1]."""
    allowed = "in [0, 1]"
    number = real(name, value, allowed)
    if not 0 <= number <= 1:
        raise InvalidParameter(name, allowed, value)
    return number


def sampling_rate(name: str, value: Any) -> float:
    """A number in (0, 1]."""
    allowed = "in (0, 1]"
    number = real(name, value, allowed)
    if not 0 < number <= 1:
        raise InvalidParameter(name, allowed, value)
    return number


def small_probability(name: str, value: Any) -> float:
    """A number in (0, 1), such as a delta."""
    allowed = "in (0, 1)"
    number = real(name, value, allowed)
    if not 0 < number < 1:
        raise InvalidParameter(name, allowed, value)
    return number


def relative_accuracy(name: str, value: Any) -> float:
    """A relative accuracy that the numerics can be asked for: between 1e-5 and 0.5."""
    allowed = "in [1e-05, 0.5]"
    number = real(name, value, allowed)
    if not 1e-5 <= number <= 0.5:
        raise InvalidParameter(name, allowed, value)
    return number


def positive_integer(name: str, value: Any) -> int:
    """An integer of at least one; booleans and floats are refused, NumPy integers pass."""
    allowed = "an integer >= 1"
    if isinstance(value, bool):
        raise InvalidParameter(name, allowed, value)
    try:
        number = operator.index(value)
    except TypeError:
        raise InvalidParameter(name, allowed, value) from None
    if not number >= 1:
        raise InvalidParameter(name, allowed, value)
    return number


def boolean(name: str, value: Any) -> bool:
    """True or False, of Python or NumPy."""
    if not isinstance(value, (bool, np.bool_)):
        raise InvalidParameter(name, "True or False", value)
    return bool(value)
