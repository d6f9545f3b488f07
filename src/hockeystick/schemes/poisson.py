"""Poisson sampling: each example independently in each step."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np

from hockeystick._validate import positive_integer, sampling_rate
from hockeystick.schemes.base import Sampling
from hockeystick.schemes.batches import (
    Indices,
    batch_size_within,
    independent_subset,
    participations_within,
)
from hockeystick.schemes.capabilities import (
    Candidate,
    DominatingPair,
    IndependentSampling,
    Missing,
    PairBuilder,
    Renewal,
    Run,
    Simulator,
    Step,
)
from hockeystick.schemes.marks import Participations
from hockeystick.schemes.pairs import composed_rounds, too_many_bands

__all__ = ["Poisson"]


@dataclass(frozen=True, kw_only=True)
class Poisson(Sampling):
    """Each example is in each batch with probability `rate`, independently of everything else.

    The size of a batch is Binomial(examples, rate) and given its size the batch is uniform, which
    is how it is drawn: work is in proportion to the batch, not the data, when the rate is low.
    Stopping takes a counter for each example.

    Parameters
    ----------
    rate
        Probability that an example joins a batch.
    max_participations
        An example or a user stops after that many: it is left out of every later batch. None, the
        default, for no limit.

    Examples
    --------
    >>> import hockeystick as hs
    >>> scheme = hs.Poisson.for_batch_size(500, examples=50_000)
    >>> scheme
    Poisson(rate=0.01, max_participations=None)
    >>> [batch.tolist() for batch in hs.Poisson(rate=0.5).batches(examples=5, steps=3, rng=0)]
    [[0, 1, 3, 4], [0, 3], [1]]
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

    def first_steps(self, steps: int) -> Poisson:
        """The scheme itself: each step is drawn on its own, stopping depends on the past."""
        return self

    def at_rate(self, rate: float) -> Poisson | Missing:
        """Steps are independent of each other, unless somebody stops."""
        if self.max_participations is not None:
            return Missing("examples that stop after max_participations depend on earlier steps")
        return replace(self, rate=rate)

    def _draw(self, examples: int, steps: int, rng: np.random.Generator) -> Iterator[Indices]:
        drawn = (independent_subset(examples, rate=self.rate, rng=rng) for _ in range(steps))
        most = self.most_participations(steps)
        return drawn if most >= steps else _stopping(drawn, examples=examples, most=most)

    def dominating_pair(self, run: Run) -> PairBuilder | Missing:
        """The subsampled pair, composed over the steps [ZhuDongWang22, Theorem 11].

        An example that stops after `max_participations` joins a subset of the steps that it would
        join otherwise, and a smaller random set of steps never leaks more ([FeldmanShenfeld25,
        Corollary 4.5]; docs/mathematics.md, section Larger sets leak more). A bound then, not
        exact.
        """

        def pair(step: Step) -> DominatingPair:
            found = composed_rounds(run, step, rate=self.rate, groups=1)
            stops = self.most_participations(run.steps) < run.steps
            return found._replace(tight=found.tight and not stops)

        return too_many_bands(run, self.name, groups=1) or pair

    def replaced_pair(self, run: Run) -> bool | Missing:
        """Unless examples stop: that smaller sets of steps leak less is not proven here."""
        if self.max_participations is not None:
            return Missing("it is proven for replaced examples without max_participations")
        return True

    def independent_sampling(self, run: Run) -> IndependentSampling:
        """The scheme itself."""
        return IndependentSampling(self.rate, 1, exact=True, most=self.max_participations)

    def simulation(self, run: Run) -> Simulator | Missing:
        """As b-min-sep sampling without exclusion.

        An example that stops joins fewer steps, and is simulated as one that does not.
        """
        from hockeystick.schemes.min_sep.participation import MinSepLaw, min_sep_law
        from hockeystick.schemes.simulation.block_tuples import BlockTupleSource
        from hockeystick.schemes.simulation.participation_run import simulator
        from hockeystick.schemes.simulation.replicas import ReplicaSource
        from hockeystick.schemes.simulation.run import TupleSource

        def law() -> MinSepLaw:
            return min_sep_law(run.steps, rate=self.rate, separation=1, warm_start=False)

        def tuples() -> TupleSource:
            if run.strategy.bands == 1:
                return ReplicaSource(run.strategy, Renewal(self.rate, 1, False))
            return BlockTupleSource(run.strategy, 1, self.rate)

        return simulator(run, lambda held: law(), gap=1, tuples=lambda held: tuples())

    def better_batches(self, run: Run) -> str:
        """Groups, one for each band: participations far enough apart for the amplification."""
        bands = run.strategy.bands
        if not run.correlated or bands * self.rate > 1:
            return ""
        return (
            f"correlated noise gains little from Poisson batches: CyclicPoisson(rate="
            f"{bands * self.rate:.5g}, groups={bands}) has batches of the same size and usually "
            "needs much less noise"
        )

    @classmethod
    def candidates(cls, *, batch_size: float, examples: int, steps: int) -> Iterator[Candidate]:
        """DP-SGD."""
        sampling = cls.for_batch_size(batch_size, examples=examples)
        yield Candidate(sampling, seconds=1.5, baseline=True)


def _stopping(drawn: Iterator[Indices], *, examples: int, most: int) -> Iterator[Indices]:
    """The batches without the examples that have taken part `most` times."""
    taken = Participations(examples, most=most)
    for batch in drawn:
        allowed = batch[taken[batch] < most]
        taken.add(allowed)
        yield allowed
