"""b-min-sep sampling: Poisson sampling with an exclusion period after each participation."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Self

import numpy as np

from hockeystick._validate import boolean, positive_integer, sampling_rate
from hockeystick.errors import InvalidParameter
from hockeystick.schemes.balls_in_bins import BallsInBins
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
    Equivalent,
    IndependentSampling,
    Missing,
    PairBuilder,
    Participant,
    Renewal,
    Run,
    Simulator,
    Step,
)
from hockeystick.schemes.cyclic_poisson import CyclicPoisson
from hockeystick.schemes.marks import Marks, Participations
from hockeystick.schemes.poisson import Poisson
from hockeystick.strategies import band_mf, bsr

__all__ = ["MinSep"]


# Numbers of bands that `compare` tries, and those with proven bounds: few, because they take longer
# than draws and lose more for more bands.
BANDS, PROVEN_BANDS = (2, 4, 8, 16, 32, 64), (4, 16)


@dataclass(frozen=True, kw_only=True)
class MinSep(Sampling):
    """An eligible example joins with probability `rate`, and then has to wait `separation` steps.

    Draws of excluded examples are made and ignored, which is the same law and makes the work of a
    step proportional to rate * examples; the state is one integer for each example.

    Parameters
    ----------
    rate
        Probability that an eligible example joins a batch.
    separation
        Least distance of two participations.
    warm_start
        Begin in the stationary law (as by default), or with all eligible. In the stationary law,
        as if batches had been drawn for long before, the expected size of a batch is the same in
        every step [DongGanesh26, Algorithm 2]. From a cold start all may join at the first step
        [DongGanesh26, Algorithm 1], and batches are larger at first.
    max_participations
        An example or a user stops after that many. None, the default, for no limit.

    Examples
    --------
    >>> import hockeystick as hs
    >>> scheme = hs.MinSep.for_batch_size(500, examples=50_000, separation=16)
    >>> print(f"{scheme.rate:.4f} {scheme.participation_rate:.4f}")
    0.0118 0.0100
    >>> cold = hs.MinSep(rate=1.0, separation=3, warm_start=False)
    >>> [batch.tolist() for batch in cold.batches(examples=2, steps=4)]
    [[0, 1], [], [], [0, 1]]
    """

    name: ClassVar[str] = "min-sep"
    rate: float
    separation: int
    warm_start: bool = field(default=True, metadata={"flags": "--warm-start/--cold-start"})
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

    def first_steps(self, steps: int) -> MinSep:
        """The scheme itself: who may be drawn depends on earlier steps only."""
        return self

    def _draw(self, examples: int, steps: int, rng: np.random.Generator) -> Iterator[Indices]:
        """Of those who are drawn, all who are not excluded: a bit for each example says who is."""
        excluded = Marks(examples)
        waiting: defaultdict[int, list[Indices]] = defaultdict(list)

        if self.warm_start and self.separation > 1:
            share = (self.separation - 1) * self.participation_rate
            early = independent_subset(examples, rate=share, rng=rng)
            until = rng.integers(1, self.separation, size=early.size)
            excluded.add(early)
            for step in range(1, self.separation):
                waiting[step].append(early[until == step])
        most = self.most_participations(steps)
        joined = None
        if self.max_participations is not None:
            joined = Participations(examples, most=most)
        for step in range(steps):
            for who in waiting.pop(step, ()):
                excluded.remove(who)
            drawn = independent_subset(examples, rate=self.rate, rng=rng)
            batch = drawn[~excluded.has(drawn)]
            going_on = batch
            if joined is not None:
                joined.add(batch)
                going_on = batch[joined[batch] < most]
            # Who has taken part as often as is allowed stays excluded.
            excluded.add(batch)
            waiting[step + self.separation].append(going_on)
            yield batch

    def attains(self, pattern: Sequence[int]) -> bool:
        """At rate 1 from a cold start all begin at the first step."""
        return super().attains(pattern) and pattern[0] == 0

    def equivalent(self, run: Run) -> Equivalent | Missing:
        """The scheme that this one is at separation 1 or at rate 1.

        Without exclusion it is Poisson sampling. At rate 1 chance only decides where an example
        begins: with a warm start that is balls-in-bins with one bin for each step of the
        separation, from a cold start everyone joins the steps of the first of `separation` groups.
        Poisson sampling can stop after some participations, the others cannot: without the stop an
        example joins a larger set of steps, which dominates.
        """
        other: Sampling
        alike = True
        if self.separation == 1:
            other = Poisson(rate=self.rate, max_participations=self.max_participations)
        elif self.rate == 1 and self.warm_start:
            other = BallsInBins(bins=self.separation)
        elif self.rate == 1:
            other = CyclicPoisson(rate=1.0, groups=self.separation)
            # Other groups may have longer columns than the first, unless all are alike.
            alike = run.strategy.coefficients is not None
        else:
            return Missing(f"{self.name} is another scheme only where separation or rate is 1")
        stays = other.most_participations(run.steps) == self.most_participations(run.steps)
        return Equivalent(other, stays and alike)

    def dominating_pair(self, run: Run) -> PairBuilder | Missing:
        """That of the scheme which it is; otherwise no pair is known."""
        same = self.equivalent(run)
        if isinstance(same, Missing):
            return Missing(
                f"no dominating pair is known for {self.name} unless separation or rate is 1"
            )
        found, exact = same.sampling.dominating_pair(run), same.exact
        if isinstance(found, Missing):
            return found
        build = found

        def pair(step: Step) -> DominatingPair:
            other = build(step)
            return other._replace(tight=other.tight and exact)

        return pair

    def independent_sampling(self, run: Run) -> IndependentSampling:
        """Excluded examples are sampled too, and the draw is ignored."""
        return IndependentSampling(self.rate, 1, exact=False, most=self.max_participations)

    def renewal(self, run: Run) -> Renewal:
        """The definition of the scheme; an example that stops is bounded by one that does not."""
        return Renewal(self.rate, self.separation, self.warm_start)

    def participants(self, run: Run) -> Iterator[Participant]:
        """A single example."""
        from hockeystick.schemes.simulation.participation_laws import start_weights

        starts = start_weights(
            rate=self.rate, separation=self.separation, warm_start=self.warm_start
        )
        copies = (1 - self.rate, self.rate)
        yield Participant(copies, self.separation, run.steps, starts=tuple(starts.tolist()))

    def simulation(self, run: Run) -> Simulator | Missing:
        """By the recursion over the steps."""
        from hockeystick.schemes.simulation.participation_laws import MinSepLaw, min_sep_law
        from hockeystick.schemes.simulation.participation_run import simulator
        from hockeystick.schemes.simulation.replicas import ReplicaSource

        def law() -> MinSepLaw:
            return min_sep_law(
                run.steps, rate=self.rate, separation=self.separation, warm_start=self.warm_start
            )

        return simulator(
            run,
            lambda held: law(),
            gap=self.separation,
            tuples=lambda held: ReplicaSource(run.strategy, self.renewal(run)),
        )

    @classmethod
    def candidates(cls, *, batch_size: float, examples: int, steps: int) -> Iterator[Candidate]:
        """An exclusion period of as many steps as there are bands; most are for draws alone."""
        for bands in BANDS:
            if bands * batch_size >= examples or bands > steps:
                return
            sampling = cls.for_batch_size(batch_size, examples=examples, separation=bands)
            for made in (band_mf, bsr):
                drawn = bands not in PROVEN_BANDS or made is bsr
                seconds = 8.0 + (bands / 4 if drawn else 0.0)
                yield Candidate(sampling, made, {"bands": bands}, seconds=seconds, by_draws=drawn)
