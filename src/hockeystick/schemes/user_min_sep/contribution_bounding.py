"""Fewer examples, so that no user has too many: from the graph alone, and no amplification."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hockeystick._validate import boolean, positive_integer
from hockeystick.errors import InvalidParameter
from hockeystick.randomness import RandomSource, generator
from hockeystick.schemes.batches import Indices
from hockeystick.schemes.user_min_sep.attribution import Attribution

__all__ = ["BoundedContributions", "bound_contributions"]


@dataclass(frozen=True, kw_only=True, eq=False)
class BoundedContributions:
    """The graph that is left, and what was dropped from the original one and why.

    Attributes
    ----------
    attribution
        The examples that are left, numbered from 0 in the order of `kept`; users keep theirs.
    kept
        Their numbers in the original graph, sorted; an example that is there several times is named
        several times.
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
    duplicates: bool = False,
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
    duplicates
        Fill up: go through the examples again, in another order each time, and add one once more if
        all its users still have room. Each copy counts as an example of its own.
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
    duplicates = boolean("duplicates", duplicates)
    stream = generator(rng)
    order = stream.permutation(attribution.examples)
    kept = _fitting_users(attribution, most, order, stream if duplicates else None)
    bounded = attribution.restricted_to(kept)
    crowded = np.empty(0, dtype=np.int64)
    if neighbourhood is not None:
        rank = np.empty_like(order)
        rank[order] = np.arange(order.size)
        by_rank = np.argsort(rank[kept], kind="stable")
        small = _in_small_neighbourhoods(bounded, neighbourhood, by_rank)
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


def _fitting_users(
    attribution: Attribution, most: int, order: Indices, again: np.random.Generator | None
) -> Indices:
    """The examples that are kept for the sake of the users, sorted.

    With a generator once more in another order, until nobody has room for another copy.
    """
    from hockeystick.schemes.user_min_sep.contribution_kernels import keep_by_users

    graph = attribution.starts, attribution.members
    having = np.zeros(attribution.users, dtype=np.int64)
    times = keep_by_users(order, *graph, most, having).astype(np.int64)
    while again is not None:
        more = keep_by_users(again.permutation(attribution.examples), *graph, most, having)
        if not more.any():
            break
        times += more
    return np.repeat(np.arange(attribution.examples), times)


def _in_small_neighbourhoods(
    attribution: Attribution, most: int, order: Indices
) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Which examples are left when the largest neighbourhoods are gone."""
    from hockeystick.schemes.user_min_sep.contribution_kernels import thin_neighbourhoods

    graph = (attribution.starts, attribution.members)
    sizes = attribution.neighbourhood_sizes.copy()
    return thin_neighbourhoods(order, sizes, most, graph, attribution.by_user)
