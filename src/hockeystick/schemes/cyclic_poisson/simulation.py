"""Losses of cyclic Poisson sampling with a secret, uniform group."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import cast

import numpy as np

from hockeystick._numerics.law import FloatArray
from hockeystick.plan import Plan
from hockeystick.schemes import CyclicPoisson
from hockeystick.schemes.simulation.columns import Trajectories, too_long
from hockeystick.schemes.simulation.registry import Runner, Simulation, simulates
from hockeystick.schemes.simulation.strategy_run import overlaps_remark, strategy_run

__all__ = ["cyclic_poisson"]


@dataclass(frozen=True, eq=False)
class CyclicLaw:
    """A uniform group, and a coin with probability `rate` in each of its turns."""

    rate: float
    groups: int
    steps: int

    @property
    def log_staying_out(self) -> float:
        """Of losing every coin."""
        turns = -(-self.steps // self.groups)
        return turns * (math.log1p(-self.rate) if self.rate < 1 else -math.inf)

    @property
    def expected(self) -> FloatArray:
        """The same in every step."""
        return np.full(self.steps, self.rate / self.groups)

    @property
    def expected_squares(self) -> FloatArray:
        """A single example joins once or not at all."""
        return self.expected

    def weighted(self, log_weights: FloatArray) -> None:
        """Turns are not weighted."""

    def trajectories(self, draws: int, rng: np.random.Generator) -> Trajectories:
        """At most one participation for each turn."""
        from hockeystick.schemes.simulation.trajectory_kernels import cyclic_trajectories

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


def _objection(plan: Plan) -> str | None:
    if not cast("CyclicPoisson", plan.sampling).random_phase:
        return (
            "cyclic Poisson sampling is simulated with a random phase only; with public groups "
            "`profile` is exact"
        )
    return too_long(plan)


@simulates(CyclicPoisson, objection=_objection, remark=overlaps_remark)
def cyclic_poisson(run: Simulation) -> Runner:
    """log LR, O(steps * bands) for each draw and O(steps) for each noise level."""
    scheme = cast("CyclicPoisson", run.plan.sampling)
    return strategy_run(run, CyclicLaw(scheme.rate, scheme.groups, run.plan.steps))
