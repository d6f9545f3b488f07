"""`gram`: Gram matrices with Markov structure above that of the plan, without sampling.

A uniform mixture of Gaussians whose Gram matrix is larger, in an order that allows both larger
entries and a positive semidefinite difference, dominates in both directions (docs/gram.md). With
independent noise the matrix is diagonal and nothing has to be enlarged.
"""

from __future__ import annotations

import math

from hockeystick.analyses.gram_bound import GramBound
from hockeystick.analyses.method import Method, Request
from hockeystick.guarantee import Analysis
from hockeystick.pairs import dominating_pair, missing_pair, step_of
from hockeystick.pairs.mixtures import bin_mixture, missing_mixture
from hockeystick.plan import Plan
from hockeystick.sampling import BallsInBins
from hockeystick.subsampled_source import taking_part

__all__ = ["METHOD"]

MOST_BINS = 4_000
# "auto" does not wait for more bins: a number takes minutes.
MOST_BINS_OF_AUTO = 1_500


def _objection(plan: Plan) -> str | None:
    missing = missing_mixture(plan)
    if missing is not None:
        return missing
    assert isinstance(plan.sampling, BallsInBins)
    if min(plan.sampling.bins, plan.steps) > MOST_BINS:
        return f"it runs over all bins, of which there may be at most {MOST_BINS:,}"
    return None


def _cost(plan: Plan) -> float:
    """Within any budget, up to a number of bins."""
    assert isinstance(plan.sampling, BallsInBins)
    few = min(plan.sampling.bins, plan.steps) <= MOST_BINS_OF_AUTO
    return 0.0 if few or missing_pair(plan) is None else math.inf


def _analyse(request: Request) -> Analysis:
    """O(bins^1.5) for each of the states of a chain; several majorants for each number."""
    if missing_pair(request.plan) is None:
        pair = dominating_pair(request.plan, step_of(request.plan, request.noise_multiplier))
        return Analysis(METHOD.name, METHOD.kind, pair.profile, tight=pair.tight)
    mixture = bin_mixture(request.plan, request.noise_multiplier)
    bound = GramBound(mixture.kernel, request.budget)
    source = taking_part(bound, mixture.share)
    if mixture.share < 1:
        return Analysis(METHOD.name, METHOD.kind, source, tight=False)
    return Analysis(
        METHOD.name, METHOD.kind, source, tight=False, explain=bound.explain, below=bound.below
    )


METHOD = Method(
    name="gram",
    kind="proven",
    summary="a larger Gram matrix with Markov structure, computed without sampling",
    objection=_objection,
    analyse=_analyse,
    second_to="profile",
    cost=_cost,
)
