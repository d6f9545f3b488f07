"""`profile`: convex-order numerics on the plan's dominating pair."""

from __future__ import annotations

from hockeystick.analyses.method import Method
from hockeystick.guarantee import Analysis
from hockeystick.pairs import Step, dominating_pair, missing_pair
from hockeystick.plan import Plan
from hockeystick.profile import Profile

__all__ = ["METHOD"]


def _objection(plan: Plan) -> str | None:
    return missing_pair(plan)


def _analyse(plan: Plan, noise_multiplier: float | None) -> Analysis:
    """Exact up to the stated accuracy wherever the pair is tight; both directions.

    Cost: O(N^2 log steps) for N of about a thousand grid points; independent of delta.
    """
    pair = dominating_pair(plan, _step(plan, noise_multiplier))
    return Analysis(METHOD.name, METHOD.kind, pair.profile, pair.tight)


def _step(plan: Plan, noise_multiplier: float | None) -> Step:
    """One participation. A plan with a mechanism of its own has columns of length 1 only."""
    mechanism = plan.mechanism
    if mechanism is not None:
        return lambda length: mechanism
    assert noise_multiplier is not None
    return lambda length: Profile.gaussian(noise_multiplier=noise_multiplier / length)


METHOD = Method(
    name="profile",
    kind="proven",
    summary="convex-order numerics on the whole privacy profile",
    objection=_objection,
    analyse=_analyse,
)
