"""What an analysis declares about itself."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from hockeystick.guarantee import Analysis, Kind
from hockeystick.plan import Plan
from hockeystick.profile.resolution import BOTH, Direction
from hockeystick.schemes.capabilities import Missing

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

    It applies to a plan whose scheme offers what it `needs` (capabilities of schemes/base.py by
    name; one of several is enough) and which meets its `condition(plan)`: None, or one clause that
    says why not.
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
    needs: tuple[str, ...] = ()
    condition: Callable[[Plan], str | None] = lambda plan: None
    second_to: tuple[str, ...] = ()
    cost: Callable[[Plan], float] = lambda plan: 0.0
    by_draws: bool = False

    def objection(self, plan: Plan) -> str | None:
        """Why the method does not apply to the plan, in one clause; None if it does."""
        found = [getattr(plan.sampling, name)(plan) for name in self.needs]
        missing = [one for one in found if isinstance(one, Missing)]
        if missing and len(missing) == len(found):
            # The scheme may offer something in general and not for this plan: that says more.
            return next((one for one in missing if not one.always), missing[-1]).reason
        return self.condition(plan)

    def kind_for(self, plan: Plan) -> Kind:
        """The kind of the method's numbers for the plan."""
        return "conjectured" if self.by_draws and plan.sampling.conjectured else self.kind
