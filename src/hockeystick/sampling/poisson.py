"""Each example independently in each step."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from hockeystick._validate import positive_integer, sampling_rate
from hockeystick.sampling.scheme import Indices, Sampling, batch_size_within

__all__ = ["Poisson", "independent_subset"]


@dataclass(frozen=True, kw_only=True)
class Poisson(Sampling):
    """Each example is in each batch with probability `rate`, independently of everything else.

    The size of a batch is Binomial(examples, rate) and given its size the batch is uniform, which
    is how it is drawn: work is in proportion to the batch, not the data, when the rate is low.
    """

    name: ClassVar[str] = "poisson"
    rate: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "rate", sampling_rate("rate", self.rate))

    @classmethod
    def for_batch_size(cls, batch_size: float, *, examples: int) -> Self:
        """The rate batch_size / examples; a batch larger than the data is refused."""
        batch_size, examples = batch_size_within(batch_size, examples=examples)
        return cls(rate=batch_size / examples)

    def expected_batch_size(self, examples: int) -> float:
        """rate * examples."""
        return self.rate * positive_integer("examples", examples)

    def most_participations(self, steps: int) -> int:
        """Every step: nothing keeps an example from being drawn each time."""
        return self.check_steps(steps)

    def _draw(self, examples: int, steps: int, rng: np.random.Generator) -> Iterator[Indices]:
        for _ in range(steps):
            yield independent_subset(examples, rate=self.rate, rng=rng)


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
