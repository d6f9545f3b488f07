"""What an analysis declares about itself."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from hockeystick.guarantee import Analysis, Kind
from hockeystick.plan import Plan
from hockeystick.profile.resolution import BOTH, Direction

__all__ = ["Method", "Request"]


class Request(NamedTuple):
    """What an analysis is about.

    The noise multiplier is None exactly if the plan brings its own mechanism. The budget is in
    elementary operations, for analyses that become tighter with more of them. The directions are
    those that will be asked about, for an analysis that computes beforehand.
    """

    plan: Plan
    noise_multiplier: float | None
    budget: float
    directions: tuple[Direction, ...] = BOTH


@dataclass(frozen=True)
class Method:
    """A named analysis.

    `objection(plan)` is None if the method applies, otherwise one clause that says why not.
    `second_to` names a method that is never worse on the plans to which it applies; "auto" asks
    only that one there. `cost(plan)` is what a single number takes at least, in the units of the
    budget; "auto" leaves out what is far above it. A method `by_draws` simulates the run: it has a
    number at one epsilon and no curve, and for a scheme whose amplification rests on a conjecture
    its numbers are conjectured as well.
    """

    name: str
    kind: Kind
    summary: str
    objection: Callable[[Plan], str | None]
    analyse: Callable[[Request], Analysis]
    second_to: str | None = None
    cost: Callable[[Plan], float] = lambda plan: 0.0
    by_draws: bool = False

    def kind_for(self, plan: Plan) -> Kind:
        """The kind of the method's numbers for the plan."""
        return "conjectured" if self.by_draws and plan.sampling.conjectured else self.kind
