"""What a baseline declares about itself."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from hockeystick.bounds.bound import Bound
from hockeystick.plan import Plan

__all__ = ["Baseline", "correlated_noise"]


@dataclass(frozen=True)
class Baseline:
    """What a plan is compared with.

    `summary` says what the number is and what it is not. `objection(plan)` is None if there is one
    for the plan. `bound(plan, noise_multiplier)` gives its numbers; the noise multiplier is None
    exactly if the plan brings its own mechanism.
    """

    name: str
    summary: str
    objection: Callable[[Plan], str | None]
    bound: Callable[[Plan, float | None], Bound]


def correlated_noise(plan: Plan) -> str | None:
    """The objection of baselines that compose independent steps."""
    return "it is for independent noise" if plan.correlated else None
