"""What user-level b-min-sep schemes have in common."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np

from hockeystick._validate import boolean, positive_integer, sampling_rate
from hockeystick.errors import InvalidParameter
from hockeystick.randomness import RandomSource, generator
from hockeystick.schemes.base import Sampling
from hockeystick.schemes.batches import (
    Batches,
    Indices,
    batch_size_within,
    independent_subset,
    participations_within,
)
from hockeystick.schemes.capabilities import IndependentSampling, Missing, Run
from hockeystick.schemes.pairs import SHARED_EXAMPLES
from hockeystick.schemes.user_min_sep.attribution import Attribution

__all__ = ["UserSampling", "as_attribution", "user_walk"]


@dataclass(frozen=True, kw_only=True)
class UserSampling(Sampling):
    """Examples are drawn at a rate, and left out while one of their users is excluded.

    Unless `shared_examples`, every example belongs to one user, and graphs where that is not so are
    refused. With shared examples a draw of one user's example excludes others, in a run with its
    contents and in one without; their absence from later batches then reveals the draw, and nothing
    is amplified (mathematics.md, "Likelihood ratios of whole runs").
    """

    unit: ClassVar[str] = "user"
    draws_exclude: ClassVar[bool]
    """Whether a user is excluded after each draw of its examples, or only after joining."""
    rate: float
    separation: int
    examples_per_user: int
    warm_up: int = 0
    max_participations: int | None = None
    shared_examples: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "rate", sampling_rate("rate", self.rate))
        object.__setattr__(self, "separation", positive_integer("separation", self.separation))
        most = positive_integer("examples_per_user", self.examples_per_user)
        object.__setattr__(self, "examples_per_user", most)
        object.__setattr__(self, "warm_up", _rounds("warm_up", self.warm_up))
        if self.max_participations is not None:
            most = positive_integer("max_participations", self.max_participations)
            object.__setattr__(self, "max_participations", most)
        shared = boolean("shared_examples", self.shared_examples)
        object.__setattr__(self, "shared_examples", shared)

    @classmethod
    def for_batch_size(
        cls,
        batch_size: float,
        *,
        examples: int | Attribution,
        separation: int,
        examples_per_user: int | None = None,
        warm_up: int = 0,
        max_participations: int | None = None,
    ) -> Self:
        """The scheme with this `expected_batch_size`; a size that no rate gives is refused.

        `examples` is a graph, or a number of examples that are each a user of its own.
        `examples_per_user` is by default the largest number that a user has. `shared_examples` is
        as the graph has it.
        """
        attribution = as_attribution(examples)
        number, _ = batch_size_within(batch_size, examples=attribution.examples)
        most = attribution.most_examples_per_user
        fastest = cls(
            rate=1.0,
            separation=separation,
            examples_per_user=most if examples_per_user is None else examples_per_user,
            warm_up=warm_up,
            max_participations=max_participations,
            shared_examples=attribution.has_shared_examples,
        )
        fastest = fastest.with_neighbours(attribution)
        fastest.check_attribution(attribution)
        return replace(fastest, rate=cls._rate_for(number, attribution, fastest.separation))

    def with_neighbours(self, attribution: Attribution) -> Self:
        """The scheme itself, or with what it takes of the graph besides."""
        return self

    @classmethod
    @abstractmethod
    def _rate_for(cls, batch_size: float, attribution: Attribution, separation: int) -> float:
        """The rate that gives the expected batch size."""

    @abstractmethod
    def expected_batch_size(self, examples: int | Attribution) -> float:
        """Expected number of examples in a batch in the long run."""

    def most_participations(self, steps: int) -> int:
        """ceil(steps / separation) for a user and for an example, or `max_participations`."""
        return participations_within(
            self.check_steps(steps), gap=self.separation, most=self.max_participations
        )

    @property
    def least_gap(self) -> int:
        """The separation, of users as well as of examples."""
        return self.separation

    @property
    def most_copies(self) -> int:
        """All of a user's examples."""
        return self.examples_per_user

    @property
    def others_are_independent(self) -> bool:
        """Each example has one user, or draws have no effect on later steps."""
        forgets = self.separation == 1 and self.max_participations is None
        return forgets or not self.shared_examples

    @property
    def participation_known(self) -> bool:
        """At rate 1 everything is drawn in every step, so the public graph decides who joins."""
        return self.rate == 1

    def attains(self, pattern: Sequence[int]) -> bool:
        """Unknown: users that are drawn in every step may stay excluded forever."""
        return False

    @property
    def numbers_held(self) -> range:
        """Every number of examples a user may have; without exclusion the largest is the worst.

        Otherwise a user with fewer examples is drawn less often, and so is excluded less often.
        """
        most = self.examples_per_user
        return range(most if self.separation == 1 else 1, most + 1)

    def independent_sampling(self, run: Run) -> IndependentSampling | Missing:
        """Examples of excluded users are sampled too, and the draw is ignored."""
        if not self.others_are_independent:
            return Missing(SHARED_EXAMPLES)
        return IndependentSampling(
            self.rate, self.examples_per_user, exact=False, most=self.max_participations
        )

    def batches(
        self, *, examples: int | Attribution, steps: int, rng: RandomSource = None
    ) -> Iterator[Indices]:
        """As `Sampling.batches`; `examples` is a graph, or a number of examples.

        With a number every example is a user of its own. A graph in which some user has more than
        `examples_per_user` examples, or with shared examples that were not declared, is refused.
        """
        steps = self.check_steps(steps)
        return Batches(self._draw(examples, steps, generator(rng)), steps)

    def first_steps(self, steps: int) -> Self:
        """The scheme itself: who may be drawn depends on earlier steps only."""
        return self

    def _draw(
        self, examples: int | Attribution, steps: int, rng: np.random.Generator
    ) -> Iterator[Indices]:
        attribution = self.check_attribution(examples)
        rounds = self.warm_up + steps
        draws = (
            independent_subset(attribution.examples, rate=self.rate, rng=rng) for _ in range(rounds)
        )
        return user_walk(
            attribution,
            draws,
            separation=self.separation,
            draws_exclude=self.draws_exclude,
            warm_up=self.warm_up,
            max_participations=self.max_participations,
        )

    def check_attribution(self, examples: int | Attribution) -> Attribution:
        """The graph; `InvalidParameter` if a user has more examples than is accounted for."""
        attribution = as_attribution(examples)
        largest = attribution.most_examples_per_user
        if not largest <= self.examples_per_user:
            allowed = (
                f"a graph with at most examples_per_user={self.examples_per_user} examples for "
                "each user, such as bound_contributions makes"
            )
            raise InvalidParameter("examples", allowed, f"a user with {largest}")
        if attribution.has_shared_examples and not self.shared_examples:
            allowed = (
                "a graph in which every example has one user, unless shared_examples=True (which "
                "rules out amplification)"
            )
            raise InvalidParameter("examples", allowed, "an example with several")
        return attribution


def user_walk(
    attribution: Attribution,
    draws: Iterable[Indices],
    *,
    separation: int,
    draws_exclude: bool,
    warm_up: int = 0,
    max_participations: int | None = None,
) -> Iterator[Indices]:
    """The batches: of the examples drawn in each step those without an excluded user.

    A user is excluded for the `separation` - 1 steps after one of its examples was drawn, if
    `draws_exclude` [DongGanesh26, Algorithm 3], or joined a batch, otherwise [DongGanesh26,
    Algorithm 4]. Participations of the warm-up, whose batches are not handed out, do not count
    towards `max_participations`. The state is one or two integers for each user.
    """
    eligible_from = np.zeros(attribution.users, dtype=np.int64)
    left = None
    if max_participations is not None:
        left = np.full(attribution.users, max_participations, dtype=np.int64)
    for step, drawn in enumerate(draws):
        users, owner = attribution.edges_of(drawn)
        excluded = eligible_from[users] > step
        if left is not None:
            excluded |= left[users] == 0
        joins = np.ones(drawn.size, dtype=np.bool_)
        joins[owner[excluded]] = False
        active = users[joins[owner]]
        eligible_from[users if draws_exclude else active] = step + separation
        if step >= warm_up:
            if left is not None:
                left[active] -= 1  # once for a user, however many of its examples join
            yield drawn[joins]


def as_attribution(examples: int | Attribution) -> Attribution:
    """The graph itself, or for a number of examples the one where each is a user of its own."""
    if isinstance(examples, Attribution):
        return examples
    return Attribution.one_user_each(examples)


def _rounds(name: str, value: int) -> int:
    """An integer of at least zero."""
    if not isinstance(value, bool) and value == 0:
        return 0
    return positive_integer(name, value)
