"""`account`: what a plan guarantees; `methods`: which analyses apply to it."""

from __future__ import annotations

from functools import reduce
from typing import Any

from hockeystick import _validate as check
from hockeystick.analyses import DEFAULT_BUDGET, METHODS, Method, Request, monte_carlo
from hockeystick.analyses.method import AUTO
from hockeystick.errors import InvalidParameter, UnsupportedPlan
from hockeystick.guarantee import KINDS, Analysis, Guarantee, Kind, directions_for
from hockeystick.montecarlo import MonteCarlo
from hockeystick.plan import RELATIONS, Accountable, Part, Plan, require_accountable
from hockeystick.profile import DEFAULT_ACCURACY

__all__ = [
    "DEFAULT_BUDGET",
    "account",
    "checked_method",
    "methods",
    "refuse_unsupported",
    "single_plan",
]


# "auto" leaves out a method whose least cost is above this many budgets. For "conditional" with
# 5,000 steps, 4 bands and 1,000 bins it is 4; it grows with the square of the bins.
AFFORDABLE = 20.0


def methods(plan: Accountable) -> dict[str, Kind]:
    """The analyses that apply to the plan, each with the kind of its numbers.

    Parameters
    ----------
    plan
        The run, a `Plan` or a `Sequence`. Its noise plays no part. Of a sequence these are the
        analyses that apply to all parts, each with its weakest kind; draws are about one plan.

    Returns
    -------
    dict
        Kinds by the names that `account` and `calibrate` take as `method`; empty for a plan that
        they refuse.

    Examples
    --------
    >>> import hockeystick as hs
    >>> hs.methods(hs.Plan(sampling=hs.FullBatch(), steps=10))
    {'gaussian': 'proven', 'profile': 'proven', 'renyi': 'proven'}
    """
    require_accountable(plan)
    first, *others = (_methods(part) for part, _ in plan.parts)
    if not others:
        return first
    return {
        name: max((kind, *(other[name] for other in others)), key=KINDS.index)
        for name, kind in first.items()
        if name != MonteCarlo.name and all(name in other for other in others)
    }


def _methods(plan: Plan) -> dict[str, Kind]:
    if plan.sampling.refusal(plan, None) is not None:
        return {}
    return {name: m.kind_for(plan) for name, m in METHODS.items() if m.objection(plan) is None}


@check.known_names_only
def account(
    plan: Accountable,
    *,
    noise_multiplier: float | None = None,
    method: str | MonteCarlo | Method = AUTO,
    direction: str = "both",
    accuracy: float = DEFAULT_ACCURACY,
    budget: float = DEFAULT_BUDGET,
) -> Guarantee:
    """What the plan guarantees at the given noise.

    Nothing is computed before the guarantee is asked for a number, except by Monte Carlo, which
    draws at once.

    Parameters
    ----------
    plan
        The run: a `Plan`, or a `Sequence` of plans, whose profiles are composed.
    noise_multiplier
        The standard deviation of the noise over the clip norm. A plan with a mechanism of its own
        takes none. For a sequence it is the factor that its relative noises are multiplied with.
    method
        "auto" for the tightest proven method, or one of `methods(plan)` by name, or
        `MonteCarlo(epsilon=...)` for an upper confidence bound on delta at one epsilon, or a
        `Method` with choices of its own, such as `conditional(bad_event=...)`.
    direction
        "both", or "add" or "remove" for one direction alone.
    accuracy
        How far the upper and the lower bound on epsilon may be apart, relatively.
    budget
        What an analysis that becomes tighter with more work may spend, in elementary operations
        and not in seconds: the same call gives the same answer everywhere.

    Returns
    -------
    Guarantee
        Upper bounds on epsilon and delta, with their kind and method.

    Raises
    ------
    UnsupportedPlan
        If the plan is refused or the method does not apply to it; the message says what does.

    Examples
    --------
    >>> import hockeystick as hs
    >>> plan = hs.Plan(sampling=hs.Poisson(rate=0.01), steps=100)
    >>> guarantee = hs.account(plan, noise_multiplier=1.0)
    >>> round(guarantee.epsilon(delta=1e-5), 2), guarantee.kind
    (0.72, 'proven')
    """
    require_accountable(plan)
    method = checked_method(method)
    directions = directions_for(direction)
    accuracy = check.relative_accuracy("accuracy", accuracy)
    budget = check.positive("budget", budget)
    if isinstance(method, MonteCarlo):
        single_plan(plan)
    # A plan that is run again with the same noise shares what is computed for it; plans of schemes
    # that others wrote need not be hashable.
    known: dict[tuple[int, float | None], Guarantee] = {}
    guarantees = []
    for part in plan.parts:
        noise = _checked_noise(part, noise_multiplier)
        refuse_unsupported(part.plan, noise)
        if (id(part.plan), noise) not in known:
            request = Request(part.plan, noise, budget, directions)
            known[id(part.plan), noise] = _guarantee(request, method, accuracy)
        guarantees.append(known[id(part.plan), noise])
    return reduce(Guarantee.compose, guarantees)


def _guarantee(request: Request, method: str | MonteCarlo | Method, accuracy: float) -> Guarantee:
    """Of one plan, by the analyses that the method stands for."""
    plan, budget = request.plan, request.budget
    chosen, reserve = _chosen(plan, method, budget)
    analyses = [one.run(request) for one in chosen]
    described: dict[str, Any] = {**plan.describe(), "noise_multiplier": request.noise_multiplier}
    return Guarantee(
        analyses=_best_first(analyses),
        directions=request.directions,
        accuracy=accuracy,
        adjacency=RELATIONS[plan.adjacency],
        unit=plan.sampling.unit,
        plans=(described,),
        find_note=lambda: _note(plan, analyses) if method == AUTO else None,
        left_out=_left_out(plan, chosen, reserve) if method == AUTO else {},
        reserve=lambda: [m.run(request) for m in reserve if _affordable(m, plan, budget)],
    )


def checked_method(method: Any) -> str | MonteCarlo | Method:
    """The name "auto" or of an analysis, a `Method`, or a `MonteCarlo` (also by its name)."""
    if isinstance(method, MonteCarlo | Method):
        return method
    allowed = f"'{AUTO}' or one of {', '.join(METHODS)}, or a MonteCarlo"
    name = check.choice("method", method, (AUTO, *METHODS), allowed)
    return MonteCarlo() if name == MonteCarlo.name else name


def single_plan(run: Accountable) -> Plan:
    """The plan that is drawn by Monte Carlo; `UnsupportedPlan` for a sequence."""
    (plan, relative_noise), *others = run.parts
    if others or relative_noise != 1:
        raise UnsupportedPlan(
            f"Method {MonteCarlo.name} draws runs of one plan; a sequence needs another method."
        )
    return plan


def refuse_unsupported(plan: Plan, noise_multiplier: float | None = None) -> None:
    """`UnsupportedPlan` if plans with this sampling are not accounted at all."""
    reason = plan.sampling.refusal(plan, noise_multiplier)
    if reason is not None:
        raise UnsupportedPlan(reason)


def _checked_noise(part: Part, noise_multiplier: float | None) -> float | None:
    """The noise multiplier of the part; None if it brings its own mechanism."""
    if part.plan.mechanism is None:
        common = check.noise_multiplier("noise_multiplier", noise_multiplier)
        return check.noise_multiplier("noise_multiplier", common * part.relative_noise)
    if noise_multiplier is not None:
        raise InvalidParameter(
            "noise_multiplier", "None for a plan with a mechanism of its own", noise_multiplier
        )
    return None


def _chosen(
    plan: Plan, method: str | MonteCarlo | Method, budget: float
) -> tuple[list[Method], list[Method]]:
    """The methods to ask, and those for where these miss their accuracy."""
    if method != AUTO:
        return [_applicable(plan, method)], []
    best, reserve = _proven(plan, budget)
    if not best:
        raise UnsupportedPlan(
            f"No proven method applies to {plan.sampling.name} sampling with this mechanism; "
            "Poisson, FullBatch, BallsInBins and RandomAllocation take any mechanism, and every "
            "scheme the Gaussian one (mechanism=None).",
            page="docs/how-to-choose.md#a-method",
        )
    return best, reserve


def _applicable(plan: Plan, method: str | MonteCarlo | Method) -> Method:
    """The named method; `UnsupportedPlan` if it does not apply to the plan."""
    if isinstance(method, Method):
        found = method
    else:
        found = METHODS[method] if isinstance(method, str) else monte_carlo(method)
    objection = found.objection(plan)
    if objection is not None:
        applicable = ", ".join(methods(plan)) or "none"
        raise UnsupportedPlan(
            f"Method {found.name} does not apply: {objection}; methods that do: {applicable}.",
            page="docs/how-to-choose.md#a-method",
        )
    return found


def _proven(plan: Plan, budget: float) -> tuple[list[Method], list[Method]]:
    """What "auto" asks: every proven method that is not far too slow.

    A method that is never better than another applicable one goes to the second list; it is asked
    only where the others miss their accuracy.
    """
    candidates = {
        name: m for name, m in METHODS.items() if m.kind == "proven" and m.objection(plan) is None
    }

    def surpassed(method: Method) -> bool:
        better = (candidates[name] for name in method.second_to if name in candidates)
        return any(_affordable(one, plan, budget) for one in better)

    outdone = [m for m in candidates.values() if surpassed(m)]
    others = [m for m in candidates.values() if m not in outdone]
    return [m for m in others if _affordable(m, plan, budget)], outdone


def _left_out(plan: Plan, chosen: list[Method], reserve: list[Method]) -> dict[str, str]:
    """Why "auto" did not ask the other proven methods, by name."""
    reasons: dict[str, str] = {}
    for name, method in METHODS.items():
        if method.kind != "proven" or method in chosen:
            continue
        objection = method.objection(plan)
        if objection is not None:
            reasons[name] = objection
        elif method in reserve:
            better = ", ".join(one.name for one in chosen if one.name in method.second_to)
            reasons[name] = f"never better than {better or 'another'} where that applies"
        else:
            reasons[name] = "it takes too long for the budget"
    return reasons


def _affordable(method: Method, plan: Plan, budget: float) -> bool:
    """Whether "auto" waits for the method."""
    return method.cost(plan) <= AFFORDABLE * budget


def _best_first(analyses: list[Analysis]) -> tuple[Analysis, ...]:
    """Exact analyses first, closed forms before numerics; the others are alternatives."""

    def rank(analysis: Analysis) -> tuple[bool, bool, int]:
        slow = analysis.tight and not analysis.bound.closed_form
        return (not analysis.tight, slow, KINDS.index(analysis.kind))

    return tuple(sorted(analyses, key=rank))


def _note(plan: Plan, analyses: list[Analysis]) -> str | None:
    """Whether draws may say more than the proofs, none of which is tight; or other batches do."""
    if any(analysis.tight for analysis in analyses):
        return None
    notes = [plan.sampling.better_batches(plan)]
    if methods(plan).get(MonteCarlo.name) == "confidence":
        notes.append(f"a verified number may be lower ({MonteCarlo.name})")
    return "; ".join(note for note in notes if note) or None
