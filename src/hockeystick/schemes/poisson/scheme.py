"""Each example independently in each step."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from hockeystick._validate import positive_integer, sampling_rate
from hockeystick.schemes.base import Indices, Sampling, batch_size_within, participations_within

__all__ = ["Poisson", "independent_subset"]


@dataclass(frozen=True, kw_only=True)
class Poisson(Sampling):
    """Each example is in each batch with probability `rate`, independently of everything else.

    With `max_participations` an example stops after that many: it is left out of every later batch.
    The size of a batch is Binomial(examples, rate) and given its size the batch is uniform, which
    is how it is drawn: work is in proportion to the batch, not the data, when the rate is low.
    Stopping takes a counter for each example.
    """

    name: ClassVar[str] = "poisson"
    rate: float
    max_participations: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "rate", sampling_rate("rate", self.rate))
        if self.max_participations is not None:
            most = positive_integer("max_participations", self.max_participations)
            object.__setattr__(self, "max_participations", most)

    @classmethod
    def for_batch_size(
        cls, batch_size: float, *, examples: int, max_participations: int | None = None
    ) -> Self:
        """The rate batch_size / examples; a batch larger than the data is refused.

        With `max_participations` this is the size of the first batches, as in
        `expected_batch_size`.
        """
        batch_size, examples = batch_size_within(batch_size, examples=examples)
        return cls(rate=batch_size / examples, max_participations=max_participations)

    def expected_batch_size(self, examples: int) -> float:
        """rate * examples; with `max_participations` batches shrink once examples have stopped."""
        return self.rate * positive_integer("examples", examples)

    def most_participations(self, steps: int) -> int:
        """Every step, or `max_participations`."""
        return participations_within(self.check_steps(steps), gap=1, most=self.max_participations)

    def _draw(self, examples: int, steps: int, rng: np.random.Generator) -> Iterator[Indices]:
        drawn = (independent_subset(examples, rate=self.rate, rng=rng) for _ in range(steps))
        most = self.most_participations(steps)
        return drawn if most >= steps else _stopping(drawn, examples=examples, most=most)


def _stopping(drawn: Iterator[Indices], *, examples: int, most: int) -> Iterator[Indices]:
    """The batches without the examples that have taken part `most` times."""
    taken = np.zeros(examples, dtype=np.min_scalar_type(most))
    for batch in drawn:
        allowed = batch[taken[batch] < most]
        taken[allowed] += 1
        yield allowed


def independent_subset(size: int, *, rate: float, rng: np.random.Generator) -> Indices:
    """A sorted subset of range(size) that holds each element independently with probability `rate`.

    Drawn as a binomial count and then a uniform set of that many elements without replacement; the
    law is exact up to the floating-point accuracy of NumPy's binomial generator.
    """
    if rate == 1:
        return np.arange(size, dtype=np.int64)
    count = rng.binomial(size, rate)
    chosen = rng.choice(size, count, replace=False, shuffle=False).astype(np.int64, copy=False)
    chosen.sort()
    return chosen
