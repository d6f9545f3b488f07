"""A Toeplitz strategy given by its coefficients."""

from __future__ import annotations

import numpy.typing as npt

from hockeystick._validate import positive_integer, vector
from hockeystick.errors import InvalidParameter
from hockeystick.strategies.toeplitz import Toeplitz

__all__ = ["from_coefficients"]


def from_coefficients(coefficients: npt.ArrayLike, steps: int | None = None) -> Toeplitz:
    """The strategy whose first column starts with the coefficients and is zero below.

    `steps` is by default the number of coefficients. Refused with `InvalidParameter`: coefficients
    that are negative, infinite or NaN, a first one that is not positive, more of them than steps.
    """
    array = vector("coefficients", coefficients)
    if array.ndim != 1 or array.size < 1:
        raise InvalidParameter("coefficients", "a vector of at least one number", coefficients)
    number = array.size if steps is None else positive_integer("steps", steps)
    if not array.size <= number:
        raise InvalidParameter("coefficients", f"at most steps={number} numbers", array.size)
    strategy = Toeplitz("coefficients", steps=number, coefficients=array)
    strategy.parameters = {"bands": strategy.bands}
    return strategy
