"""The law of participation of one user under multi-attribution b-min-sep sampling.

Where every example has one user, others take part independently and one user alone stands for the
run (with shared examples it does not, contrary to [DongGanesh26, Theorem 6.1]). The number of
examples that is worst is not the largest in general: a user with fewer examples is drawn less often
and so is excluded less often. The recursion is that of [DongGanesh26, Algorithm 3] itself, with
states "eligible" and "excluded", where a draw while excluded starts the exclusion anew. A warm-up
leaves the time since the last draw geometric, cut at the length of the warm-up.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from hockeystick._numerics.law import FloatArray
from hockeystick.schemes.simulation.columns import Trajectories

__all__ = [
    "UserMinSepLaw",
    "binomial_weights",
    "copy_log_terms",
    "copy_terms",
    "log_or_minus_infinity",
    "user_min_sep_law",
]


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
