"""Losses of b-min-sep sampling, cold and warm, and of Poisson sampling, which has no rest.

For bands up to the separation the recursion is exact (b_min_sep, Theorem 5.1 and its corollary for
the warm start); for more it bounds both directions, see participation.py. An example that stops
after a number of participations joins a subset of the steps that it would join otherwise, and so is
simulated as one that does not stop.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self, cast

import numpy as np

from hockeystick._numerics.law import FloatArray
from hockeystick.plan import Plan
from hockeystick.schemes import MinSep, Poisson
from hockeystick.schemes.simulation.columns import Trajectories, too_long
from hockeystick.schemes.simulation.registry import Runner, Simulation, simulates
from hockeystick.schemes.simulation.strategy_run import overlaps_remark, strategy_run

__all__ = ["min_sep", "resting_law"]


@dataclass(frozen=True, eq=False)
class RestingLaw:
    """Joins a step that it may join with the step's chance, then rests.

    `rate` and `priors` are the probabilities with which likelihood ratios are averaged, `chances`
    and `starts` those with which trajectories are drawn; they differ under a proposal.
    """

    rate: float
    priors: FloatArray
    chances: FloatArray
    starts: FloatArray

    @property
    def log_staying_out(self) -> float:
        """Of never joining a step while free all the time."""
        return self.chances.size * _log_miss(self.rate)

    def trajectories(self, draws: int, rng: np.random.Generator) -> Trajectories:
        """At most one participation in each window of the separation."""
        from hockeystick.schemes.simulation.trajectory_kernels import resting_trajectories

        room = -(-self.chances.size // self.starts.size)
        where = np.zeros((draws, room), dtype=np.int64)
        number = np.zeros(draws, dtype=np.int64)
        resting_trajectories(rng, self.chances, np.cumsum(self.starts), where, number)
        return Trajectories(where, np.ones_like(where), number)

    def plain(self, factors: FloatArray, half: FloatArray) -> FloatArray:
        """log LR from the factors."""
        from hockeystick.schemes.simulation.participation_kernels import resting_ratios

        losses = np.empty(factors.shape[0])
        resting_ratios(factors, self.rate, 1 - self.rate, self.priors, losses)
        return losses

    def logarithmic(self, exponents: FloatArray, half: FloatArray) -> FloatArray:
        """log LR from the exponents."""
        from hockeystick.schemes.simulation.participation_kernels import resting_logs

        losses = np.empty(exponents.shape[0])
        with np.errstate(divide="ignore"):
            log_priors = np.log(self.priors)
        resting_logs(exponents + math.log(self.rate), _log_miss(self.rate), log_priors, losses)
        return losses

    @cached_property
    def expected(self) -> FloatArray:
        """The probability of joining each step."""
        from hockeystick.schemes.simulation.participation_kernels import resting_occupation

        return self.rate * resting_occupation(self.rate, self.priors, self.chances.size)

    @property
    def expected_squares(self) -> FloatArray:
        """A single example joins once or not at all."""
        return self.expected

    def weighted(self, log_weights: FloatArray) -> tuple[Self, float]:
        """By a backward recursion, which gives every step a chance of its own."""
        from hockeystick.schemes.simulation.participation_kernels import resting_values

        terms = math.log(self.rate) + log_weights
        separation = self.priors.size
        values = resting_values(terms, _log_miss(self.rate), separation)
        chances = np.exp(terms + values[separation:] - values[: terms.size])
        with np.errstate(divide="ignore"):
            starts = np.log(self.priors) + values[:separation]
        log_z = float(np.logaddexp.reduce(starts))
        law = replace(self, chances=np.minimum(chances, 1.0), starts=np.exp(starts - log_z))
        return law, log_z


def _log_miss(rate: float) -> float:
    return math.log1p(-rate) if rate < 1 else -math.inf


def resting_law(plan: Plan) -> RestingLaw:
    """The law of an example under a plan's scheme."""
    scheme = plan.sampling
    separation = scheme.least_gap
    rate = cast("MinSep | Poisson", scheme).rate
    priors = np.zeros(separation)
    priors[0] = 1.0
    if getattr(scheme, "warm_start", False):
        priors[1:] = rate
        priors /= priors.sum()
    return RestingLaw(rate, priors, np.full(plan.steps, rate), priors)


@simulates(Poisson, objection=too_long, remark=overlaps_remark)
@simulates(MinSep, objection=too_long, remark=overlaps_remark)
def min_sep(run: Simulation) -> Runner:
    """log LR, O(steps * bands) for each draw and O(steps) for each noise level."""
    return strategy_run(run, resting_law(run.plan))
