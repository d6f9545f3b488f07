"""The sensitivity of a strategy, with what is known about it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

__all__ = ["Sensitivity", "certified"]

# How far, relatively, a pattern may stay below a bound that it attains up to rounding.
ROUNDING = 1e-12


class Sensitivity(float):
    """A number that also says whether it is exact, and for which participation pattern.

    `exact`: the pattern attains the number. Otherwise the number is an upper bound.
    """

    exact: bool
    pattern: Sequence[int]

    def __new__(cls, value: float, *, exact: bool, pattern: Sequence[int]) -> Sensitivity:
        """A float with two more facts."""
        number = super().__new__(cls, value)
        number.exact = exact
        number.pattern = pattern
        return number

    def __getnewargs_ex__(self) -> tuple[tuple[float], dict[str, object]]:
        return (float(self),), {"exact": self.exact, "pattern": self.pattern}


def certified(bound: float, attained: float, pattern: NDArray[np.int64]) -> Sensitivity:
    """The square root of `bound`; exact if the pattern's sum of columns `attained` it, squared."""
    exact = attained >= bound * (1 - ROUNDING)
    return Sensitivity(max(bound, attained) ** 0.5, exact=exact, pattern=_positions(pattern))


def _positions(pattern: NDArray[np.int64]) -> Sequence[int]:
    """Evenly spaced positions as a range, which can be as long as it likes."""
    gaps = np.diff(pattern)
    first, last = int(pattern[0]), int(pattern[-1])
    if gaps.size and (gaps == gaps[0]).all():
        return range(first, last + 1, int(gaps[0]))
    return (first,) if not gaps.size else tuple(pattern.tolist())
