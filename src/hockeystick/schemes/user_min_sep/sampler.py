"""What user-level b-min-sep schemes have in common."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np

from hockeystick._validate import boolean, positive_integer, sampling_rate
from hockeystick.errors import InvalidParameter
from hockeystick.randomness import RandomSource, generator
from hockeystick.schemes.base import Indices, Sampling, batch_size_within, participations_within
from hockeystick.schemes.batches import Batches
from hockeystick.schemes.user_min_sep.attribution import Attribution
from hockeystick.schemes.user_min_sep.walk import independent_draws, user_walk

__all__ = ["UserSampling", "as_attribution"]


@dataclass(frozen=True, kw_only=True)
class UserSampling(Sampling):
    """Examples are drawn at a rate, and left out while one of their users rests.

    No analysis is registered for this class: what is known depends on what makes a user rest.

    Unless `shared_examples`, every example belongs to one user, and graphs where that is not so are
    refused. With shared examples a draw of one user's example makes others rest, in a run with its
    contents and in one without; their absence from later batches then reveals the draw, and nothing
    is amplified (mathematics.md, "Likelihood ratios of whole runs").
    """

    unit: ClassVar[str] = "user"
    draws_block: ClassVar[bool]
    """Whether a user rests after each draw of its examples, or only after those that joined."""
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
        fastest.check_attribution(attribution)
        return replace(fastest, rate=cls._rate_for(number, attribution, fastest.separation))

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

    def batches(
        self, *, examples: int | Attribution, steps: int, rng: RandomSource = None
    ) -> Iterator[Indices]:
        """As `Sampling.batches`; `examples` is a graph, or a number of examples.

        With a number every example is a user of its own. A graph in which some user has more than
        `examples_per_user` examples, or with shared examples that were not declared, is refused.
        """
        return Batches(self._draw(examples, self.check_steps(steps), generator(rng)))

    def _draw(
        self, examples: int | Attribution, steps: int, rng: np.random.Generator
    ) -> Iterator[Indices]:
        attribution = self.check_attribution(examples)
        rounds = self.warm_up + steps
        return user_walk(
            attribution,
            independent_draws(attribution.examples, rate=self.rate, rounds=rounds, rng=rng),
            separation=self.separation,
            draws_block=self.draws_block,
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
