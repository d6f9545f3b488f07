"""Losses of participation-based multi-attribution sampling, for one user alone.

For a user alone b_min_sep's printed recursion is exact: draws while resting have no effect. Numbers
are labelled as the paper's Conjecture 6.2 has them, conjectured; with shared examples the
conjecture is false, and nothing is drawn.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import cast

import numpy as np

from hockeystick._numerics.law import FloatArray
from hockeystick.plan import Plan
from hockeystick.schemes import ConjecturedUserMinSep
from hockeystick.schemes.simulation.columns import Trajectories
from hockeystick.schemes.simulation.copies import (
    binomial_weights,
    copy_log_terms,
    copy_terms,
    log_or_minus_infinity,
)
from hockeystick.schemes.simulation.registry import Runner, Simulation, simulates
from hockeystick.schemes.simulation.strategy_run import overlaps_remark, strategy_run
from hockeystick.schemes.user_min_sep.simulation import held_by_a_user, not_alone

__all__ = ["conjectured_user_min_sep", "resting_user_law"]


@dataclass(frozen=True, eq=False)
class RestingUserLaw:
    """`copies` are the probabilities of 0, 1, ... examples being drawn in a step.

    `starts` are the probabilities of being free from step 0, 1, ..., separation - 1 on.
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
        """Copies of an average draw, times the probability of being free."""
        return self._free * float(np.arange(self.copies.size) @ self.copies)

    @property
    def expected_squares(self) -> FloatArray:
        """Squared copies of an average draw, times the probability of being free."""
        return self._free * float(np.arange(self.copies.size) ** 2 @ self.copies)

    @cached_property
    def _free(self) -> FloatArray:
        from hockeystick.schemes.simulation.participation_kernels import resting_occupation

        return resting_occupation(1 - self.copies[0], self.starts, self.steps)

    def weighted(self, log_weights: FloatArray) -> None:
        """Draws are not weighted."""

    def trajectories(self, draws: int, rng: np.random.Generator) -> Trajectories:
        """At most one participating step in each window of the separation."""
        from hockeystick.schemes.simulation.trajectory_kernels import resting_trajectories

        room = -(-self.steps // self.starts.size)
        where = np.zeros((draws, room), dtype=np.int64)
        number = np.zeros(draws, dtype=np.int64)
        chances = np.full(self.steps, 1 - self.copies[0])
        resting_trajectories(rng, chances, np.cumsum(self.starts), where, number)
        some = np.cumsum(self.copies[1:])
        times = 1 + np.searchsorted(some, rng.random(where.shape) * some[-1], side="right")
        return Trajectories(where, np.minimum(times, some.size), number)

    def plain(self, factors: FloatArray, half: FloatArray) -> FloatArray:
        """log LR from the factors of a single example."""
        from hockeystick.schemes.simulation.participation_kernels import resting_ratios

        losses = np.empty(factors.shape[0])
        terms = copy_terms(factors, self.copies, half)
        resting_ratios(terms, 1.0, self.copies[0], self.starts, losses)
        return losses

    def logarithmic(self, exponents: FloatArray, half: FloatArray) -> FloatArray:
        """log LR from the exponents of a single example."""
        from hockeystick.schemes.simulation.participation_kernels import resting_logs

        losses = np.empty(exponents.shape[0])
        terms = copy_log_terms(exponents, self.copies, half)
        with np.errstate(divide="ignore"):
            log_starts = np.log(self.starts)
        resting_logs(terms, log_or_minus_infinity(self.copies[0]), log_starts, losses)
        return losses


def resting_user_law(plan: Plan, held: int) -> RestingUserLaw:
    """The law for a user with `held` examples."""
    scheme = cast("ConjecturedUserMinSep", plan.sampling)
    copies = binomial_weights(held, scheme.rate)
    starts = _starts(1 - copies[0], scheme.separation, scheme.warm_up)
    return RestingUserLaw(copies, starts, plan.steps)


def _starts(chance: float, separation: int, warm_up: int) -> FloatArray:
    """From when on a user is free after a warm-up, by the renewal equation."""
    free = np.zeros(warm_up + 1)
    free[0] = 1.0
    for t in range(warm_up):
        back = free[t + 1 - separation] if t + 1 >= separation else 0.0
        free[t + 1] = (1 - chance) * free[t] + chance * back
    starts = np.zeros(separation)
    starts[0] = free[warm_up]
    for later in range(1, separation):
        joined = warm_up - separation + later
        starts[later] = chance * free[joined] if joined >= 0 else 0.0
    return starts


@simulates(ConjecturedUserMinSep, objection=not_alone, held=held_by_a_user, remark=overlaps_remark)
def conjectured_user_min_sep(run: Simulation) -> Runner:
    """log LR, O(steps * (bands + examples)) for each draw and noise level."""
    return strategy_run(run, resting_user_law(run.plan, run.held))
