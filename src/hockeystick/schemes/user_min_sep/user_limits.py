"""Limits for users, from the graph alone: fewer examples, or batches that are formed in advance.

Neither amplifies. `bound_contributions` leaves out examples, so that no user has too many;
`FormedBatches` orders them, so that no user takes part too often or too early.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from hockeystick._validate import boolean, positive_integer
from hockeystick.errors import InvalidParameter
from hockeystick.randomness import RandomSource, generator
from hockeystick.schemes.base import Sampling
from hockeystick.schemes.batches import Batches, Indices, batch_size_within, participations_within
from hockeystick.schemes.user_min_sep.attribution import Attribution
from hockeystick.schemes.user_min_sep.sampler import as_attribution

__all__ = ["BoundedContributions", "FormedBatches", "bound_contributions"]


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


@dataclass(frozen=True, kw_only=True)
class FormedBatches(Sampling):
    """Batches of `batch_size` examples, in which every user takes part rarely enough.

    A user has at most one example in a batch, takes part at most `max_participations` times, and
    again after `separation` steps at the earliest; examples may have several users. Which examples
    meet in which step follows from the graph, which is public, and from no secret draw: correlated
    noise with as many bands as the separation is a Gaussian mechanism for each user [Ganesh25].
    Examples are taken in a random order, over and over again, each as soon as all its users may
    take part. A batch is smaller where the graph has too few examples for these limits.

    Parameters
    ----------
    batch_size
        Most examples in a batch.
    separation
        Least distance of two participations of a user.
    max_participations
        A user takes part in that many steps at most. None, the default, for no limit.

    Examples
    --------
    >>> import hockeystick as hs
    >>> users = hs.Attribution.from_pairs(examples=[0, 1, 1, 2, 3], users=[0, 0, 1, 1, 2])
    >>> scheme = hs.FormedBatches(batch_size=1, separation=2)
    >>> [batch.tolist() for batch in scheme.batches(examples=users, steps=4, rng=3)]
    [[2], [3], [0], [2]]
    """

    name: ClassVar[str] = "formed-batches"
    unit: ClassVar[str] = "user"
    batch_size: int
    separation: int
    max_participations: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "batch_size", positive_integer("batch_size", self.batch_size))
        object.__setattr__(self, "separation", positive_integer("separation", self.separation))
        if self.max_participations is not None:
            most = positive_integer("max_participations", self.max_participations)
            object.__setattr__(self, "max_participations", most)

    @classmethod
    def for_batch_size(
        cls,
        batch_size: float,
        *,
        examples: int | Attribution,
        separation: int,
        max_participations: int | None = None,
    ) -> Self:
        """The size must be a whole number and not above the number of examples."""
        attribution = as_attribution(examples)
        number, count = batch_size_within(batch_size, examples=attribution.examples)
        if not number.is_integer():
            raise InvalidParameter("batch_size", f"an integer in [1, {count}]", batch_size)
        return cls(
            batch_size=int(number), separation=separation, max_participations=max_participations
        )

    def expected_batch_size(self, examples: int | Attribution) -> float:
        """`batch_size`, as long as the limits leave so many examples."""
        number, _ = batch_size_within(self.batch_size, examples=as_attribution(examples).examples)
        return number

    def most_participations(self, steps: int) -> int:
        """ceil(steps / separation), or `max_participations`."""
        return participations_within(
            self.check_steps(steps), gap=self.separation, most=self.max_participations
        )

    @property
    def least_gap(self) -> int:
        """The separation, of users as well as of examples."""
        return self.separation

    @property
    def participation_known(self) -> bool:
        """Batches follow from the public graph."""
        return True

    def attains(self, pattern: Sequence[int]) -> bool:
        """Unknown: it depends on the graph."""
        return False

    def first_steps(self, steps: int) -> FormedBatches:
        """The scheme itself: batches are formed one after the other."""
        return self

    def batches(
        self, *, examples: int | Attribution, steps: int, rng: RandomSource = None
    ) -> Iterator[Indices]:
        """As `Sampling.batches`; `examples` is a graph, or a number of examples.

        All batches are formed at the call, with `steps * batch_size` integers of memory.
        """
        steps = self.check_steps(steps)
        formed = self._form(as_attribution(examples), steps, generator(rng))
        return Batches(iter(formed), steps)

    def _draw(self, examples: int, steps: int, rng: np.random.Generator) -> Iterator[Indices]:
        return iter(self._form(as_attribution(examples), steps, rng))

    def _form(
        self, attribution: Attribution, steps: int, rng: np.random.Generator
    ) -> list[Indices]:
        from hockeystick.schemes.user_min_sep.contribution_kernels import form_batches

        size = min(self.batch_size, attribution.examples)
        formed, filled = np.zeros((steps, size), dtype=np.int64), np.zeros(steps, dtype=np.int64)
        form_batches(
            rng.permutation(attribution.examples),
            attribution.starts,
            attribution.members,
            attribution.users,
            self.separation,
            self.most_participations(steps),
            formed,
            filled,
        )
        return [np.sort(row[:count]) for row, count in zip(formed, filled, strict=True)]
