"""`profile`: convex-order numerics on the plan's dominating pair."""

from __future__ import annotations

from hockeystick.analyses.method import Method, Request
from hockeystick.bounds.profiles import ProfileBound
from hockeystick.guarantee import Analysis
from hockeystick.plan import ADJACENCIES
from hockeystick.schemes.pairs import dominating_pair, missing_pair

__all__ = ["METHOD"]


def _analyse(request: Request) -> Analysis:
    """Exact up to the stated accuracy wherever the pair is tight; both directions.

    Cost: O(N^2 log steps) for N of about a thousand grid points; independent of delta.
    """
    pair = dominating_pair(request.plan, request.noise_multiplier)
    bound = ProfileBound(pair.profile, exact=pair.tight, below=pair.below)
    return Analysis(METHOD.name, METHOD.kind, bound)


METHOD = Method(
    name="profile",
    kind="proven",
    summary="convex-order numerics on the whole privacy profile",
    analyse=_analyse,
    condition=missing_pair,
    relations=ADJACENCIES,
)
