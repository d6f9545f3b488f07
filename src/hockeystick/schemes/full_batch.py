"""Every example in every step."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from hockeystick._validate import positive, positive_integer
from hockeystick.errors import InvalidParameter
from hockeystick.schemes.base import Sampling
from hockeystick.schemes.batches import Indices
from hockeystick.schemes.capabilities import Candidate, DominatingPair, PairBuilder, Run, Step

__all__ = ["FullBatch"]


@dataclass(frozen=True, kw_only=True)
class FullBatch(Sampling):
    """Every example in every step: no randomness and no amplification.

    Examples
    --------
    >>> import hockeystick as hs
    >>> [batch.tolist() for batch in hs.FullBatch().batches(examples=3, steps=2)]
    [[0, 1, 2], [0, 1, 2]]
    """

    name: ClassVar[str] = "full-batch"

    @classmethod
    def for_batch_size(cls, batch_size: float, *, examples: int) -> Self:
        """The full batch; `batch_size` must equal `examples`."""
        examples = positive_integer("examples", examples)
        if not positive("batch_size", batch_size) == examples:
            raise InvalidParameter("batch_size", f"examples={examples} (full batch)", batch_size)
        return cls()

    def expected_batch_size(self, examples: int) -> float:
        """All of the examples."""
        return float(positive_integer("examples", examples))

    def most_participations(self, steps: int) -> int:
        """Every step."""
        return self.check_steps(steps)

    @property
    def participation_known(self) -> bool:
        """Every example joins every step."""
        return True

    def first_steps(self, steps: int) -> FullBatch:
        """The scheme itself."""
        return self

    def _draw(self, examples: int, steps: int, rng: np.random.Generator) -> Iterator[Indices]:
        for _ in range(steps):
            yield np.arange(examples, dtype=np.int64)

    def dominating_pair(self, run: Run) -> PairBuilder:
        """All columns at once if they overlap, otherwise plain composition of all steps."""

        def pair(step: Step) -> DominatingPair:
            if run.correlated:
                return DominatingPair(step(float(run.strategy.sensitivity())), tight=True)
            return DominatingPair(step(1.0).self_compose(run.steps), tight=True)

        return pair

    def replaced_pair(self, run: Run) -> bool:
        """Gaussian mechanisms with twice the sensitivity."""
        return True

    def rate_for_filters(self, run: Run) -> float:
        """Every example is in the batch."""
        return 1.0

    @classmethod
    def candidates(cls, *, batch_size: float, examples: int, steps: int) -> Iterator[Candidate]:
        """Independent noise; only if the batch is everything."""
        if batch_size == examples:
            yield Candidate(cls(), seconds=0.1)
