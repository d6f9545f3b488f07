"""Fewer examples, so that no user has too many.

Compiled loops that thin out a graph of examples and users; importing it imports Numba.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit
from numpy.typing import NDArray

from hockeystick._validate import positive_integer
from hockeystick.errors import InvalidParameter
from hockeystick.randomness import RandomSource, generator
from hockeystick.schemes.batches import Indices
from hockeystick.schemes.user_min_sep.attribution import Attribution

__all__ = ["BoundedContributions", "bound_contributions", "keep_by_users", "thin_neighbourhoods"]

IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]


@njit(cache=True, nogil=True)
def keep_by_users(
    order: IntArray, starts: IntArray, members: IntArray, users: int, most: int
) -> BoolArray:
    """Go through the examples in order; keep one if all its users have fewer than `most` so far."""
    kept = np.zeros(order.size, np.bool_)
    having = np.zeros(users, np.int64)
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


@dataclass(frozen=True, kw_only=True, eq=False)
class BoundedContributions:
    """The graph that is left, and what was dropped from the original one and why.

    Attributes
    ----------
    attribution
        The examples that are left, numbered from 0 in the order of `kept`; users keep theirs.
    kept
        Their numbers in the original graph, sorted.
    dropped_for_users
        Examples with a user who had enough already, in the original numbers, sorted.
    dropped_for_neighbourhood
        Examples that shared users with too many others, in the original numbers, sorted.
    users_without_data
        Users of whose examples none is left.
    """

    attribution: Attribution
    kept: Indices
    dropped_for_users: Indices
    dropped_for_neighbourhood: Indices
    users_without_data: Indices

    def describe(self) -> dict[str, int]:
        """How many of each, ready for JSON."""
        return {
            "examples_kept": self.kept.size,
            "dropped_for_users": self.dropped_for_users.size,
            "dropped_for_neighbourhood": self.dropped_for_neighbourhood.size,
            "users_without_data": self.users_without_data.size,
        }


def bound_contributions(
    attribution: Attribution,
    *,
    examples_per_user: int,
    neighbourhood: int | None = None,
    rng: RandomSource = None,
) -> BoundedContributions:
    """Drop examples until every user has at most `examples_per_user` of them.

    Examples are visited in random order, and kept if each of their users has fewer so far. The
    graph is public, so this costs no privacy.

    Parameters
    ----------
    attribution
        The graph of examples and users.
    examples_per_user
        How many examples a user may keep.
    neighbourhood
        Also drop examples that share a user with too many: the largest neighbourhood first, until
        none of the examples left has more than this number in it, itself included (k_e in
        [DongGanesh26, Appendix C]; one that exceeds about 1 / (separation * rate) costs more than
        it adds). None, the default, for no limit.
    rng
        Anything that `generator` takes; a seed fixes the order.

    Returns
    -------
    BoundedContributions
        The smaller graph, and what was dropped.

    Examples
    --------
    >>> import hockeystick as hs
    >>> graph = hs.Attribution.from_users(["ada", "ada", "bob"])
    >>> hs.bound_contributions(graph, examples_per_user=1, rng=1).attribution
    Attribution(2 examples, 2 users)
    """
    if not isinstance(attribution, Attribution):
        raise InvalidParameter("attribution", "an Attribution", attribution)
    most = positive_integer("examples_per_user", examples_per_user)
    if neighbourhood is not None:
        neighbourhood = positive_integer("neighbourhood", neighbourhood)
    order = generator(rng).permutation(attribution.examples)
    kept = _fitting_users(attribution, most, order)
    bounded = attribution.restricted_to(kept)
    crowded = np.empty(0, dtype=np.int64)
    if neighbourhood is not None:
        rank = np.empty_like(order)
        rank[order] = np.arange(order.size)
        small = _in_small_neighbourhoods(bounded, neighbourhood, np.argsort(rank[kept]))
        crowded, kept = kept[~small], kept[small]
        bounded = bounded.restricted_to(np.flatnonzero(small))
    lost = np.ones(attribution.examples, dtype=np.bool_)
    lost[kept] = lost[crowded] = False
    return BoundedContributions(
        attribution=bounded,
        kept=kept,
        dropped_for_users=np.flatnonzero(lost),
        dropped_for_neighbourhood=crowded,
        users_without_data=np.flatnonzero(
            (attribution.examples_per_user > 0) & (bounded.examples_per_user == 0)
        ),
    )


def _fitting_users(attribution: Attribution, most: int, order: Indices) -> Indices:
    """The examples that are kept for the sake of the users, sorted."""
    starts, members = attribution.starts, attribution.members
    return np.flatnonzero(keep_by_users(order, starts, members, attribution.users, most))


def _in_small_neighbourhoods(
    attribution: Attribution, most: int, order: Indices
) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Which examples are left when the largest neighbourhoods are gone."""
    graph = (attribution.starts, attribution.members)
    sizes = attribution.neighbourhood_sizes.copy()
    return thin_neighbourhoods(order, sizes, most, graph, attribution.by_user)
