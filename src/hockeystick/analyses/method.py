"""What an analysis declares about itself."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from hockeystick.guarantee import Analysis, Kind
from hockeystick.plan import Plan

__all__ = ["MONTE_CARLO", "Method", "Request"]

# The method that makes draws; it is put together in montecarlo/, which is loaded when it is used.
MONTE_CARLO = "monte-carlo"


class Request(NamedTuple):
    """What an analysis is asked to price.

    The noise multiplier is None exactly if the plan brings its own mechanism. The budget is in
    elementary operations, for analyses that become tighter with more of them.
    """

    plan: Plan
    noise_multiplier: float | None
    budget: float


@dataclass(frozen=True)
class Method:
    """A named analysis.

    `objection(plan)` is None if the method applies, otherwise one clause that says why not.
    `second_to` names a method that is never worse on the plans to which it applies; "auto" asks
    only that one there. `cost(plan)` is what a single number takes at least, in the units of the
    budget; "auto" leaves out what is far above it.
    """

    name: str
    kind: Kind
    summary: str
    objection: Callable[[Plan], str | None]
    analyse: Callable[[Request], Analysis]
    second_to: str | None = None
    cost: Callable[[Plan], float] = lambda plan: 0.0
