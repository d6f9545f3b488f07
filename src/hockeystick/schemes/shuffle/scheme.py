"""Shuffled batches of fixed size: described, so that they can be refused with a reason."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from hockeystick._validate import positive_integer
from hockeystick.errors import InvalidParameter, UnsupportedPlan
from hockeystick.schemes.base import Indices, Sampling, batch_size_within

__all__ = ["Shuffle"]


@dataclass(frozen=True, kw_only=True)
class Shuffle(Sampling):
    """Batches of exactly `batch_size`, dealt from a shuffled data set: what common loaders do.

    Only a description. No tight privacy analysis of it exists, so it draws no batches:
    `RandomAllocation` and `BallsInBins` also use every example once per epoch and can be priced.
    """

    name: ClassVar[str] = "shuffle"
    batch_size: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "batch_size", positive_integer("batch_size", self.batch_size))

    @classmethod
    def for_batch_size(cls, batch_size: float, *, examples: int) -> Self:
        """The description itself; the size must be a whole number and not above `examples`."""
        number, examples = batch_size_within(batch_size, examples=examples)
        if not number.is_integer():
            raise InvalidParameter("batch_size", f"an integer in [1, {examples}]", batch_size)
        return cls(batch_size=int(number))

    def expected_batch_size(self, examples: int) -> float:
        """`batch_size`, provided that there are so many examples."""
        number, _ = batch_size_within(self.batch_size, examples=examples)
        return number

    def most_participations(self, steps: int) -> int:
        """Every step, as when a batch holds all the examples: their number is not known here."""
        return self.check_steps(steps)

    def _draw(self, examples: int, steps: int, rng: np.random.Generator) -> Iterator[Indices]:
        # Not a generator, so that the refusal comes at the call and not at the first batch.
        raise UnsupportedPlan(
            f"Shuffled batches of fixed size (batch_size={self.batch_size}) have no tight privacy "
            "analysis, so no batches are drawn; use BallsInBins or RandomAllocation(picks=1, "
            "out_of=steps per epoch), which also use every example once per epoch."
        )
