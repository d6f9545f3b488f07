"""One bin for each example, drawn once for the whole run."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Self

import numpy as np

from hockeystick._validate import positive_integer
from hockeystick.schemes.base import Indices, Sampling, batch_size_within
from hockeystick.schemes.bins import members_by_bin, nearest_divisor

__all__ = ["BallsInBins"]


@dataclass(frozen=True, kw_only=True)
class BallsInBins(Sampling):
    """Each example draws one of `bins` bins and joins the steps bin, bin + bins, bin + 2 bins, ...

    Examples are independent; the draw holds for the whole run, so the same batches return in every
    epoch. If `bins` does not divide the number of steps, the first bins take part once more than
    the others; bins beyond the number of steps never do. Drawing takes O(examples + bins) once,
    and a batch is handed out in constant time.
    """

    name: ClassVar[str] = "balls-in-bins"
    bins: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "bins", positive_integer("bins", self.bins))

    @classmethod
    def for_batch_size(cls, batch_size: float, *, examples: int) -> Self:
        """The number of bins whose expected batch size, examples / bins, is nearest.

        Of two that are equally near, the larger number of bins (smaller batch) is taken.
        """
        number, examples = batch_size_within(batch_size, examples=examples)
        return cls(bins=nearest_divisor(examples, target=Fraction(number)))

    def expected_batch_size(self, examples: int) -> float:
        """examples / bins, in every step."""
        return positive_integer("examples", examples) / self.bins

    def most_participations(self, steps: int) -> int:
        """ceil(steps / bins), reached by the first bin."""
        return -(-self.check_steps(steps) // self.bins)

    @property
    def least_gap(self) -> int:
        """Participations are exactly `bins` steps apart."""
        return self.bins

    @property
    def participation_known(self) -> bool:
        """With a single bin every example joins every step."""
        return self.bins == 1

    def _draw(self, examples: int, steps: int, rng: np.random.Generator) -> Iterator[Indices]:
        used = min(self.bins, steps)
        batches = list(members_by_bin(examples, self.bins, wanted=used, rng=rng))
        for step in range(steps):
            # A copy, so that whoever changes a batch does not change the next epoch.
            yield batches[step % self.bins].copy()
