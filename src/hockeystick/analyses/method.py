"""What an analysis declares about itself."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from hockeystick import _validate as check
from hockeystick.errors import InvalidParameter
from hockeystick.guarantee import KINDS, Analysis, Kind
from hockeystick.plan import ADJACENCIES, Plan
from hockeystick.profile.resolution import BOTH, Direction
from hockeystick.schemes.base import CAPABILITIES
from hockeystick.schemes.capabilities import Missing

__all__ = ["AUTO", "Method", "Request"]

AUTO = "auto"
"""What stands for the best proven method where a method is named."""


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
    its numbers are conjectured as well. `relations` are the neighbouring relations of plans that it
    takes.
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
    relations: tuple[str, ...] = ("add-remove",)

    def __post_init__(self) -> None:
        _text("name", self.name)
        if self.name == AUTO:
            raise InvalidParameter("name", f"other than {AUTO!r}", self.name)
        _text("summary", self.summary)
        check.choice("kind", self.kind, KINDS)
        for need in _names("needs", self.needs):
            check.choice("needs", need, sorted(CAPABILITIES))
        _names("second_to", self.second_to)
        for name in ("analyse", "condition", "cost"):
            if not callable(getattr(self, name)):
                raise InvalidParameter(name, "a function", getattr(self, name))
        check.boolean("by_draws", self.by_draws)
        for relation in _names("relations", self.relations):
            check.choice("relations", relation, ADJACENCIES)

    def run(self, request: Request) -> Analysis:
        """The analysis; `InvalidParameter` if it claims more than the method declares."""
        found: object = self.analyse(request)
        kind = self.kind_for(request.plan)
        weaker = KINDS[KINDS.index(kind) :]
        named = isinstance(found, Analysis) and found.method == self.name
        if not isinstance(found, Analysis) or not named or found.kind not in weaker:
            allowed = f"an Analysis of this name whose kind is {' or '.join(weaker)}"
            raise InvalidParameter(f"what {self.name} returns", allowed, found)
        return found

    def objection(self, plan: Plan) -> str | None:
        """Why the method does not apply to the plan, in one clause; None if it does."""
        if plan.adjacency not in self.relations:
            return f"it is for adjacency={' or '.join(self.relations)}"
        found = [getattr(plan.sampling, name)(plan) for name in self.needs]
        missing = [one for one in found if isinstance(one, Missing)]
        if missing and len(missing) == len(found):
            # The scheme may offer something in general and not for this plan: that says more.
            return next((one for one in missing if not one.always), missing[-1]).reason
        return self.condition(plan)

    def kind_for(self, plan: Plan) -> Kind:
        """The kind of the method's numbers for the plan."""
        return "conjectured" if self.by_draws and plan.sampling.conjectured else self.kind


def _text(name: str, value: Any) -> None:
    if not isinstance(value, str) or not value:
        raise InvalidParameter(name, "a text that is not empty", value)


def _names(name: str, value: Any) -> tuple[str, ...]:
    if not isinstance(value, tuple) or not all(isinstance(one, str) for one in value):
        raise InvalidParameter(name, "a tuple of names", value)
    return value
