"""`profile`: convex-order numerics on the plan's dominating pair."""

from __future__ import annotations

from hockeystick.analyses.method import Method
from hockeystick.guarantee import Analysis
from hockeystick.pairs import dominating_pair, has_pair
from hockeystick.plan import Plan
from hockeystick.profile import Profile

__all__ = ["METHOD"]


def _objection(plan: Plan) -> str | None:
    return None if has_pair(plan) else f"no dominating pair is known for {plan.sampling.name}"


def _analyse(plan: Plan, noise_multiplier: float | None) -> Analysis:
    """Exact up to the stated accuracy wherever the pair is tight; both directions.

    Cost: O(N^2 log steps) for N of about a thousand grid points; independent of delta.
    """
    if plan.mechanism is None:
        assert noise_multiplier is not None
        step = Profile.gaussian(noise_multiplier=noise_multiplier)
    else:
        step = plan.mechanism
    pair = dominating_pair(plan, step)
    return Analysis(METHOD.name, METHOD.kind, pair.profile, pair.tight)


METHOD = Method(
    name="profile",
    kind="proven",
    summary="convex-order numerics on the whole privacy profile",
    objection=_objection,
    analyse=_analyse,
)
