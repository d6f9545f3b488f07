"""`gram`: Gram matrices with Markov structure above that of the plan, without sampling.

A uniform mixture of Gaussians whose Gram matrix is larger, in an order that allows both larger
entries and a positive semidefinite difference, dominates in both directions (docs/gram.md). With
independent noise the matrix is diagonal and nothing has to be enlarged.
"""

from __future__ import annotations

import math

from hockeystick.analyses.gram.schemes import SCHEMES
from hockeystick.analyses.method import Method, Request
from hockeystick.bounds.profiles import ProfileBound
from hockeystick.guarantee import Analysis
from hockeystick.plan import Plan
from hockeystick.schemes.pairs import dominating_pair, missing_pair, step_of

__all__ = ["METHOD"]

# "auto" does not wait for more bins: a number takes minutes.
MOST_BINS_OF_AUTO = 1_500


def _objection(plan: Plan) -> str | None:
    scheme = SCHEMES.get(type(plan.sampling))
    if scheme is None:
        known = " and ".join(sorted(one.name for one in SCHEMES))
        return f"it is an analysis of {known}, not of {plan.sampling.name}"
    return scheme.objection(plan)


def _cost(plan: Plan) -> float:
    """Within any budget, up to a number of bins."""
    few = SCHEMES[type(plan.sampling)].terms(plan) <= MOST_BINS_OF_AUTO
    return 0.0 if few or missing_pair(plan) is None else math.inf


def _analyse(request: Request) -> Analysis:
    """O(bins^1.5) for each of the states of a chain; several majorants for each number."""
    plan = request.plan
    if missing_pair(plan) is None:
        pair = dominating_pair(plan, step_of(plan, request.noise_multiplier))
        return Analysis(METHOD.name, METHOD.kind, ProfileBound(pair.profile, exact=pair.tight))
    return Analysis(METHOD.name, METHOD.kind, SCHEMES[type(plan.sampling)].bound(request))


METHOD = Method(
    name="gram",
    kind="proven",
    summary="a larger Gram matrix with Markov structure, computed without sampling",
    objection=_objection,
    analyse=_analyse,
    second_to="profile",
    cost=_cost,
)
