"""Laws of participation under b-min-sep sampling, of an example and of a user.

An example, cold and warm, and under Poisson sampling: for bands up to the separation the recursion
for the likelihood ratio is exact ([DongGanesh26, Theorem 5.1] and its corollary for the warm
start); for more it bounds both directions, see participation_run.py. An example that stops after a
number of participations joins a subset of the steps that it would join otherwise, and so is bounded
by one that does not stop.

A user under multi-attribution sampling: where every example has one user, others take part
independently and one user alone stands for the run (with shared examples it does not, contrary to
[DongGanesh26, Theorem 6.1]). The number of examples that is worst is not the largest in general: a
user with fewer examples is drawn less often and so is excluded less often. The recursion is that of
[DongGanesh26, Algorithm 3] itself, with states "eligible" and "excluded", where a draw while
excluded starts the exclusion anew. A warm-up leaves the time since the last draw geometric, cut at
the length of the warm-up.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np

from hockeystick._numerics.law import FloatArray
from hockeystick.schemes.simulation.columns import Trajectories

__all__ = [
    "MinSepLaw",
    "UserMinSepLaw",
    "binomial_weights",
    "copy_log_terms",
    "copy_terms",
    "log_or_minus_infinity",
    "min_sep_law",
    "start_weights",
    "user_min_sep_law",
]


@dataclass(frozen=True, eq=False)
class MinSepLaw:
    """An eligible example joins with the step's probability, and is excluded afterwards.

    `rate` and `priors` are the probabilities with which likelihood ratios are averaged, `chances`
    and `starts` those with which trajectories are drawn; they differ under a proposal. `priors` and
    `starts` are about being eligible from step 0, 1, ..., separation - 1 on.
    """

    rate: float
    priors: FloatArray
    chances: FloatArray
    starts: FloatArray

    @property
    def log_staying_out(self) -> float:
        """Of never joining a step while eligible all the time."""
        return self.chances.size * _log_miss(self.rate)

    def trajectories(self, draws: int, rng: np.random.Generator) -> Trajectories:
        """At most one participation in each window of the separation."""
        from hockeystick.schemes.simulation.draw_kernels import min_sep_trajectories

        room = -(-self.chances.size // self.starts.size)
        where = np.zeros((draws, room), dtype=np.int64)
        number = np.zeros(draws, dtype=np.int64)
        min_sep_trajectories(rng, self.chances, np.cumsum(self.starts), where, number)
        return Trajectories(where, np.ones_like(where), number)

    def plain(self, factors: FloatArray, half: FloatArray) -> FloatArray:
        """log LR from the factors."""
        from hockeystick.schemes.simulation.participation_kernels import min_sep_ratios

        losses = np.empty(factors.shape[0])
        min_sep_ratios(factors, self.rate, 1 - self.rate, self.priors, losses)
        return losses

    def logarithmic(self, exponents: FloatArray, half: FloatArray) -> FloatArray:
        """log LR from the exponents."""
        from hockeystick.schemes.simulation.participation_kernels import min_sep_logs

        losses = np.empty(exponents.shape[0])
        with np.errstate(divide="ignore"):
            log_priors = np.log(self.priors)
        min_sep_logs(exponents + math.log(self.rate), _log_miss(self.rate), log_priors, losses)
        return losses

    @cached_property
    def expected(self) -> FloatArray:
        """The probability of joining each step."""
        from hockeystick.schemes.simulation.participation_kernels import min_sep_eligible

        return self.rate * min_sep_eligible(self.rate, self.priors, self.chances.size)

    @property
    def expected_squares(self) -> FloatArray:
        """A single example joins once or not at all."""
        return self.expected

    def weighted(self, log_weights: FloatArray) -> tuple[Self, float]:
        """By a backward recursion, which gives every step a probability of its own."""
        from hockeystick.schemes.simulation.participation_kernels import min_sep_values

        terms = math.log(self.rate) + log_weights
        separation = self.priors.size
        values = min_sep_values(terms, _log_miss(self.rate), separation)
        chances = np.exp(terms + values[separation:] - values[: terms.size])
        with np.errstate(divide="ignore"):
            starts = np.log(self.priors) + values[:separation]
        log_z = float(np.logaddexp.reduce(starts))
        law = replace(self, chances=np.minimum(chances, 1.0), starts=np.exp(starts - log_z))
        return law, log_z


def _log_miss(rate: float) -> float:
    return math.log1p(-rate) if rate < 1 else -math.inf


def min_sep_law(steps: int, *, rate: float, separation: int, warm_start: bool) -> MinSepLaw:
    """The law of an example; Poisson sampling has separation 1."""
    priors = start_weights(rate=rate, separation=separation, warm_start=warm_start)
    return MinSepLaw(rate, priors, np.full(steps, rate), priors)


def start_weights(*, rate: float, separation: int, warm_start: bool) -> FloatArray:
    """The probabilities of being eligible from step 0, 1, ..., separation - 1 on.

    A warm start has the stationary law: 1 for the first and `rate` for the others, normalised.
    """
    weights = np.zeros(separation)
    weights[0] = 1.0
    if warm_start:
        weights[1:] = rate
        weights /= weights.sum()
    return weights


@dataclass(frozen=True, eq=False)
class UserMinSepLaw:
    """`copies` are the probabilities of 0, 1, ... examples being drawn in a step.

    `ages` are those of the last draw before the first step: a + 1 steps before it in entry a, and
    long enough before it in the last entry.
    """

    copies: FloatArray
    ages: FloatArray
    steps: int

    @property
    def log_staying_out(self) -> float:
        """Of never being drawn."""
        return self.steps * log_or_minus_infinity(self.copies[0])

    @cached_property
    def expected(self) -> FloatArray:
        """Copies of an average draw, times the probability of being eligible."""
        return self._eligible * float(np.arange(self.copies.size) @ self.copies)

    @property
    def expected_squares(self) -> FloatArray:
        """Squared copies of an average draw, times the probability of being eligible."""
        return self._eligible * float(np.arange(self.copies.size) ** 2 @ self.copies)

    @property
    def _eligible(self) -> FloatArray:
        """No draw within the last separation - 1 steps, some of which lie before the start."""
        wait = self.ages.size - 1
        back = np.minimum(np.arange(self.steps), wait)
        # Of the draws before the start, those that are still recent in step i.
        earlier = np.append(1 - np.cumsum(self.ages[:wait])[::-1], 1.0) if wait else np.ones(1)
        eligible: FloatArray = self.copies[0] ** back * earlier[back]
        return eligible

    def weighted(self, log_weights: FloatArray) -> None:
        """Draws are not weighted."""

    def trajectories(self, draws: int, rng: np.random.Generator) -> Trajectories:
        """At most one participating step in each window of the separation."""
        from hockeystick.schemes.simulation.draw_kernels import user_trajectories

        room = -(-self.steps // self.ages.size)
        where = np.zeros((draws, room), dtype=np.int64)
        times, number = np.zeros_like(where), np.zeros(draws, dtype=np.int64)
        ages = np.cumsum(self.ages)
        user_trajectories(rng, self.copies, ages, self.steps, where, times, number)
        return Trajectories(where, times, number)

    def plain(self, factors: FloatArray, half: FloatArray) -> FloatArray:
        """log LR from the factors of a single example."""
        from hockeystick.schemes.simulation.participation_kernels import user_ratios

        terms = copy_terms(factors, self.copies, half)
        losses = np.empty(factors.shape[0])
        user_ratios(terms, self.copies[0], self.ages, losses)
        return losses

    def logarithmic(self, exponents: FloatArray, half: FloatArray) -> FloatArray:
        """log LR from the exponents of a single example."""
        from hockeystick.schemes.simulation.participation_kernels import user_logs

        terms = copy_log_terms(exponents, self.copies, half)
        losses = np.empty(exponents.shape[0])
        with np.errstate(divide="ignore"):
            log_ages = np.log(self.ages)
        log_none = log_or_minus_infinity(self.copies[0])
        user_logs(terms, log_none, math.log1p(-self.copies[0]), log_ages, losses)
        return losses


def user_min_sep_law(
    steps: int, *, held: int, rate: float, separation: int, warm_up: int
) -> UserMinSepLaw:
    """The law for a user with `held` examples."""
    copies = binomial_weights(held, rate)
    before = np.arange(separation - 1)
    ages = np.where(before < warm_up, (1 - copies[0]) * copies[0] ** before, 0.0)
    return UserMinSepLaw(copies, np.append(ages, 1 - ages.sum()), steps)


def binomial_weights(held: int, rate: float) -> FloatArray:
    """The probabilities of 0, 1, ..., `held` of a user's examples being drawn in a step."""
    return np.array(
        [math.comb(held, j) * rate**j * (1 - rate) ** (held - j) for j in range(held + 1)]
    )


def copy_terms(factors: FloatArray, copies: FloatArray, half: FloatArray) -> FloatArray:
    """The expected likelihood ratio of one or more copies in each step, times their probability.

    j copies have the likelihood ratio e^(j u - j^2 h), and the factors are e^(u - h).
    """
    terms = np.zeros_like(factors)
    power = np.ones_like(factors)
    for j in range(1, copies.size):
        power *= factors
        terms += power * (copies[j] * np.exp(-j * (j - 1) * half))
    return terms


def copy_log_terms(exponents: FloatArray, copies: FloatArray, half: FloatArray) -> FloatArray:
    """The logarithms of `copy_terms`, from u - h."""
    terms = np.full_like(exponents, -np.inf)
    for j in range(1, copies.size):
        each = log_or_minus_infinity(copies[j]) + j * exponents - j * (j - 1) * half
        np.logaddexp(terms, each, out=terms)
    return terms


def log_or_minus_infinity(value: float) -> float:
    """log, also of 0."""
    return math.log(value) if value > 0 else -math.inf
