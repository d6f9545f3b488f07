"""Slots of a line: what a tuple's state keeps of the steps before, where it cannot keep each step.

Who joined earlier attracts who joins now, by what the two are apart. A slot is an interval of
steps whose replicas attract like those in the step that attracts most: that makes weights larger
and states fewer.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hockeystick._numerics.law import FloatArray

__all__ = ["LineSlots", "slots_of_line", "ways_to_choose"]

IntArray = NDArray[np.int64]


class LineSlots(NamedTuple):
    """Slots before each step of a line, and the end; pulls[t] of theirs on who joins step t.

    moves[t, i] is the slot before step t + 1 of slot i before step t, or of step t itself for the
    last i; -1 for none. attraction[t, x] is that of step x on step t, if it was asked for.
    """

    sizes: IntArray
    moves: IntArray
    pulls: FloatArray
    attraction: FloatArray


def slots_of_line(
    envelope: FloatArray, most: int, *, block: int | None = None, by_step: bool = True
) -> LineSlots:
    """At most `most` slots; `envelope[d]` is the attraction at distance d on a line.

    Of neighbouring slots those are put together that lose least; never steps of two blocks of
    length `block`.
    """
    steps = envelope.size
    reach = int(np.flatnonzero(envelope)[-1]) + 1 if envelope.any() else 1
    padded = np.append(envelope, np.zeros(steps + 1))
    sizes = np.zeros(steps + 1, np.int64)
    moves = np.full((steps, most + 2), -1, np.int64)
    pulls = np.zeros((steps, most + 1))
    attraction = np.zeros((steps, steps) if by_step else (0, 0))
    slots: list[tuple[int, int]] = []
    for t in range(steps):
        sizes[t] = len(slots)
        for i, (begin, end) in enumerate(slots):
            pulls[t, i] = padded[t - end : t - begin + 1].max()
            if by_step:
                attraction[t, begin : end + 1] = pulls[t, i]
        following = [(begin, end) for begin, end in [*slots, (t, t)] if t + 1 - end < reach]
        while len(following) > most:
            losses = [
                np.inf
                if block is not None and first[0] // block != second[1] // block
                else _loss(padded, t + 1, first, second)
                for first, second in pairwise(following)
            ]
            best = int(np.argmin(losses))
            following[best : best + 2] = [(following[best][0], following[best + 1][1])]
        for i, (begin, _) in enumerate([*slots, (t, t)]):
            inside = [j for j, one in enumerate(following) if one[0] <= begin <= one[1]]
            moves[t, i] = inside[0] if inside else -1
        slots = following
    sizes[steps] = len(slots)
    return LineSlots(sizes, moves, pulls, attraction)


def _loss(padded: FloatArray, t: int, first: tuple[int, int], second: tuple[int, int]) -> float:
    """By how much the attraction of the first slot grows in all later steps, if put together."""
    near = padded[t - second[1] :]
    far = padded[t - first[1] :]
    size = min(near.size, far.size)
    return float((first[1] - first[0] + 1) * np.abs(near[:size] - far[:size]).sum())


def ways_to_choose(most: int) -> IntArray:
    """C(n, i) for n and i up to `most`; what is too large for any state is cut off."""
    table = np.zeros((most + 1, most + 1), np.int64)
    table[:, 0] = 1
    for n in range(1, most + 1):
        table[n, 1:] = np.minimum(table[n - 1, 1:] + table[n - 1, :-1], 2**61)
    return table
