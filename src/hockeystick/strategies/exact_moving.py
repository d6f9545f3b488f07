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
from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit
from numpy.typing import NDArray

from hockeystick._numerics.law import FloatArray
from hockeystick.errors import InvalidParameter
from hockeystick.strategies.exact_noise import ExactNoiseStream, checked_resolution
from hockeystick.strategies.integer_recurrence import BLOCK, NoiseBounds
from hockeystick.strategies.pieces import PIECE, Group
from hockeystick.strategies.recurrence import MovingAverageRecurrence
from hockeystick.strategies.rounded_normals import LARGEST, initial_words
from hockeystick.strategies.undecided import VALUE_BITS, exact_value

__all__ = ["GUARD", "MOST_MOVING_RESOLUTION", "ExactMovingStream", "MovingIntegers", "moving_step"]


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


# Words of the first digits of integers with more than 38 bits (`rounded_normals`).
WORDS_OF_A_NUMBER = 3


class ExactMovingStream(ExactNoiseStream):
    """The rounding of C^-1 Z to the lattice, for real Z; made with `arithmetic="exact"`.

    Memory is bands - 1 rows of Z, integers in double precision; with noise_memory="replay" they
    are drawn again.
    """

    def __init__(self, inverse: FloatArray, *, resolution: int | None = None, **how: Any) -> None:
        """`inverse` are the coefficients of C^-1, of which `movable` is true."""
        points = checked_resolution(resolution)
        if points > MOST_MOVING_RESOLUTION:
            allowed = f"at most {MOST_MOVING_RESOLUTION} where the inverse of C has few bands"
            raise InvalidParameter("resolution", allowed, points)
        self._moving = MovingIntegers(inverse)
        self._used, self._margin = self._moving.factors, self._moving.margin(points)
        self._begin(
            MovingAverageRecurrence(inverse),
            bounds=self._moving.bounds(points),
            bits=points + GUARD,
            resolution=points,
            **how,
        )

    def _memory_type(self) -> npt.DTypeLike:
        # Integers below 2^53 in the type in which they are multiplied.
        return np.float64

    def _advance(self, row: npt.NDArray[np.int64], group: Group) -> None:
        """Fill the part of the row that the group holds."""
        self._draw(row, group, self.step)
        memory, first = self._memory, group.where.start
        if self._factors is not None:
            memory, first = self._drawn_again(row, group), 0
        part = row[group.where]
        # Ten times as many as are expected, and some: if there are more, all are computed.
        places = np.empty(int(20 * self._margin * part.size) + 100, np.int64)
        count = moving_step(part, memory, self._used, self.step, first, self._margin, places)
        left = places[:count] if count <= places.size else range(part.size)
        for place in left:
            part[place] = self._decided(group, group.where.start + int(place))

    def _drawn_again(self, row: npt.NDArray[np.int64], group: Group) -> FloatArray:
        """The rows of memory for the group, as they would be remembered."""
        rows, earlier = self._moving.rows, np.empty_like(row)
        memory = np.zeros((rows, group.where.stop - group.where.start))
        for lag in range(1, min(rows, self.step) + 1):
            self._draw(earlier, group, self.step - lag)
            memory[(self.step - lag) % rows] = earlier[group.where]
        return memory

    def _decided(self, group: Group, here: int) -> int:
        """The number at a place of the row that is held here, from all digits of Z."""
        piece, index = next(
            (piece.index, inside.start + here - there.start)
            for piece in group.pieces
            for inside, there in piece.held
            if there.start <= here < there.stop
        )
        assert index < PIECE
        steps = range(self.step, max(self.step - self._moving.rows, 0) - 1, -1)
        values = [
            exact_value(initial_words(self._key.words, piece, step), index, WORDS_OF_A_NUMBER)
            for step in steps
        ]
        return self._moving.rounded(values, self.resolution)
