"""Exact noise where the inverse B of C has few bands: N_t = R(b_0 X_t + b_1 X_(t-1) + ...).

R rounds to an integer, in units of the lattice. X is remembered as integers on a lattice that is
2^20 times finer. Sums of these in double precision decide the rounding of the real sum, except
where it is closer to the middle of two integers than rounding can move it: a few numbers in a
million, for which further digits of X are drawn and added up as integers. Why G + N is a
post-processing of C G + Z, with no rounding of X itself: docs/exact.md.

B is multiplied by 1 + 2^-30: more noise than what is accounted, by more than C, which is computed
from B in double precision, can be too small. With b_0 > 0 and no other b_j above 0 the recursion
for C adds numbers that are not negative, so that every coefficient is relatively wrong by at most
steps * (bands + 1) * 2^-52.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numba import njit
from numpy.typing import NDArray

from hockeystick._numerics.law import FloatArray
from hockeystick.errors import InvalidParameter
from hockeystick.strategies.integer_recurrence import BLOCK, NoiseBounds
from hockeystick.strategies.rounded_normals import LARGEST
from hockeystick.strategies.undecided import VALUE_BITS

__all__ = ["GUARD", "MOST_MOVING_RESOLUTION", "MovingIntegers", "moving_step"]

# Digits of X that are remembered beyond those of the lattice. With at most 28 of those, 16 standard
# deviations of the fine lattice are below 2^53, where double precision has all integers.
GUARD, MOST_MOVING_RESOLUTION = 20, 28
# What B is multiplied by: `dyadic.movable` allows for it.
ROOM = 1 + Fraction(1, 2**30)


@dataclass(frozen=True, eq=False)
class MovingIntegers:
    """The coefficients of B, before `ROOM`."""

    inverse: FloatArray

    @property
    def rows(self) -> int:
        """Rows of X that are remembered."""
        return self.inverse.size - 1

    @property
    def factors(self) -> FloatArray:
        """b_j (1 + 2^-30), relatively wrong by at most 2^-52."""
        return self.inverse * float(ROOM)

    def margin(self, resolution: int) -> float:
        """How far a sum in double precision may be off, in units of the lattice.

        Half a point of the fine lattice for each X, and for `bands` products and sums of numbers
        that are at most 16 standard deviations long the rounding of each.
        """
        sizes = float(np.abs(self.factors).sum()) * (1.0 + 2.0**-40)
        longest = LARGEST * 2.0 ** (resolution + GUARD) + 1.0
        rounding = (self.inverse.size + 4) * 2.0**-52 * longest
        return sizes * (0.5 + rounding) * (1.0 + 2.0**-10) * 2.0**-GUARD

    def bounds(self, resolution: int) -> NoiseBounds:
        """Of N."""
        sizes = float(np.abs(self.factors).sum()) * (1.0 + 2.0**-10)
        number = sizes * (LARGEST * 2.0**resolution + 1.0) + 1.0
        if not (number < 2.0**51 and self.margin(resolution) < 2.0**-4):
            allowed = "one whose inverse has coefficients of ordinary size, for exact arithmetic"
            raise InvalidParameter("strategy", allowed, f"a sum of {sizes:.3g}")
        return NoiseBounds(number, number)

    def rounded(self, values: Sequence[int], resolution: int) -> int:
        """R of the sum for X_t, X_(t-1), ..., as many as there are, in units of 2^-VALUE_BITS."""
        exact = [Fraction(float(b)) * ROOM for b in self.inverse[: len(values)]]
        places = max(b.denominator.bit_length() for b in exact)
        total = sum(int(b * 2**places) * value for b, value in zip(exact, values, strict=True))
        below = places + VALUE_BITS - resolution
        return (total + (1 << below - 1)) >> below


@njit(cache=True, nogil=True, error_model="numpy")
def moving_step(
    row: NDArray[np.int64],
    memory: FloatArray,
    factors: FloatArray,
    step: int,
    first: int,
    margin: float,
    open_places: NDArray[np.int64],
) -> int:
    """Replace X_t, on the fine lattice, by N_t; memory is a ring of past X.

    The columns of memory from `first` on are those of the row. Places of numbers that the sum does
    not decide go to `open_places`, as many as fit, and how many there are is returned.
    """
    size, lags, count = memory.shape[0], min(memory.shape[0], step), 0
    sums = np.empty(BLOCK)
    for start in range(0, row.size, BLOCK):
        new = row[start : start + BLOCK]
        for k in range(new.size):
            sums[k] = factors[0] * np.float64(new[k])
        for j in range(1, lags + 1):
            past = memory[(step - j) % size, first + start : first + start + new.size]
            factor = factors[j]
            for k in range(new.size):
                sums[k] += factor * past[k]
        if size > 0:
            newest = memory[step % size, first + start : first + start + new.size]
            for k in range(new.size):
                newest[k] = np.float64(new[k])
        for k in range(new.size):
            x = sums[k] * 2.0**-GUARD
            below = math.floor(x)
            rest = x - below
            new[k] = np.int64(below) + np.int64(rest >= 0.5)
            if abs(rest - 0.5) <= margin:
                if count < open_places.size:
                    open_places[count] = start + k
                count += 1
    return count
