"""What an analysis declares about itself."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from hockeystick.guarantee import Analysis, Kind
from hockeystick.plan import Plan

__all__ = ["Method", "always", "never"]


def always(plan: Plan) -> bool:
    """It competes."""
    return True


def never(plan: Plan) -> bool:
    """It does not."""
    return False


@dataclass(frozen=True)
class Method:
    """A named analysis.

    `objection(plan)` is None if the method applies, otherwise one clause that says why not.
    `analyse(plan, noise_multiplier, budget)` prices the plan; the noise multiplier is None exactly
    if the plan brings its own mechanism, and the budget is in elementary operations, for analyses
    that become tighter with more of them. `competes(plan)` says whether "auto" asks the method: it
    does not if another one that applies to the plan is never worse.
    """

    name: str
    kind: Kind
    summary: str
    objection: Callable[[Plan], str | None]
    analyse: Callable[[Plan, float | None, float], Analysis]
    competes: Callable[[Plan], bool] = always
