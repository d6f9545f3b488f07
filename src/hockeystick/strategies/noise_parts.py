"""Parts of a noise stream: pieces of the vector together with what is remembered of them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from hockeystick._numerics.law import FloatArray
from hockeystick.randomness import Key
from hockeystick.strategies.pieces import Group
from hockeystick.strategies.recurrence import Recurrence

__all__ = ["NoisePart", "RowPlace"]


class RowPlace(NamedTuple):
    """Where in a stream a row is: its key, its scale and the step."""

    key: Key
    scale: float
    step: int


@dataclass
class NoisePart:
    """Pieces of the vector, and what the recurrence remembers of their coordinates."""

    group: Group
    memory: npt.NDArray[Any]

    def advance(self, row: npt.NDArray[Any], recurrence: Recurrence, place: RowPlace) -> None:
        """Fill this part of the row."""
        for piece in self.group.pieces:
            piece.draw(row, key=place.key, step=place.step)
        mine = row[self.group.where]
        recurrence.advance(mine, self.memory, scale=place.scale, step=place.step)

    def replay(self, row: npt.NDArray[Any], factors: FloatArray, place: RowPlace) -> None:
        """Fill this part of the row with the sum over j of factor_j times row step - j of Z.

        Earlier rows are drawn again, a piece at a time. The sums are those of a stream that
        remembers them, in the same order.
        """
        from hockeystick.strategies.recurrence_kernels import add_multiple

        for piece in self.group.pieces:
            everything = slice(0, piece.length)
            whole = replace(piece, held=((everything, everything),))
            total, again = np.zeros(piece.length), np.empty(piece.length, row.dtype)
            for lag, factor in enumerate(factors[: place.step + 1]):
                whole.draw(again, key=place.key, step=place.step - lag)
                add_multiple(total, again, factor)
            total *= place.scale
            for inside, here in piece.held:
                row[here] = total[inside]
