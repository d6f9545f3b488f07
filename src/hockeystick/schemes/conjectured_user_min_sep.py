"""User-level b-min-sep sampling with participation-based exclusion.

For a user alone the printed recursion of [DongGanesh26] is exact: draws while excluded have no
effect. Numbers are labelled as the paper's Conjecture 6.2 has them, conjectured; with shared
examples the conjecture is false, and nothing is drawn.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from hockeystick._numerics.law import FloatArray
from hockeystick.randomness import generator
from hockeystick.schemes.batches import Indices, independent_subset
from hockeystick.schemes.capabilities import Missing, Participant, Run, Simulator
from hockeystick.schemes.min_sep import MinSep
from hockeystick.schemes.pairs import SHARED_EXAMPLES
from hockeystick.schemes.simulation.columns import Trajectories
from hockeystick.schemes.simulation.participation_laws import (
    binomial_weights,
    copy_log_terms,
    copy_terms,
    log_or_minus_infinity,
)
from hockeystick.schemes.user_min_sep.attribution import Attribution
from hockeystick.schemes.user_min_sep.sampler import UserSampling, user_walk

__all__ = ["ConjecturedLaw", "ConjecturedUserMinSep", "conjectured_law"]


# Of the simulation of batch sizes: the same answer at every call.
SEED = 0
# Examples that it draws: a relative standard error of about a third of a percent.
DRAWS = 100_000
# Rounds that it takes at most, for batches so small that they have fewer draws than that.
MOST_ROUNDS = 4_000
# Relative accuracy of the rate, below the error of the simulation.
ACCURACY = 1e-3


@dataclass(frozen=True, kw_only=True)
class ConjecturedUserMinSep(UserSampling):
    """Every example is drawn with probability `rate`; users are excluded after every batch joined.

    [DongGanesh26, Algorithm 4]: a drawn example joins the batch unless an example of one of its
    users *joined* one of the last `separation` - 1 batches. Otherwise as `UserMinSep`, with larger
    batches at the same rate. That its privacy is that of a user alone is a conjecture
    [DongGanesh26, Conjecture 6.2], and guarantees about it are labelled so. For examples that
    several users share it is false, as for `UserMinSep`, and no such guarantee is given.

    Where no two examples share a user this is `MinSep` with a cold start.

    Parameters
    ----------
    rate
        Probability that an example is drawn in a step.
    separation
        Least distance of two participations of a user.
    examples_per_user
        Most examples that a user has.
    warm_up
        Rounds drawn and discarded before the run.
    max_participations
        A user stops after that many steps. None, the default, for no limit.
    shared_examples
        Examples may belong to several users. No guarantee is given then.

    Examples
    --------
    >>> import hockeystick as hs
    >>> scheme = hs.ConjecturedUserMinSep(rate=0.1, separation=4, examples_per_user=2)
    >>> hs.methods(hs.Plan(sampling=scheme, steps=100))["monte-carlo"]
    'conjectured'
    """

    name: ClassVar[str] = "conjectured-user-min-sep"
    draws_exclude: ClassVar[bool] = False
    conjectured: ClassVar[bool] = True

    @classmethod
    def _rate_for(cls, batch_size: float, attribution: Attribution, separation: int) -> float:
        """In closed form where no two examples share a user, else by bisection on a simulation.

        More than examples / separation is refused: at rate 1 that is what batches have.
        """
        alone = MinSep.for_batch_size(
            batch_size, examples=attribution.examples, separation=separation
        )
        if not attribution.shares_users:
            return alone.rate
        return _simulated_rate(attribution, batch_size=batch_size, separation=separation)

    def expected_batch_size(self, examples: int | Attribution) -> float:
        """In the long run; exact where no two examples share a user.

        Otherwise the mean of a simulation with a fixed seed, whose standard error is about a third
        of a percent, and more for batches of less than 25. Early batches are larger without a
        warm-up; with `max_participations` batches shrink once users have stopped.
        """
        attribution = self.check_attribution(examples)
        if attribution.shares_users:
            return _simulated_size(attribution, rate=self.rate, separation=self.separation)
        alone = MinSep(rate=self.rate, separation=self.separation)
        return alone.expected_batch_size(attribution.examples)

    def participants(self, run: Run) -> Iterator[Participant] | Missing:
        """A user alone."""
        if not self.others_are_independent:
            return Missing(
                "users that share examples may join steps that they would not join alone"
            )
        return (self._participant(held, run.steps) for held in self.numbers_held)

    def _participant(self, held: int, steps: int) -> Participant:
        law = self._law(held, steps)
        copies, starts = tuple(law.copies.tolist()), tuple(law.starts.tolist())
        return Participant(copies, self.separation, steps, self.warm_up, starts)

    def _law(self, held: int, steps: int) -> ConjecturedLaw:

        waiting = {"separation": self.separation, "warm_up": self.warm_up}
        return conjectured_law(steps, held=held, rate=self.rate, **waiting)

    def simulation(self, run: Run) -> Simulator | Missing:
        """One user alone, with every number of examples."""
        from hockeystick.schemes.simulation.participation_run import simulator

        if not self.others_are_independent:
            return Missing(SHARED_EXAMPLES)
        return simulator(
            run,
            lambda held: self._law(held, run.steps),
            gap=self.separation,
            held=self.numbers_held,
        )


def _simulated_size(
    attribution: Attribution, *, rate: float, separation: int, ceiling: float | None = None
) -> float:
    """The mean batch size in the long run, with a fixed seed.

    Draws are made at the rate `ceiling` and thinned, so that rates under one ceiling share them.
    """
    ceiling = rate if ceiling is None else ceiling
    wanted = min(DRAWS / (ceiling * attribution.examples), MOST_ROUNDS)
    rounds = separation * math.ceil(wanted / separation)  # whole periods
    warm_up = 2 * separation
    draws = _thinned_draws(
        attribution.examples, rounds=warm_up + rounds, ceiling=ceiling, share=rate / ceiling
    )
    batches = user_walk(
        attribution, draws, separation=separation, draws_exclude=False, warm_up=warm_up
    )
    return sum(batch.size for batch in batches) / rounds


def _simulated_rate(attribution: Attribution, *, batch_size: float, separation: int) -> float:
    """A rate with this simulated batch size, which must be at most examples / separation.

    The rate is doubled until the batch is large enough, then bisected with common random numbers.
    """
    upper = batch_size / attribution.examples
    while upper < 1 and _falls_short(attribution, upper, upper, batch_size, separation):
        upper = min(2 * upper, 1.0)
    lower = max(batch_size / attribution.examples, upper / 2)
    ceiling = upper
    while upper > lower * (1 + ACCURACY):
        middle = math.sqrt(lower * upper)
        if _falls_short(attribution, middle, ceiling, batch_size, separation):
            lower = middle
        else:
            upper = middle
    return upper


def _falls_short(
    attribution: Attribution, rate: float, ceiling: float, batch_size: float, separation: int
) -> bool:
    size = _simulated_size(attribution, rate=rate, separation=separation, ceiling=ceiling)
    return size < batch_size


def _thinned_draws(
    examples: int, *, rounds: int, ceiling: float, share: float
) -> Iterator[Indices]:
    """Draws at the rate ceiling * share, whose random numbers depend on the ceiling alone."""
    rng = generator(SEED)
    for _ in range(rounds):
        drawn = independent_subset(examples, rate=ceiling, rng=rng)
        yield drawn[rng.random(drawn.size) < share]


@dataclass(frozen=True, eq=False)
class ConjecturedLaw:
    """`copies` are the probabilities of 0, 1, ... examples being drawn in a step.

    `starts` are the probabilities of being eligible from step 0, 1, ..., separation - 1 on.
    """

    copies: FloatArray
    starts: FloatArray
    steps: int

    @property
    def log_staying_out(self) -> float:
        """Of never being drawn."""
        return self.steps * log_or_minus_infinity(self.copies[0])

    @property
    def expected(self) -> FloatArray:
        """Copies of an average draw, times the probability of being eligible."""
        return self._eligible * float(np.arange(self.copies.size) @ self.copies)

    @property
    def expected_squares(self) -> FloatArray:
        """Squared copies of an average draw, times the probability of being eligible."""
        return self._eligible * float(np.arange(self.copies.size) ** 2 @ self.copies)

    @cached_property
    def _eligible(self) -> FloatArray:
        from hockeystick.schemes.simulation.participation_kernels import min_sep_eligible

        return min_sep_eligible(1 - self.copies[0], self.starts, self.steps)

    def weighted(self, log_weights: FloatArray) -> None:
        """Draws are not weighted."""

    def trajectories(self, draws: int, rng: np.random.Generator) -> Trajectories:
        """At most one participating step in each window of the separation."""
        from hockeystick.schemes.simulation.draw_kernels import min_sep_trajectories

        room = -(-self.steps // self.starts.size)
        where = np.zeros((draws, room), dtype=np.int64)
        number = np.zeros(draws, dtype=np.int64)
        chances = np.full(self.steps, 1 - self.copies[0])
        min_sep_trajectories(rng, chances, np.cumsum(self.starts), where, number)
        some = np.cumsum(self.copies[1:])
        times = 1 + np.searchsorted(some, rng.random(where.shape) * some[-1], side="right")
        return Trajectories(where, np.minimum(times, some.size), number)

    def plain(self, factors: FloatArray, half: FloatArray) -> FloatArray:
        """log LR from the factors of a single example."""
        from hockeystick.schemes.simulation.participation_kernels import min_sep_ratios

        losses = np.empty(factors.shape[0])
        terms = copy_terms(factors, self.copies, half)
        min_sep_ratios(terms, 1.0, self.copies[0], self.starts, losses)
        return losses

    def logarithmic(self, exponents: FloatArray, half: FloatArray) -> FloatArray:
        """log LR from the exponents of a single example."""
        from hockeystick.schemes.simulation.participation_kernels import min_sep_logs

        losses = np.empty(exponents.shape[0])
        terms = copy_log_terms(exponents, self.copies, half)
        with np.errstate(divide="ignore"):
            log_starts = np.log(self.starts)
        min_sep_logs(terms, log_or_minus_infinity(self.copies[0]), log_starts, losses)
        return losses


def conjectured_law(
    steps: int, *, held: int, rate: float, separation: int, warm_up: int
) -> ConjecturedLaw:
    """The law for a user with `held` examples."""
    copies = binomial_weights(held, rate)
    return ConjecturedLaw(copies, _starts(1 - copies[0], separation, warm_up), steps)


def _starts(chance: float, separation: int, warm_up: int) -> FloatArray:
    """From when on a user is eligible after a warm-up, by the renewal equation."""
    eligible = np.zeros(warm_up + 1)
    eligible[0] = 1.0
    for t in range(warm_up):
        back = eligible[t + 1 - separation] if t + 1 >= separation else 0.0
        eligible[t + 1] = (1 - chance) * eligible[t] + chance * back
    starts = np.zeros(separation)
    starts[0] = eligible[warm_up]
    for later in range(1, separation):
        joined = warm_up - separation + later
        starts[later] = chance * eligible[joined] if joined >= 0 else 0.0
    return starts
