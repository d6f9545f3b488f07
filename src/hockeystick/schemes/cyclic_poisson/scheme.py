"""Groups that take turns, each Poisson-sampled in its own turn."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from hockeystick._validate import boolean, positive_integer, sampling_rate
from hockeystick.errors import InvalidParameter
from hockeystick.schemes.base import Indices, Sampling, batch_size_within
from hockeystick.schemes.bins import members_by_bin
from hockeystick.schemes.poisson.scheme import independent_subset

__all__ = ["CyclicPoisson"]


@dataclass(frozen=True, kw_only=True)
class CyclicPoisson(Sampling):
    """Step s belongs to group s mod `groups`, whose members join independently at `rate`.

    Example i is in group i mod `groups`. The groups are public and fixed, so that an example is in
    a known set of steps at most; `rate` is the probability in the group's own turn. With fewer
    examples than groups some groups are empty, and so are the batches of their turns.

    With `random_phase` every example draws its group instead, uniformly, independently and in
    secret, once for the whole run; groups then differ in size by chance.
    """

    name: ClassVar[str] = "cyclic-poisson"
    rate: float
    groups: int
    random_phase: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "rate", sampling_rate("rate", self.rate))
        object.__setattr__(self, "groups", positive_integer("groups", self.groups))
        object.__setattr__(self, "random_phase", boolean("random_phase", self.random_phase))

    @classmethod
    def for_batch_size(
        cls, batch_size: float, *, examples: int, groups: int, random_phase: bool = False
    ) -> Self:
        """The rate batch_size * groups / examples; a batch larger than a group is refused."""
        number, examples = batch_size_within(batch_size, examples=examples)
        groups = positive_integer("groups", groups)
        if not number <= examples / groups:
            allowed = f"in (0, examples/groups={examples / groups:g}]"
            raise InvalidParameter("batch_size", allowed, batch_size)
        # A batch equal to the rounded quotient examples/groups may come out a rounding above one.
        rate = min(1.0, number * groups / examples)
        return cls(rate=rate, groups=groups, random_phase=random_phase)

    def expected_batch_size(self, examples: int) -> float:
        """rate * examples / groups, the average over one round of turns."""
        return self.rate * positive_integer("examples", examples) / self.groups

    def most_participations(self, steps: int) -> int:
        """ceil(steps / groups), reached by the group that comes first."""
        return -(-self.check_steps(steps) // self.groups)

    @property
    def least_gap(self) -> int:
        """From one turn of the group to its next."""
        return self.groups

    @property
    def participation_known(self) -> bool:
        """At rate 1 every example joins each turn of its group, if that is known."""
        return self.rate == 1 and (self.groups == 1 or not self.random_phase)

    def _draw(self, examples: int, steps: int, rng: np.random.Generator) -> Iterator[Indices]:
        if self.random_phase and self.groups > 1:
            yield from self._draw_secret_groups(examples, steps, rng)
            return
        for step in range(steps):
            group = step % self.groups
            size = len(range(group, examples, self.groups))
            yield group + self.groups * independent_subset(size, rate=self.rate, rng=rng)

    def _draw_secret_groups(
        self, examples: int, steps: int, rng: np.random.Generator
    ) -> Iterator[Indices]:
        used = min(self.groups, steps)
        members = list(members_by_bin(examples, self.groups, wanted=used, rng=rng))
        for step in range(steps):
            group = members[step % self.groups]
            yield group[independent_subset(group.size, rate=self.rate, rng=rng)]
