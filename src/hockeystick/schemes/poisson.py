"""Poisson sampling: each example independently in each step.

**Capped batches.** If more than B examples are drawn, B of them are kept, uniformly at random. Then
examples are not independent any more: one that is kept takes the place of another. Fix who else is
drawn, K examples, and in which order of preference. If K < B, nobody is displaced: the step is that
of Poisson sampling. If K >= B, the example is kept with some probability r <= rate, and beside it
only B - 1 others; otherwise all B of them. So the sums are

    (1 - r) N(0, I) + r N(g - z, I)   against   N(0, I)   or   (1 - r) N(0, I) + r N(g' - z, I)

around the sum of the B others (in units of the noise), with z the gradient that is displaced: the
example does not exist, is another one g', or has no gradient (g' = 0). All means are at most two
clip norms long. By the comparison of Gaussian processes in `profile/expressions/replaced.py` every
such pair is dominated, in both orders, by the one with g - z = -(g' - z) of twice the clip norm,
and it grows with r: `Profile.replaced_gaussian` at half the noise and the full rate. K is drawn
anew in every step, whatever was released, so a step is dominated by the pair that also tells
whether K >= B: by joint convexity for the order of preference, and because the second pair
dominates the first one the probability of K >= B may be taken too large: that of `Plan(examples=)`
others, so that both data sets may have up to one example more than that. Steps compose.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np

from hockeystick._validate import positive_integer, sampling_rate, small_probability
from hockeystick.errors import InvalidParameter
from hockeystick.profile import Profile
from hockeystick.profile.expressions.sampled import Revealed
from hockeystick.schemes.base import Sampling
from hockeystick.schemes.batches import (
    TAIL_ROUNDING,
    Indices,
    batch_size_within,
    capped_mean,
    capped_subset,
    chance_of_full,
    independent_subset,
    participations_within,
    smallest_cap,
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
from hockeystick.schemes.pairs import (
    composed_rounds,
    displaced_step,
    needs_gaussian,
    too_many_bands,
)

__all__ = ["Poisson"]

# What a cap that `for_batch_size` picks may add to delta, relatively.
SHARE_OF_CAP = 0.01
DISPLACED = "an example that takes part may displace another one, where batches are capped"


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
    max_batch_size
        If more examples are drawn, so many of them are kept, uniformly at random: batches of a
        fixed shape, padded where fewer are drawn. Accounted for a known number of examples, that of
        `Plan(examples=)`. None, the default, for no cap.

    Examples
    --------
    >>> import hockeystick as hs
    >>> scheme = hs.Poisson.for_batch_size(500, examples=50_000)
    >>> scheme
    Poisson(rate=0.01, max_participations=None, max_batch_size=None)
    >>> [batch.tolist() for batch in hs.Poisson(rate=0.5).batches(examples=5, steps=3, rng=0)]
    [[0, 1, 3, 4], [0, 3], [1]]
    """

    name: ClassVar[str] = "poisson"
    rate: float
    max_participations: int | None = None
    max_batch_size: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "rate", sampling_rate("rate", self.rate))
        if self.max_participations is not None:
            most = positive_integer("max_participations", self.max_participations)
            object.__setattr__(self, "max_participations", most)
        if self.max_batch_size is not None:
            cap = positive_integer("max_batch_size", self.max_batch_size)
            object.__setattr__(self, "max_batch_size", cap)
            if self.max_participations is not None:
                allowed = "left out with max_batch_size: who is dropped would decide who stops"
                raise InvalidParameter("max_participations", allowed, self.max_participations)

    @classmethod
    def for_batch_size(
        cls,
        batch_size: float,
        *,
        examples: int,
        max_participations: int | None = None,
        max_batch_size: int | None = None,
        steps: int | None = None,
        delta: float | None = None,
    ) -> Self:
        """The rate batch_size / examples; a batch larger than the data is refused.

        With `max_participations` this is the size of the first batches, as in
        `expected_batch_size`; with a cap it is the size without it. If `steps` and `delta` are
        given, the cap is the smallest one that is exceeded in a run of so many steps with a
        probability of at most 1 % of delta: whatever the noise, the cap adds less than that to the
        delta of the run.
        """
        batch_size, examples = batch_size_within(batch_size, examples=examples)
        rate = batch_size / examples
        if (steps is None) != (delta is None):
            name, value = ("delta", delta) if delta is None else ("steps", steps)
            raise InvalidParameter(name, "given where the cap shall be chosen", value)
        if steps is not None:
            if max_batch_size is not None:
                allowed = "left out where steps and delta choose it"
                raise InvalidParameter("max_batch_size", allowed, max_batch_size)
            share = SHARE_OF_CAP * small_probability("delta", delta)
            most = share / positive_integer("steps", steps)
            max_batch_size = smallest_cap(examples, rate, most=most)
        return cls(rate=rate, max_participations=max_participations, max_batch_size=max_batch_size)

    def expected_batch_size(self, examples: int) -> float:
        """rate * examples, less what is above the cap.

        With `max_participations` batches shrink once examples have stopped.
        """
        examples = positive_integer("examples", examples)
        if self.max_batch_size is None or self.max_batch_size >= examples:
            return self.rate * examples
        return capped_mean(examples, self.rate, self.max_batch_size)

    @property
    def fixed_batch_size(self) -> int | None:
        """The cap, up to which batches can be padded."""
        return self.max_batch_size

    @property
    def displaces(self) -> bool:
        """With a cap."""
        return self.max_batch_size is not None

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
        if self.displaces:
            return Missing("the cap was chosen for the rate")
        return replace(self, rate=rate)

    def _draw(self, examples: int, steps: int, rng: np.random.Generator) -> Iterator[Indices]:
        if self.max_batch_size is not None:
            rate, most = self.rate, self.max_batch_size
            return (capped_subset(examples, rate=rate, most=most, rng=rng) for _ in range(steps))
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
        if self.max_batch_size is not None:
            return self._capped_pair(run, self.max_batch_size)

        def pair(step: Step) -> DominatingPair:
            found = composed_rounds(run, step, rate=self.rate, groups=1)
            stops = self.most_participations(run.steps) < run.steps
            return found._replace(tight=found.tight and not stops)

        return too_many_bands(run, self.name, groups=1) or pair

    def _capped_pair(self, run: Run, cap: int) -> PairBuilder | Missing:
        """Of steps in which nobody is displaced, or somebody; the proof is above."""
        if run.correlated:
            return Missing("no dominating pair is known for capped batches with correlated noise")
        if (reason := needs_gaussian(run)) is not None:
            return Missing(f"with a cap {reason}")
        if run.examples is None:
            return Missing("a cap is accounted for a known number of examples: Plan(examples=...)")
        examples = run.examples
        full = chance_of_full(examples, self.rate, cap)

        def pair(step: Step) -> DominatingPair:
            found = step.sampled(1.0, self.rate)
            if full > 0:
                displaced = displaced_step(step(1.0), self.rate, adjacency=run.adjacency)
                found = Profile(Revealed(displaced.expression, found.expression, full))
            # Where the others have no gradients, it is Poisson sampling at the rate that is left.
            left = self.expected_batch_size(examples) / examples * (1 - TAIL_ROUNDING)
            below = step.sampled(1.0, left).self_compose(run.steps)
            whole = found.self_compose(run.steps)
            return DominatingPair(whole, tight=False, below=(below,))

        return pair

    def replaced_pair(self, run: Run) -> bool | Missing:
        """Unless examples stop: that smaller sets of steps leak less is not proven here."""
        if self.max_participations is not None:
            return Missing("it is proven for replaced examples without max_participations")
        return True

    def independent_sampling(self, run: Run) -> IndependentSampling | Missing:
        """The scheme itself, unless a cap makes examples depend on each other."""
        if self.displaces:
            return Missing(DISPLACED)
        return IndependentSampling(self.rate, 1, exact=True, most=self.max_participations)

    def simulation(self, run: Run) -> Simulator | Missing:
        """As b-min-sep sampling without exclusion.

        An example that stops joins fewer steps, and is simulated as one that does not.
        """
        if self.displaces:
            return Missing(DISPLACED)
        from hockeystick.schemes.simulation import TupleSource
        from hockeystick.schemes.simulation.block_tuples import BlockTupleSource
        from hockeystick.schemes.simulation.participation_laws import MinSepLaw, min_sep_law
        from hockeystick.schemes.simulation.participation_run import simulator
        from hockeystick.schemes.simulation.replicas import ReplicaSource

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
