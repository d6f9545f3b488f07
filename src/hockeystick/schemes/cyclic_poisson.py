"""Cyclic Poisson sampling: groups alternate, each is Poisson sampled in its own steps."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from hockeystick._numerics.law import FloatArray
from hockeystick._validate import boolean, positive_integer, sampling_rate
from hockeystick.errors import InvalidParameter
from hockeystick.schemes.base import Sampling
from hockeystick.schemes.batches import (
    Indices,
    batch_size_within,
    independent_subset,
    members_by_bin,
)
from hockeystick.schemes.capabilities import (
    Candidate,
    DominatingPair,
    Missing,
    PairBuilder,
    Run,
    Simulator,
    Step,
)
from hockeystick.schemes.pairs import composed_rounds, too_many_bands
from hockeystick.schemes.simulation.columns import Trajectories
from hockeystick.strategies import band_inv_mf, band_mf, blt, bsr

__all__ = ["CyclicLaw", "CyclicPoisson"]

# What `compare` tries: bands with amplification, where more groups than these leave little of it,
# and without amplification bands of the inverse and buffers, of which more hardly lower the error.
BANDS = (2, 4, 8, 16, 32, 64)
INVERSE_BANDS = (4, 16)
BUFFERS = (2, 4)


@dataclass(frozen=True, kw_only=True)
class CyclicPoisson(Sampling):
    """Step s belongs to group s mod `groups`, whose members join independently at `rate`.

    Example i is in group i mod `groups`. The groups are public and fixed, so that an example is in
    a known set of steps at most. With fewer examples than groups some groups are empty, and so are
    the batches of their steps.

    Parameters
    ----------
    rate
        Probability that an example joins a batch, in a step of its group.
    groups
        Groups, to which the steps belong in turn.
    random_phase
        Every example draws its group in secret, uniformly and independently, once for the whole
        run; groups then differ in size by chance.

    Examples
    --------
    >>> import hockeystick as hs
    >>> scheme = hs.CyclicPoisson.for_batch_size(500, examples=50_000, groups=16)
    >>> scheme.rate, scheme.most_participations(1000)
    (0.16, 63)
    >>> thirds = hs.CyclicPoisson(rate=1.0, groups=3)
    >>> [batch.tolist() for batch in thirds.batches(examples=5, steps=4)]
    [[0, 3], [1, 4], [2], [0, 3]]
    """

    name: ClassVar[str] = "cyclic-poisson"
    rate: float
    groups: int
    random_phase: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "rate", sampling_rate("rate", self.rate))
        object.__setattr__(self, "groups", positive_integer("groups", self.groups))
        object.__setattr__(self, "random_phase", boolean("random_phase", self.random_phase))

    @classmethod
    def for_batch_size(
        cls, batch_size: float, *, examples: int, groups: int, random_phase: bool = False
    ) -> Self:
        """The rate batch_size * groups / examples; a batch larger than a group is refused."""
        number, examples = batch_size_within(batch_size, examples=examples)
        groups = positive_integer("groups", groups)
        if not number <= examples / groups:
            allowed = f"in (0, examples/groups={examples / groups:g}]"
            raise InvalidParameter("batch_size", allowed, batch_size)
        # A batch equal to the rounded quotient examples/groups may come out a rounding above one.
        rate = min(1.0, number * groups / examples)
        return cls(rate=rate, groups=groups, random_phase=random_phase)

    def expected_batch_size(self, examples: int) -> float:
        """rate * examples / groups, the average over one round of the groups."""
        return self.rate * positive_integer("examples", examples) / self.groups

    def most_participations(self, steps: int) -> int:
        """ceil(steps / groups), reached by the group that comes first."""
        return -(-self.check_steps(steps) // self.groups)

    @property
    def least_gap(self) -> int:
        """From one step of the group to its next."""
        return self.groups

    @property
    def participation_known(self) -> bool:
        """At rate 1 every example joins each step of its group, if that is known."""
        return self.rate == 1 and (self.groups == 1 or not self.random_phase)

    def first_steps(self, steps: int) -> CyclicPoisson:
        """The scheme itself: groups are drawn once, and take turns."""
        return self

    def _draw(self, examples: int, steps: int, rng: np.random.Generator) -> Iterator[Indices]:
        if self.random_phase and self.groups > 1:
            yield from self._draw_secret_groups(examples, steps, rng)
            return
        for step in range(steps):
            group = step % self.groups
            size = len(range(group, examples, self.groups))
            yield group + self.groups * independent_subset(size, rate=self.rate, rng=rng)

    def _draw_secret_groups(
        self, examples: int, steps: int, rng: np.random.Generator
    ) -> Iterator[Indices]:
        used = min(self.groups, steps)
        members = list(members_by_bin(examples, self.groups, wanted=used, rng=rng))
        for step in range(steps):
            group = members[step % self.groups]
            yield group[independent_subset(group.size, rate=self.rate, rng=rng)]

    def dominating_pair(self, run: Run) -> PairBuilder | Missing:
        """The worst group has the most steps; in each of them it is Poisson sampled.

        Groups are public, so the group of the example is known and there is no amplification over
        groups; steps of other groups have the same law with and without the example. If the group
        is secret, the run is a mixture over the groups, which by joint convexity is at most as bad
        as the worst of them: a bound, not an exact pair.
        """

        def pair(step: Step) -> DominatingPair:
            found = composed_rounds(run, step, rate=self.rate, groups=self.groups)
            secret = self.random_phase and self.groups > 1
            return found._replace(tight=found.tight and not secret)

        return too_many_bands(run, self.name, groups=self.groups) or pair

    def replaced_pair(self, run: Run) -> bool:
        """The example that replaces another one is in its group."""
        return True

    def simulation(self, run: Run) -> Simulator | Missing:
        """With a random phase only."""
        from hockeystick.schemes.simulation.participation_run import simulator
        from hockeystick.schemes.simulation.phase_tuples import PhaseTupleSource

        if not self.random_phase:
            return Missing(
                "cyclic Poisson sampling is simulated with a random phase only; with public groups "
                "`profile` is exact"
            )
        apart = 1 < self.groups >= run.strategy.bands and self.rate < 1
        source = PhaseTupleSource(run.strategy, self.groups, self.rate) if apart else None
        return simulator(
            run,
            lambda held: CyclicLaw(self.rate, self.groups, run.steps),
            gap=self.groups,
            tuples=lambda held: source,
        )

    @classmethod
    def candidates(cls, *, batch_size: float, examples: int, steps: int) -> Iterator[Candidate]:
        """As many groups as bands, the most amplification; then fixed batches, any strategy."""
        for bands in BANDS:
            if bands * batch_size > examples or bands > steps:
                break
            sampling = cls.for_batch_size(batch_size, examples=examples, groups=bands)
            yield Candidate(sampling, band_mf, {"bands": bands}, seconds=0.8)
            yield Candidate(sampling, bsr, {"bands": bands}, seconds=0.25)
        yield from cls._fixed_batches(round(examples / batch_size), steps)

    @classmethod
    def _fixed_batches(cls, groups: int, steps: int) -> Iterator[Candidate]:
        """The same batches in every epoch: no amplification."""
        if groups < 2:
            return
        sampling = cls(rate=1.0, groups=groups)
        times = {"separation": groups, "participations": sampling.most_participations(steps)}
        for bands in INVERSE_BANDS:
            if bands <= steps:
                yield Candidate(sampling, band_inv_mf, {"bands": bands, **times}, seconds=0.1)
        for buffers in BUFFERS:
            if buffers <= steps:
                yield Candidate(sampling, blt, {"buffers": buffers, **times}, seconds=0.1)


@dataclass(frozen=True, eq=False)
class CyclicLaw:
    """A uniform group, and a draw with probability `rate` in each of its steps."""

    rate: float
    groups: int
    steps: int

    @property
    def log_staying_out(self) -> float:
        """Of not being sampled in any step."""
        rounds = -(-self.steps // self.groups)
        return rounds * (math.log1p(-self.rate) if self.rate < 1 else -math.inf)

    @property
    def expected(self) -> FloatArray:
        """The same in every step."""
        return np.full(self.steps, self.rate / self.groups)

    @property
    def expected_squares(self) -> FloatArray:
        """A single example joins once or not at all."""
        return self.expected

    def weighted(self, log_weights: FloatArray) -> None:
        """Draws are not weighted."""

    def trajectories(self, draws: int, rng: np.random.Generator) -> Trajectories:
        """At most one participation in each round."""
        from hockeystick.schemes.simulation.draw_kernels import cyclic_trajectories

        room = -(-self.steps // self.groups)
        where = np.zeros((draws, room), dtype=np.int64)
        number = np.zeros(draws, dtype=np.int64)
        cyclic_trajectories(rng, self.rate, self.groups, self.steps, where, number)
        return Trajectories(where, np.ones_like(where), number)

    def plain(self, factors: FloatArray, half: FloatArray) -> FloatArray:
        """log LR from the factors; the array is used up."""
        from hockeystick.schemes.simulation.participation_kernels import cyclic_ratios

        losses = np.empty(factors.shape[0])
        factors *= self.rate
        cyclic_ratios(factors, self.rate, self.groups, losses)
        return losses

    def logarithmic(self, exponents: FloatArray, half: FloatArray) -> FloatArray:
        """log LR from the exponents."""
        from hockeystick.schemes.simulation.participation_kernels import cyclic_logs

        losses = np.empty(exponents.shape[0])
        log_miss = math.log1p(-self.rate) if self.rate < 1 else -math.inf
        cyclic_logs(exponents + math.log(self.rate), log_miss, self.groups, losses)
        return losses
