"""ExactMovingStream: exact noise where the inverse of C has few bands."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from hockeystick._numerics.law import FloatArray
from hockeystick.errors import InvalidParameter
from hockeystick.strategies.exact_noise import ExactNoiseStream, checked_resolution
from hockeystick.strategies.moving_integers import (
    GUARD,
    MOST_MOVING_RESOLUTION,
    MovingIntegers,
    moving_step,
)
from hockeystick.strategies.pieces import PIECE, Group
from hockeystick.strategies.recurrence import MovingAverageRecurrence
from hockeystick.strategies.rounded_normals import initial_words
from hockeystick.strategies.undecided import exact_value

__all__ = ["ExactMovingStream"]

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
