"""The law of participation under b-min-sep sampling, cold and warm, and under Poisson sampling.

For bands up to the separation the recursion for the likelihood ratio is exact ([DongGanesh26,
Theorem 5.1] and its corollary for the warm start); for more it bounds both directions, see
simulation/participation_run.py. An example that stops after a number of participations joins a
subset of the steps that it would join otherwise, and so is bounded by one that does not stop.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np

from hockeystick._numerics.law import FloatArray
from hockeystick.schemes.simulation.columns import Trajectories

__all__ = ["MinSepLaw", "min_sep_law", "start_weights"]


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
