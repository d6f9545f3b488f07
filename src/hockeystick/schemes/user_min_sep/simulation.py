"""Losses of multi-attribution b-min-sep sampling, for one user with a number of examples.

Where every example has one user, others take part independently and one user alone stands for the
run (with shared examples it does not, contrary to b_min_sep, Theorem 6.1). The number of examples
that is worst is not the largest in general: a user with fewer examples is drawn less often and so
rests less. The recursion is that of
Algorithm 3 itself, with states "free" and "resting", where a draw while resting starts the rest
anew. A warm-up leaves the time since the last draw geometric, cut at the length of the warm-up.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import cast

import numpy as np

from hockeystick._numerics.law import FloatArray
from hockeystick.plan import Plan
from hockeystick.schemes import UserMinSep
from hockeystick.schemes.pairs.joint_draws import SHARED_EXAMPLES
from hockeystick.schemes.simulation.columns import Trajectories, too_long
from hockeystick.schemes.simulation.copies import (
    binomial_weights,
    copy_log_terms,
    copy_terms,
    log_or_minus_infinity,
)
from hockeystick.schemes.simulation.registry import Runner, Simulation, simulates
from hockeystick.schemes.simulation.strategy_run import overlaps_remark, strategy_run

__all__ = ["held_by_a_user", "not_alone", "user_law", "user_min_sep"]


@dataclass(frozen=True, eq=False)
class UserLaw:
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
        """Copies of an average draw, times the probability of being free."""
        return self._free * float(np.arange(self.copies.size) @ self.copies)

    @property
    def expected_squares(self) -> FloatArray:
        """Squared copies of an average draw, times the probability of being free."""
        return self._free * float(np.arange(self.copies.size) ** 2 @ self.copies)

    @property
    def _free(self) -> FloatArray:
        """No draw within the last separation - 1 steps, some of which lie before the start."""
        rest = self.ages.size - 1
        back = np.minimum(np.arange(self.steps), rest)
        # Of the draws before the start, those that are still recent in step i.
        earlier = np.append(1 - np.cumsum(self.ages[:rest])[::-1], 1.0) if rest else np.ones(1)
        free: FloatArray = self.copies[0] ** back * earlier[back]
        return free

    def weighted(self, log_weights: FloatArray) -> None:
        """Draws are not weighted."""

    def trajectories(self, draws: int, rng: np.random.Generator) -> Trajectories:
        """At most one participating step in each window of the separation."""
        from hockeystick.schemes.simulation.trajectory_kernels import user_trajectories

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


def user_law(plan: Plan, held: int) -> UserLaw:
    """The law for a user with `held` examples."""
    scheme = cast("UserMinSep", plan.sampling)
    copies = binomial_weights(held, scheme.rate)
    rest = scheme.separation - 1
    before = np.arange(rest)
    ages = np.where(before < scheme.warm_up, (1 - copies[0]) * copies[0] ** before, 0.0)
    return UserLaw(copies, np.append(ages, 1 - ages.sum()), plan.steps)


def not_alone(plan: Plan) -> str | None:
    """Why drawing one user does not stand for the run, as a clause; None if it does."""
    if not plan.sampling.others_are_independent:
        return SHARED_EXAMPLES
    return too_long(plan)


def held_by_a_user(plan: Plan) -> range:
    """Every number of examples that a user may have; without rests the largest is the worst."""
    scheme = cast("UserMinSep", plan.sampling)
    most = scheme.examples_per_user
    return range(most if scheme.separation == 1 else 1, most + 1)


@simulates(UserMinSep, objection=not_alone, held=held_by_a_user, remark=overlaps_remark)
def user_min_sep(run: Simulation) -> Runner:
    """log LR, O(steps * (bands + separation + examples)) for each draw and noise level."""
    return strategy_run(run, user_law(run.plan, run.held))
