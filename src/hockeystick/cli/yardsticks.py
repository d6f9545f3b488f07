"""Baselines of a plan, priced for the same question."""

from __future__ import annotations

import time
from dataclasses import dataclass

from hockeystick.accounting.baselines import BASELINES, Baseline
from hockeystick.guarantee import directions_for
from hockeystick.plan import Plan
from hockeystick.report.progress import Update

__all__ = ["Yardstick", "Yardsticks"]


@dataclass(frozen=True)
class Yardstick:
    """What one baseline says."""

    name: str
    summary: str
    value: float
    seconds: float


@dataclass(frozen=True)
class Yardsticks:
    """The baselines to price: at a delta or at an epsilon, whichever is given."""

    noise_multiplier: float
    accuracy: float
    direction: str
    epsilon: float | None = None
    delta: float | None = None

    def of(self, plan: Plan, update: Update) -> list[Yardstick]:
        """Every baseline that there is for the plan."""
        found = []
        for baseline in BASELINES.values():
            if baseline.objection(plan) is None:
                update(f"Asking the baseline {baseline.name} ...")
                start = time.perf_counter()
                value = self._value(baseline, plan)
                seconds = time.perf_counter() - start
                found.append(Yardstick(baseline.name, baseline.summary, value, seconds))
        return found

    def _value(self, baseline: Baseline, plan: Plan) -> float:
        bound = baseline.bound(plan, self.noise_multiplier)
        directions = directions_for(self.direction)
        if self.delta is not None:
            found = bound.epsilon(self.delta, directions=directions, accuracy=self.accuracy)
        else:
            assert self.epsilon is not None
            found = bound.delta(self.epsilon, directions=directions, accuracy=self.accuracy)
        return found.value
