"""Poisson sampling with a rest after each participation."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from hockeystick._validate import boolean, positive_integer, sampling_rate
from hockeystick.errors import InvalidParameter
from hockeystick.schemes.base import Indices, Sampling, batch_size_within, participations_within
from hockeystick.schemes.poisson.scheme import independent_subset

__all__ = ["MinSep"]


@dataclass(frozen=True, kw_only=True)
class MinSep(Sampling):
    """An example that may join does so with probability `rate`, then rests for `separation` - 1.

    With `warm_start` every example begins in the stationary law of this rule, as if batches had
    been drawn for long before (b_min_sep, Algorithm 2), so that the expected size of a batch is the
    same in every step. Without it all may join at the first step (Algorithm 1), and batches
    are larger at first. With `max_participations` an example stops after that many.

    Coins of examples that rest are drawn and ignored, which is the same law and makes the work of a
    step proportional to rate * examples; the state is one integer for each example.
    """

    name: ClassVar[str] = "min-sep"
    rate: float
    separation: int
    warm_start: bool = True
    max_participations: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "rate", sampling_rate("rate", self.rate))
        object.__setattr__(self, "separation", positive_integer("separation", self.separation))
        object.__setattr__(self, "warm_start", boolean("warm_start", self.warm_start))
        if self.max_participations is not None:
            most = positive_integer("max_participations", self.max_participations)
            object.__setattr__(self, "max_participations", most)

    @classmethod
    def for_batch_size(
        cls,
        batch_size: float,
        *,
        examples: int,
        separation: int,
        warm_start: bool = True,
        max_participations: int | None = None,
    ) -> Self:
        """The rate p0 / (1 - (separation - 1) p0) for the participation rate p0 = batch / examples.

        An example joins at most every `separation` steps, so batches beyond examples / separation
        cannot be reached. This is the size in the stationary law: of all batches with a warm start,
        of late ones without.
        """
        number, examples = batch_size_within(batch_size, examples=examples)
        separation = positive_integer("separation", separation)
        if not number <= examples / separation:
            allowed = f"in (0, examples/separation={examples / separation:g}]"
            raise InvalidParameter("batch_size", allowed, batch_size)
        # A batch equal to the rounded quotient may come out a rounding above one.
        rate = min(1.0, number / max(examples - (separation - 1) * number, number))
        return cls(
            rate=rate,
            separation=separation,
            warm_start=warm_start,
            max_participations=max_participations,
        )

    @property
    def participation_rate(self) -> float:
        """How often an example joins in the long run: rate / (1 + (separation - 1) rate)."""
        return self.rate / (1 + (self.separation - 1) * self.rate)

    def expected_batch_size(self, examples: int) -> float:
        """participation_rate * examples, in the stationary law; see `for_batch_size`."""
        return self.participation_rate * positive_integer("examples", examples)

    def most_participations(self, steps: int) -> int:
        """ceil(steps / separation), or `max_participations`."""
        return participations_within(
            self.check_steps(steps), gap=self.separation, most=self.max_participations
        )

    @property
    def least_gap(self) -> int:
        """The separation."""
        return self.separation

    @property
    def participation_known(self) -> bool:
        """At rate 1 from a cold start everyone joins the steps 0, separation, 2 separation, ..."""
        return self.rate == 1 and (self.separation == 1 or not self.warm_start)

    def _draw(self, examples: int, steps: int, rng: np.random.Generator) -> Iterator[Indices]:
        free_from = np.zeros(examples, dtype=np.int64)
        if self.warm_start and self.separation > 1:
            share = (self.separation - 1) * self.participation_rate
            resting = independent_subset(examples, rate=share, rng=rng)
            free_from[resting] = rng.integers(1, self.separation, size=resting.size)
        most = self.most_participations(steps)
        joined = None if self.max_participations is None else np.zeros(examples, dtype=np.int64)
        for step in range(steps):
            drawn = independent_subset(examples, rate=self.rate, rng=rng)
            batch = drawn[free_from[drawn] <= step]
            free_from[batch] = step + self.separation
            if joined is not None:
                joined[batch] += 1
                free_from[batch[joined[batch] >= most]] = steps
            yield batch
