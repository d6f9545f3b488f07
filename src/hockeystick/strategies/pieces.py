"""Which coordinates of a vector are held, and which random integers belong to them.

The noise of a coordinate follows from the stream's key, the coordinate and the row. It does not
depend on who draws it, on what else is drawn, or on what was drawn before: several processes can
hold parts of one vector, and a row can be drawn again.

Floating-point noise has every number at its own place, and is drawn in stretches. Exact noise takes
as many random words as it needs, so a row is cut into pieces of 262,144 coordinates, and each piece
of each row has a generator of its own, which follows from the key.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from hockeystick.errors import InvalidParameter

__all__ = [
    "PIECE",
    "Coordinates",
    "Group",
    "NoisePiece",
    "Stretch",
    "checked_coordinates",
    "groups",
    "shares",
    "stretches",
]

# Coordinates in a piece: a megabyte in single precision, which a second-level cache holds. Making
# a generator takes a twenty-fifth of the time of drawing that many numbers.
PIECE = 2**18
# Pieces are drawn in groups of at least this many coordinates, on several cores; below it a thread
# costs more than it gains.
SMALLEST_GROUP, MOST_GROUPS = 2**18, 16
# Coordinates of a stretch: 256 kilobytes in single precision. They stay in a second-level cache
# until they are correlated.
LONGEST = 2**16
# Stretches are shared out on several cores, at least this many coordinates each; below it a thread
# costs more than it gains.
SMALLEST_SHARE, MOST_SHARES = 2**18, 16

Coordinates = Sequence[tuple[int, int]]
"""Ranges (start, stop) of a vector, in order and disjoint."""


@dataclass(frozen=True)
class NoisePiece:
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
class Group:
    """Neighbouring pieces, and the range of the local vector that they fill."""

    where: slice
    pieces: tuple[NoisePiece, ...]


def checked_coordinates(coordinates: Coordinates | None, size: int) -> tuple[tuple[int, int], ...]:
    """The ranges, everything by default; `InvalidParameter` unless in order and disjoint.

    They may be empty: a process may hold nothing.
    """
    if coordinates is None:
        return ((0, size),)
    try:
        ranges = tuple((operator.index(start), operator.index(stop)) for start, stop in coordinates)
    except (TypeError, ValueError):
        ranges = ((-1, -1),)
    edges = [0, *(edge for one in ranges for edge in one), size]
    if not all(a <= b for a, b in pairwise(edges)):
        allowed = f"ranges (start, stop) in [0, {size}], in order and disjoint"
        raise InvalidParameter("coordinates", allowed, coordinates)
    return ranges


def groups(coordinates: Coordinates, size: int) -> list[Group]:
    """The pieces that the ranges of a vector of `size` touch, in groups of about the same size."""
    held: dict[int, list[tuple[slice, slice]]] = {}
    here = 0
    for first, last in coordinates:
        start = first
        while start < last:
            index, offset = divmod(start, PIECE)
            count = min(PIECE - offset, last - start)
            part = slice(offset, offset + count), slice(here, here + count)
            held.setdefault(index, []).append(part)
            start, here = start + count, here + count
    wanted = here / max(1, min(here // SMALLEST_GROUP, MOST_GROUPS))
    result: list[Group] = []
    current: list[NoisePiece] = []
    begin = 0
    for index, parts in held.items():
        length = min(PIECE, size - index * PIECE)
        current.append(NoisePiece(index, length, tuple(parts)))
        end = parts[-1][1].stop
        if end - begin >= wanted or end == here:
            result.append(Group(slice(begin, end), tuple(current)))
            current, begin = [], end
    return result


class Stretch(NamedTuple):
    """Neighbouring coordinates that are drawn at once.

    Attributes
    ----------
    start
        The first of them.
    where
        Their range in the local vector, which has what is held and nothing else.
    """

    start: int
    where: slice


def stretches(coordinates: Coordinates, longest: int) -> list[Stretch]:
    """The ranges, adjacent ones together, cut at multiples of `longest`."""
    found: list[Stretch] = []
    here = 0
    for first, last in coordinates:
        start = first
        while start < last:
            stop = min(last, (start // longest + 1) * longest)
            before = found[-1] if found else None
            joined = before is not None and start % longest and _end(before) == start
            if before is not None and joined:
                found[-1] = Stretch(before.start, slice(before.where.start, here + stop - start))
            else:
                found.append(Stretch(start, slice(here, here + stop - start)))
            here, start = here + stop - start, stop
    return found


def shares(coordinates: Coordinates) -> list[list[Stretch]]:
    """The stretches that the ranges consist of, in lists with about as many coordinates each."""
    total = sum(stop - start for start, stop in coordinates)
    wanted = total / max(1, min(total // SMALLEST_SHARE, MOST_SHARES))
    result: list[list[Stretch]] = []
    current: list[Stretch] = []
    begin = 0
    for stretch in stretches(coordinates, LONGEST):
        current.append(stretch)
        end = stretch.where.stop
        if end - begin >= wanted or end == total:
            result.append(current)
            current, begin = [], end
    return result


def _end(stretch: Stretch) -> int:
    start, where = stretch
    return start + int(where.stop) - int(where.start)
