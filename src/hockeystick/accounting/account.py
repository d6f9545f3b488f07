"""Asking for numbers: `account` and `methods`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hockeystick import _validate as check
from hockeystick.analyses import DEFAULT_BUDGET, METHODS, Method, Request
from hockeystick.analyses.method import MONTE_CARLO
from hockeystick.analyses.refusals import refusal
from hockeystick.errors import InvalidParameter, UnsupportedPlan
from hockeystick.guarantee import KINDS, Analysis, Guarantee, Kind, directions_for
from hockeystick.plan import Plan, require_plan
from hockeystick.profile import DEFAULT_ACCURACY
from hockeystick.profile.refinement import Direction

if TYPE_CHECKING:
    from hockeystick.montecarlo.execution import Execution

__all__ = ["DEFAULT_BUDGET", "account", "checked_method", "methods"]

# What is said beside bounds that are not tight, where the run can be simulated.
LOWER_BY_DRAWS = "a verified number may be lower (monte-carlo)"
# "auto" asks methods that cost at most this many budgets.
AFFORDABLE = 20.0


def methods(plan: Plan) -> dict[str, Kind]:
    """The analyses that apply to the plan, by name, each with its kind."""
    require_plan(plan)
    if refusal(plan, None) is not None:
        return {}
    found = {name: m.kind for name, m in METHODS.items() if m.objection(plan) is None}
    drawn = _kind_of_draws(plan)
    return found if drawn is None else {**found, MONTE_CARLO: drawn}


def account(
    plan: Plan,
    *,
    noise_multiplier: float | None = None,
    method: str = "auto",
    direction: str = "both",
    accuracy: float = DEFAULT_ACCURACY,
    budget: float = DEFAULT_BUDGET,
    epsilon: float | None = None,
    draws: int | None = None,
    failure_probability: float | None = None,
    seed: int | None = None,
    execution: Execution | None = None,
) -> Guarantee:
    """What the plan guarantees at the given noise.

    `noise_multiplier` is the standard deviation of the noise over the clip norm; a plan with a
    mechanism of its own takes none. `method` is one of `methods(plan)`, or "auto": the tightest
    proven one. `direction` restricts the answer to one of the two directions. `accuracy` is how far
    the computed upper and lower epsilon may be apart, relatively. `budget` is what an analysis that
    becomes tighter with more work may spend, in elementary operations and not in seconds, so that
    the same call gives the same answer everywhere. Nothing is computed before the guarantee is
    asked for a number.

    The method "monte-carlo" makes `draws` draws of the run for each direction at once, for the
    given `epsilon`, and returns an upper bound on delta there that is wrong with at most
    `failure_probability` (0.001 by default). Its kind is "confidence": it is no privacy guarantee
    of its own, for which see `verify`. `seed` makes it reproducible; `execution` says who draws.
    """
    require_plan(plan)
    method = checked_method(method)
    noise_multiplier = _check_noise(plan, noise_multiplier)
    directions = directions_for(direction)
    accuracy = check.relative_accuracy("accuracy", accuracy)
    budget = check.positive("budget", budget)
    reason = refusal(plan, noise_multiplier)
    if reason is not None:
        raise UnsupportedPlan(reason)
    sampled = {
        "epsilon": epsilon,
        "draws": draws,
        "failure_probability": failure_probability,
        "seed": seed,
        "execution": execution,
    }
    if method == MONTE_CARLO:
        analyses = [_sampled(plan, noise_multiplier, directions, sampled)]
    else:
        _refuse(sampled)
        analyses = _analysed(plan, noise_multiplier, method, budget)
    described: dict[str, Any] = {**plan.describe(), "noise_multiplier": noise_multiplier}
    return Guarantee(
        analyses=_best_first(analyses),
        directions=directions,
        accuracy=accuracy,
        unit=plan.sampling.unit,
        plans=(described,),
        note=_note(plan, method, analyses),
        reserve=lambda: _in_reserve(plan, noise_multiplier, budget) if method == "auto" else (),
    )


def _analysed(
    plan: Plan, noise_multiplier: float | None, method: str, budget: float
) -> list[Analysis]:
    """What the named method says, or every method that "auto" asks."""
    chosen = _proven(plan, budget)[0] if method == "auto" else [_named(plan, method)]
    if not chosen:
        raise UnsupportedPlan(
            f"No proven method applies to {plan.sampling.name} sampling with this mechanism."
        )
    request = Request(plan, noise_multiplier, budget)
    return [m.analyse(request) for m in chosen]


def _in_reserve(plan: Plan, noise_multiplier: float | None, budget: float) -> list[Analysis]:
    """What the methods say that "auto" asks only where others miss their accuracy."""
    request = Request(plan, noise_multiplier, budget)
    return [m.analyse(request) for m in _proven(plan, budget)[1]]


def _note(plan: Plan, method: str, analyses: list[Analysis]) -> str | None:
    """Whether draws of the run would say more than the proofs that "auto" has."""
    if method != "auto" or any(analysis.tight for analysis in analyses):
        return None
    return LOWER_BY_DRAWS if _kind_of_draws(plan) == "confidence" else None


def _kind_of_draws(plan: Plan) -> Kind | None:
    """Of what draws of the plan say; None if it cannot be simulated."""
    from hockeystick.schemes.simulation import missing_simulation

    if missing_simulation(plan) is not None:
        return None
    return "conjectured" if plan.sampling.conjectured else "confidence"


def _sampled(
    plan: Plan,
    noise_multiplier: float | None,
    directions: tuple[Direction, ...],
    sampled: dict[str, Any],
) -> Analysis:
    """What draws of the run say."""
    from hockeystick.montecarlo import method as montecarlo
    from hockeystick.montecarlo.session import check_simulated

    check_simulated(plan)
    assert noise_multiplier is not None
    asked = montecarlo.Sampled.checked(**sampled)
    return montecarlo.analyse(plan, noise_multiplier, asked, directions)


def _refuse(sampled: dict[str, Any]) -> None:
    """What only draws need is not silently ignored."""
    for name, value in sampled.items():
        if value is not None:
            allowed = f"None unless method='{MONTE_CARLO}'"
            raise InvalidParameter(name, allowed, value)


def checked_method(name: Any) -> str:
    """The name of a method, or "auto"."""
    known = (*METHODS, MONTE_CARLO)
    allowed = f"'auto' or one of {', '.join(known)}"
    return check.choice("method", name, ("auto", *known), allowed)


def _check_noise(plan: Plan, noise_multiplier: float | None) -> float | None:
    if plan.mechanism is None:
        return check.noise_multiplier("noise_multiplier", noise_multiplier)
    if noise_multiplier is not None:
        raise InvalidParameter(
            "noise_multiplier", "None for a plan with a mechanism of its own", noise_multiplier
        )
    return None


def _proven(plan: Plan, budget: float) -> tuple[list[Method], list[Method]]:
    """What "auto" asks, every proven method that is not far too slow: the best, and those outdone.

    One that is never better than another is asked only where that one fails.
    """
    candidates = [m for m in METHODS.values() if m.kind == "proven" and m.objection(plan) is None]
    names = {m.name for m in candidates}
    affordable = [m for m in candidates if m.cost(plan) <= AFFORDABLE * budget]
    best = [m for m in affordable if m.second_to not in names]
    return best, [m for m in affordable if m.second_to in names]


def _named(plan: Plan, name: str) -> Method:
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
        slow = analysis.tight and not analysis.bound.closed_form
        return (not analysis.tight, slow, KINDS.index(analysis.kind))

    return tuple(sorted(analyses, key=rank))
