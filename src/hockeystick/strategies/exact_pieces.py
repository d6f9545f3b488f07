"""Which words of the keystream belong to which coordinates of exact noise: fixed pieces of a row.

A row is cut into pieces of 262,144 coordinates, and each piece of each row has a stream of its own.
So the noise of a coordinate does not depend on who draws it or on what else is drawn.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from hockeystick.strategies.pieces import Coordinates

__all__ = ["ExactGroup", "ExactPiece", "exact_groups"]

# Coordinates in a piece: two megabytes of 64-bit integers.
LENGTH = 2**18
# Pieces are drawn in groups of at least one, on several cores; below it a thread costs more than
# it gains.
MOST_GROUPS = 16


@dataclass(frozen=True)
class ExactPiece:
    """A piece of the vector, and what is held of it here.

    Attributes
    ----------
    index, length
        Its number, and the number of its coordinates: the last piece may be shorter.
    held
        Pairs: a range of the piece, and the range of the local vector where it is.
    """

    index: int
    length: int
    held: tuple[tuple[slice, slice], ...]

    def filled(self, row: npt.NDArray[Any], fill: Callable[[npt.NDArray[Any]], None]) -> None:
        """Let `fill` write the numbers of the piece, and keep what is held of it.

        A piece is always drawn as a whole, however little of it is held.
        """
        inside, here = self.held[0]
        if inside == slice(0, self.length):
            fill(row[here])
            return
        whole = np.empty(self.length, row.dtype)
        fill(whole)
        for inside, here in self.held:
            row[here] = whole[inside]


@dataclass(frozen=True)
class ExactGroup:
    """Neighbouring pieces, and the range of the local vector that they fill."""

    where: slice
    pieces: tuple[ExactPiece, ...]


def exact_groups(coordinates: Coordinates, size: int) -> list[ExactGroup]:
    """The pieces that the ranges of a vector of `size` touch, in groups of about the same size."""
    held: dict[int, list[tuple[slice, slice]]] = {}
    here = 0
    for first, last in coordinates:
        start = first
        while start < last:
            index, offset = divmod(start, LENGTH)
            count = min(LENGTH - offset, last - start)
            part = slice(offset, offset + count), slice(here, here + count)
            held.setdefault(index, []).append(part)
            start, here = start + count, here + count
    wanted = here / max(1, min(here // LENGTH, MOST_GROUPS))
    result: list[ExactGroup] = []
    current: list[ExactPiece] = []
    begin = 0
    for index, parts in held.items():
        current.append(ExactPiece(index, min(LENGTH, size - index * LENGTH), tuple(parts)))
        end = parts[-1][1].stop
        if end - begin >= wanted or end == here:
            result.append(ExactGroup(slice(begin, end), tuple(current)))
            current, begin = [], end
    return result
