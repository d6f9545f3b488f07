"""Batches that are formed from the graph of examples and users in advance: no amplification."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from hockeystick._validate import positive_integer
from hockeystick.errors import InvalidParameter
from hockeystick.randomness import RandomSource, generator
from hockeystick.schemes.base import Sampling
from hockeystick.schemes.batches import Batches, Indices, batch_size_within, participations_within
from hockeystick.schemes.user_min_sep.attribution import Attribution
from hockeystick.schemes.user_min_sep.sampler import as_attribution

__all__ = ["FormedBatches"]


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
