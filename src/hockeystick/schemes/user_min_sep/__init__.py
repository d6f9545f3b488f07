"""b-min-sep sampling for data that belongs to several users at once."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from hockeystick._numerics.search import bracket, minimize_on_interval
from hockeystick._validate import positive_integer
from hockeystick.errors import InvalidParameter
from hockeystick.schemes.capabilities import (
    Candidate,
    DominatingPair,
    Missing,
    PairBuilder,
    Participant,
    Run,
    Simulator,
    SparseSharing,
    Step,
)
from hockeystick.schemes.pairs import (
    SHARED_EXAMPLES,
    needs_gaussian,
    needs_independent_noise,
    several_sampled,
)
from hockeystick.schemes.user_min_sep.attribution import Attribution
from hockeystick.schemes.user_min_sep.sampler import UserSampling
from hockeystick.strategies import band_mf

__all__ = ["UserMinSep"]


# What `compare` tries; users that are excluded longer leave little amplification.
BANDS = (2, 4, 8, 16)

# Rates that are tried between the lowest possible and one, before the best is refined.
SCAN = 512


@dataclass(frozen=True, kw_only=True)
class UserMinSep(UserSampling):
    """Every example is drawn with probability `rate`; users are excluded after each draw of theirs.

    [DongGanesh26, Algorithm 3]: a drawn example joins the batch unless an example of one of its
    users was *drawn* in the last `separation` - 1 steps, whether or not that one joined.

    A single example that is one user's only one is *not* sampled as by `MinSep`: there, draws while
    excluded have no effect.

    Parameters
    ----------
    rate
        Probability that an example is drawn in a step.
    separation
        Least distance of two participations of a user.
    examples_per_user
        Most examples that a user has.
    warm_up
        Rounds drawn and discarded before the run. With `separation` - 1 of them every batch has the
        long-run law, and more change nothing.
    max_participations
        A user stops after that many steps. None, the default, for no limit.
    shared_examples
        Examples may belong to several users. Amplification then depends on `neighbours`.
    neighbours
        Most examples of others that share a user with an example of one user; graphs with more are
        refused. None, the default, for no limit: with shared examples nothing is amplified then.
        `for_batch_size` takes it from the graph.

    Examples
    --------
    >>> import hockeystick as hs
    >>> users = hs.Attribution.from_users(["ada", "ada", "bob"])
    >>> scheme = hs.UserMinSep(rate=0.5, separation=2, examples_per_user=2)
    >>> [batch.tolist() for batch in scheme.batches(examples=users, steps=3, rng=2)]
    [[], [1, 2], []]
    """

    name: ClassVar[str] = "user-min-sep"
    draws_exclude: ClassVar[bool] = True
    neighbours: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.neighbours is not None:
            most = positive_integer("neighbours", self.neighbours)
            object.__setattr__(self, "neighbours", most)
            if not self.shared_examples:
                raise InvalidParameter("neighbours", "None unless shared_examples", most)

    @classmethod
    def _rate_for(cls, batch_size: float, attribution: Attribution, separation: int) -> float:
        """The smallest: beyond some rate draws exclude more than they add."""
        size = _LongRunSize(attribution, separation)
        lowest = min(batch_size / attribution.examples, size.rising_until)
        return _smallest_rate(size, batch_size, lowest=lowest)

    @classmethod
    def user_candidates(
        cls, *, batch_size: float, attribution: Attribution, steps: int
    ) -> Iterator[Candidate]:
        """Independent noise without exclusion; correlated noise with as many steps as bands."""
        sampling = cls.for_batch_size(batch_size, examples=attribution, separation=1)
        yield Candidate(sampling, seconds=2.0, baseline=True)
        for bands in BANDS:
            try:
                sampling = cls.for_batch_size(batch_size, examples=attribution, separation=bands)
            except InvalidParameter:
                return  # users that are excluded for so long leave no batch of this size
            if bands <= steps:
                yield Candidate(sampling, band_mf, {"bands": bands}, seconds=6.0)

    def expected_batch_size(self, examples: int | Attribution) -> float:
        """The sum of rate * (1 - rate)^((separation - 1) |N(e)|) over the examples e.

        N(e) are the examples that share a user with e, which is one of them. This is exact from
        step `separation` on, and from the first after as many rounds of warm-up; earlier batches
        are larger. With `max_participations` batches shrink once users have stopped.
        """
        return _LongRunSize(self.check_attribution(examples), self.separation)(self.rate)

    def dominating_pair(self, run: Run) -> PairBuilder | Missing:
        """Without exclusion: in every step a binomial number of examples, composed over the steps.

        A user with fewer examples draws fewer in every step, so one with all of them is the worst;
        a user that stops after `max_participations` joins fewer steps, and the pair is only a
        bound.
        """
        if self.separation > 1:
            return Missing(f"no dominating pair is known for {self.name} unless separation is 1")
        if not self.others_are_independent:
            return Missing(SHARED_EXAMPLES)
        reason = needs_gaussian(run)
        if reason is not None:
            return Missing(reason)

        def pair(step: Step) -> DominatingPair:
            one = several_sampled(step(1.0), rate=self.rate, copies=self.most_copies)
            stops = self.most_participations(run.steps) < run.steps
            return DominatingPair(one.self_compose(run.steps), tight=not stops)

        return needs_independent_noise(run, self.name) or pair

    def participants(self, run: Run) -> Iterator[Participant]:
        """A user alone, who joins whatever the same draws let it join beside others."""
        for held in self.numbers_held:
            yield self._participant(held, run.steps)

    def _participant(self, held: int, steps: int) -> Participant:
        """With so many examples."""
        from hockeystick.schemes.simulation.participation_laws import binomial_weights

        copies = tuple(binomial_weights(held, self.rate).tolist())
        return Participant(copies, self.separation, steps, self.warm_up)

    def with_neighbours(self, attribution: Attribution) -> UserMinSep:
        """With the number of neighbours of the graph, where it matters."""
        if self.others_are_independent:
            return self
        return replace(self, neighbours=max(attribution.most_neighbours, 1))

    def check_attribution(self, examples: int | Attribution) -> Attribution:
        """The graph; `InvalidParameter` if it has more than is accounted for."""
        attribution = super().check_attribution(examples)
        if self.neighbours is not None and attribution.most_neighbours > self.neighbours:
            allowed = f"a graph with at most neighbours={self.neighbours} for each user"
            raise InvalidParameter("examples", allowed, attribution.most_neighbours)
        return attribution

    def sparse_sharing(self, run: Run) -> SparseSharing | Missing:
        """A draw shows if a neighbour is drawn in the next separation - 1 steps.

        That has probability 1 - (1 - rate)^((separation - 1) neighbours) whatever was drawn before,
        and one participation follows another after `separation` steps (mathematics.md, "What few
        neighbours can reveal").
        """
        if self.others_are_independent:
            return Missing("every example has one user, or draws have no effect on later steps")
        if self.max_participations is not None:
            return Missing("with max_participations others reveal who has stopped")
        if self.neighbours is None:
            return Missing("shared examples need `neighbours`, the most that a user has")
        user = self._participant(self.examples_per_user, run.steps)
        seen = -math.expm1((self.separation - 1) * self.neighbours * _log_miss(self.rate))
        some = [seen * chance for chance in user.copy_probabilities[1:]]
        revealed = Participant(
            (1 - math.fsum(some), *some),
            self.separation,
            run.steps,
            starts=(1.0, *[0.0] * (self.separation - 1)),
        )
        return SparseSharing(replace(self, shared_examples=False, neighbours=None), revealed)

    def simulation(self, run: Run) -> Simulator | Missing:
        """One user alone, with every number of examples."""
        from hockeystick.schemes.simulation.participation_laws import (
            UserMinSepLaw,
            user_min_sep_law,
        )
        from hockeystick.schemes.simulation.participation_run import simulator
        from hockeystick.schemes.simulation.replicas import ReplicaSource

        def law(held: int) -> UserMinSepLaw:
            waiting = {"separation": self.separation, "warm_up": self.warm_up}
            return user_min_sep_law(run.steps, held=held, rate=self.rate, **waiting)

        if not self.others_are_independent:
            return Missing(SHARED_EXAMPLES)
        return simulator(
            run,
            law,
            gap=self.separation,
            held=self.numbers_held,
            tuples=lambda held: ReplicaSource(run.strategy, self._participant(held, run.steps)),
        )


def _log_miss(rate: float) -> float:
    return math.log1p(-rate) if rate < 1 else -math.inf


class _LongRunSize:
    """The expected batch size as a function of the rate.

    An example joins if it is drawn and no neighbour was in the last `separation` - 1 steps; the
    draws are independent.
    """

    def __init__(self, attribution: Attribution, separation: int) -> None:
        sizes, self._counts = np.unique(attribution.neighbourhood_sizes, return_counts=True)
        self._draws = (separation - 1) * sizes
        self.rising_until = 1 / (1 + float(self._draws[-1]))

    def __call__(self, rate: float) -> float:
        return rate * float(self._counts @ (1 - rate) ** self._draws)


def _smallest_rate(size: Callable[[float], float], wanted: float, *, lowest: float) -> float:
    """The least rate with size(rate) = wanted; the size rises with the rate before it falls.

    It rises up to `lowest`, where it is not beyond the wanted one. If no rate gives that, then
    `InvalidParameter` names the largest size.
    """
    if size(lowest) >= wanted:
        return lowest
    rates = np.geomspace(lowest, 1, SCAN)
    sizes = np.array([size(float(rate)) for rate in rates])
    best = int(sizes.argmax())
    around = rates[max(best - 1, 0)], rates[min(best + 1, SCAN - 1)]
    peak = _peak(size, *(float(rate) for rate in around))
    if not size(peak) >= wanted:
        most = f"{size(peak):.6g}"
        allowed = f"in (0, {most}], the most that any rate gives (a smaller separation gives more)"
        raise InvalidParameter("batch_size", allowed, wanted, page="docs/users.md#separation")
    upper = min([peak, *(float(rate) for rate in rates[sizes >= wanted])])
    lower = float(rates[rates < upper].max())
    return bracket(lambda rate: size(rate) >= wanted, lower, upper, tolerance=1e-15)[1]


def _peak(size: Callable[[float], float], lower: float, upper: float) -> float:
    """The rate of the largest size between two rates."""
    low, high = math.log(lower), math.log(upper)
    inside = math.exp(minimize_on_interval(lambda log: -size(math.exp(log)), low, high))
    return max(lower, min(inside, upper), upper, key=size)
