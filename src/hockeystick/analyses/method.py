"""What an analysis declares about itself."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from hockeystick.guarantee import Analysis, Kind
from hockeystick.plan import Plan
from hockeystick.profile.resolution import BOTH, Direction
from hockeystick.schemes.capabilities import reason_of

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

    It applies to a plan whose scheme offers what it `needs` (the name of a capability in
    schemes/base.py) and to which it has no further `condition`: one clause that says why not, or
    None.
    `second_to` names methods that are never worse on the plans to which they apply; "auto" asks
    only those there. `cost(plan)` is what a single number takes at least, in the units of the
    budget; "auto" leaves out what is far above it. A method `by_draws` simulates the run: it has a
    number at one epsilon and no curve, and for a scheme whose amplification rests on a conjecture
    its numbers are conjectured as well.
    """

    name: str
    kind: Kind
    summary: str
    analyse: Callable[[Request], Analysis]
    needs: str | None = None
    condition: Callable[[Plan], str | None] = lambda plan: None
    second_to: tuple[str, ...] = ()
    cost: Callable[[Plan], float] = lambda plan: 0.0
    by_draws: bool = False

    def objection(self, plan: Plan) -> str | None:
        """Why the method does not apply to the plan, in one clause; None if it does."""
        if self.needs is not None:
            reason = reason_of(getattr(plan.sampling, self.needs)(plan))
            if reason is not None:
                return reason
        return self.condition(plan)

    def kind_for(self, plan: Plan) -> Kind:
        """The kind of the method's numbers for the plan."""
        return "conjectured" if self.by_draws and plan.sampling.conjectured else self.kind
