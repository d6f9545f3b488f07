"""Which coordinates of a vector are held, and how they are drawn: in stretches, on several cores.

The noise of a coordinate follows from the stream's key, the coordinate and the row. It does not
depend on who draws it, on what else is drawn, or on what was drawn before: several processes can
hold parts of one vector, and a row can be drawn again.
"""

from __future__ import annotations

from typing import NamedTuple

from hockeystick.strategies.pieces import Coordinates

__all__ = ["Stretch", "shares", "stretches"]

# Coordinates of a stretch: 256 kilobytes in single precision. They stay in a second-level cache
# until they are correlated.
LONGEST = 2**16
# Stretches are shared out on several cores, at least this many coordinates each; below it a thread
# costs more than it gains.
SMALLEST_SHARE, MOST_SHARES = 2**18, 16


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
