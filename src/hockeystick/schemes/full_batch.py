"""Batches that are not drawn: every example in every step, and shuffled ones.

`Shuffle` is described so that it can be refused with a reason.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from hockeystick._numerics.gaussian import log_ndtr
from hockeystick._validate import positive, positive_integer
from hockeystick.errors import InvalidParameter, UnsupportedPlan
from hockeystick.profile import Profile
from hockeystick.schemes.base import Sampling
from hockeystick.schemes.batches import Indices, batch_size_within
from hockeystick.schemes.capabilities import Candidate, DominatingPair, PairBuilder, Run, Step

__all__ = ["FullBatch", "Shuffle", "shuffle_epsilon_lower_bound"]


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


# The delta for which the refusal compares numbers.
SHOWN_DELTA = 1e-6


@dataclass(frozen=True, kw_only=True)
class Shuffle(Sampling):
    """Batches of exactly `batch_size`, dealt from a shuffled data set: what common loaders do.

    Only a description. No tight privacy analysis of it exists, so it draws no batches and is not
    accounted for: `RandomAllocation` and `BallsInBins` also use every example once per epoch.

    Parameters
    ----------
    batch_size
        Number of examples in every batch.

    Examples
    --------
    >>> import hockeystick as hs
    >>> hs.methods(hs.Plan(sampling=hs.Shuffle(batch_size=100), steps=500))
    {}
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
            "analysis, so no batches are drawn; use RandomAllocation(picks=1, out_of=steps per "
            "epoch, truncate=True), or BallsInBins for the same batches in every epoch: both use "
            "every example once per epoch.",
            page="docs/how-to-choose.md#why-shuffling-is-refused",
        )

    def refusal(self, run: Run, noise_multiplier: float | None) -> str:
        """Always, with a lower bound that shows what the Poisson formula would hide."""
        text = (
            "Shuffled batches of fixed size have no tight privacy analysis, and accounting them as "
            "Poisson batches can claim too little"
        )
        if noise_multiplier is not None and math.isfinite(noise_multiplier):
            lower = shuffle_epsilon_lower_bound(
                noise_multiplier=noise_multiplier, batches=run.steps, delta=SHOWN_DELTA
            )
            step = Profile.gaussian(noise_multiplier=noise_multiplier)
            claimed = step.subsample(1 / run.steps).self_compose(run.steps).epsilon(SHOWN_DELTA)
            # With much noise, or few batches, the bound is too weak to show it.
            if lower > claimed:
                text += (
                    f": even as a single epoch this run has epsilon >= {lower:.3g} at delta = "
                    f"{SHOWN_DELTA:g}, where the Poisson formula says {claimed:.3g}"
                )
        return text + (
            "; use RandomAllocation(picks=1, out_of=steps per epoch, truncate=True), or "
            "BallsInBins(bins=steps per epoch) for the same batches in every epoch, which needs "
            "more noise: both use every example once per epoch. See "
            "`hockeystick docs how-to-choose#why-shuffling-is-refused`."
        )


def shuffle_epsilon_lower_bound(*, noise_multiplier: float, batches: int, delta: float) -> float:
    """A proven lower bound on epsilon(delta) of one epoch of shuffled batches [Chua24].

    All other examples pull in the opposite direction of the one that differs, so its batch stands
    out by 2 against 1 (zero-out adjacency): P averages N(2 e_i, s^2 I), Q averages N(e_i, s^2 I).
    Any event bounds epsilon from below, here {max_i y_i >= c}, the best c of a grid.
    """
    s = noise_multiplier
    c = np.linspace(-2.0, 3 + 12 * s, 4000)
    others = (batches - 1) * log_ndtr(c / s)
    p = -np.expm1(log_ndtr((c - 2) / s) + others)
    q = -np.expm1(log_ndtr((c - 1) / s) + others)
    useful = (p > delta) & (q > 0)
    if not useful.any():
        return 0.0
    return max(0.0, float((np.log(p[useful] - delta) - np.log(q[useful])).max()))
