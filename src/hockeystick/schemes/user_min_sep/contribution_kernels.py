"""Compiled loops that thin out a graph of examples and users; importing it imports Numba.

A graph is given as `starts` and `members`: the users of example e are
members[starts[e]:starts[e + 1]]; seen from the users, their examples in the same way.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

__all__ = ["form_batches", "keep_by_users", "thin_neighbourhoods"]

IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]


@njit(cache=True, nogil=True)
def keep_by_users(
    order: IntArray, starts: IntArray, members: IntArray, most: int, having: IntArray
) -> BoolArray:
    """Go through the examples in order; keep one if all its users have fewer than `most` so far.

    `having` says how many they have, and is brought up to date.
    """
    kept = np.zeros(order.size, np.bool_)
    for example in order:
        first, end = starts[example], starts[example + 1]
        room = True
        for edge in range(first, end):
            room = room and having[members[edge]] < most
        if room:
            kept[example] = True
            for edge in range(first, end):
                having[members[edge]] += 1
    return kept


@njit(cache=True, nogil=True)
def form_batches(
    order: IntArray,
    starts: IntArray,
    members: IntArray,
    users: int,
    separation: int,
    most: int,
    formed: IntArray,
    filled: IntArray,
) -> None:
    """Fill the rows of `formed`, each with as many as `filled` says.

    Each step goes through the examples where the last one stopped, at most once around. An example
    joins if all its users last took part `separation` steps ago or more, and fewer than `most`
    times.
    """
    ready, times = np.zeros(users, np.int64), np.zeros(users, np.int64)
    at = 0
    for step in range(formed.shape[0]):
        count = 0
        for _ in range(order.size):
            example = order[at]
            at = at + 1 if at + 1 < order.size else 0
            room = True
            for edge in range(starts[example], starts[example + 1]):
                user = members[edge]
                room = room and ready[user] <= step and times[user] < most
            if room:
                for edge in range(starts[example], starts[example + 1]):
                    ready[members[edge]] = step + separation
                    times[members[edge]] += 1
                formed[step, count] = example
                count += 1
                if count == formed.shape[1]:
                    break
        filled[step] = count


@njit(cache=True, nogil=True)
def _leave(
    example: int,
    sizes: IntArray,
    seen_by: IntArray,
    graph: tuple[IntArray, IntArray],
    by_user: tuple[IntArray, IntArray],
) -> None:
    """Each neighbour loses one; `seen_by` counts a neighbour of several common users once."""
    for edge in range(graph[0][example], graph[0][example + 1]):
        user = graph[1][edge]
        for back in range(by_user[0][user], by_user[0][user + 1]):
            other = by_user[1][back]
            if seen_by[other] != example:
                seen_by[other] = example
                sizes[other] -= 1


@njit(cache=True, nogil=True)
def thin_neighbourhoods(
    order: IntArray,
    sizes: IntArray,
    most: int,
    graph: tuple[IntArray, IntArray],
    by_user: tuple[IntArray, IntArray],
) -> BoolArray:
    """Drop the example with the largest neighbourhood until none has more than `most`.

    `sizes` are the neighbourhoods' sizes and are changed. Of equal ones the first in order goes.
    Sizes only fall, so examples wait in a list for each size, and one whose size has fallen since
    is moved when its list is served.
    """
    kept = np.ones(order.size, np.bool_)
    seen_by = np.full(order.size, -1, np.int64)
    head = np.full(sizes.max() + 1, -1, np.int64)
    below = np.full(order.size, -1, np.int64)
    for example in order[::-1]:
        below[example] = head[sizes[example]]
        head[sizes[example]] = example
    for level in range(head.size - 1, most, -1):
        while head[level] >= 0:
            example = head[level]
            head[level] = below[example]
            size = sizes[example]
            if size == level:
                kept[example] = False
                _leave(example, sizes, seen_by, graph, by_user)
            else:
                below[example] = head[size]
                head[size] = example
    return kept
