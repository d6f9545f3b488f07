"""Asking for numbers: `account` and `methods`."""

from __future__ import annotations

from typing import Any

from hockeystick import _validate as check
from hockeystick.analyses import DEFAULT_BUDGET, METHODS, Method, Request
from hockeystick.analyses.refusals import refusal
from hockeystick.errors import InvalidParameter, UnsupportedPlan
from hockeystick.guarantee import KINDS, Analysis, Guarantee, Kind, directions_for
from hockeystick.plan import Plan
from hockeystick.profile import DEFAULT_ACCURACY

__all__ = ["DEFAULT_BUDGET", "account", "methods"]

# "auto" asks methods that cost at most this many budgets.
AFFORDABLE = 20.0


def methods(plan: Plan) -> dict[str, Kind]:
    """The analyses that apply to the plan, by name, each with its kind."""
    _check_plan(plan)
    if refusal(plan, None) is not None:
        return {}
    return {name: m.kind for name, m in METHODS.items() if m.objection(plan) is None}


def account(
    plan: Plan,
    *,
    noise_multiplier: float | None = None,
    method: str = "auto",
    direction: str = "both",
    accuracy: float = DEFAULT_ACCURACY,
    budget: float = DEFAULT_BUDGET,
) -> Guarantee:
    """What the plan guarantees at the given noise.

    `noise_multiplier` is the standard deviation of the noise over the clip norm; a plan with a
    mechanism of its own takes none. `method` is one of `methods(plan)`, or "auto": the tightest
    proven one. `direction` restricts the answer to one of the two directions. `accuracy` is how far
    the computed upper and lower epsilon may be apart, relatively. `budget` is what an analysis that
    becomes tighter with more work may spend, in elementary operations and not in seconds, so that
    the same call gives the same answer everywhere. Nothing is computed before the guarantee is
    asked for a number.
    """
    _check_plan(plan)
    noise_multiplier = _check_noise(plan, noise_multiplier)
    directions = directions_for(direction)
    accuracy = check.relative_accuracy("accuracy", accuracy)
    budget = check.positive("budget", budget)
    reason = refusal(plan, noise_multiplier)
    if reason is not None:
        raise UnsupportedPlan(reason)
    chosen = _proven(plan, budget) if method == "auto" else [_named(plan, method)]
    if not chosen:
        raise UnsupportedPlan(
            f"No proven method applies to {plan.sampling.name} sampling with this mechanism."
        )
    request = Request(plan, noise_multiplier, budget)
    analyses = [m.analyse(request) for m in chosen]
    described: dict[str, Any] = {**plan.describe(), "noise_multiplier": noise_multiplier}
    return Guarantee(
        analyses=_best_first(analyses),
        directions=directions,
        accuracy=accuracy,
        plans=(described,),
    )


def _check_plan(plan: Plan) -> None:
    if not isinstance(plan, Plan):
        raise InvalidParameter("plan", "a Plan", plan)


def _check_noise(plan: Plan, noise_multiplier: float | None) -> float | None:
    if plan.mechanism is None:
        return check.positive("noise_multiplier", noise_multiplier)
    if noise_multiplier is not None:
        raise InvalidParameter(
            "noise_multiplier", "None for a plan with a mechanism of its own", noise_multiplier
        )
    return None


def _proven(plan: Plan, budget: float) -> list[Method]:
    """What "auto" asks: every proven method that is not outdone by another or far too slow."""
    candidates = [m for m in METHODS.values() if m.kind == "proven" and m.objection(plan) is None]
    names = {m.name for m in candidates}
    competing = [m for m in candidates if m.second_to not in names]
    return [m for m in competing if m.cost(plan) <= AFFORDABLE * budget]


def _named(plan: Plan, name: str) -> Method:
    if name not in METHODS:
        raise InvalidParameter("method", f"'auto' or one of {', '.join(METHODS)}", name)
    objection = METHODS[name].objection(plan)
    if objection is not None:
        applicable = ", ".join(methods(plan)) or "none"
        raise UnsupportedPlan(
            f"Method {name} does not apply: {objection}; methods that do: {applicable}."
        )
    return METHODS[name]


def _best_first(analyses: list[Analysis]) -> tuple[Analysis, ...]:
    """Exact analyses first, closed forms before numerics; the rest are fallbacks or competitors."""

    def rank(analysis: Analysis) -> tuple[bool, bool, int]:
        slow = analysis.tight and not analysis.source.has_formula
        return (not analysis.tight, slow, KINDS.index(analysis.kind))

    return tuple(sorted(analyses, key=rank))
