"""`gram`: Gram matrices with Markov structure above that of the plan, without sampling.

A uniform mixture of Gaussians whose Gram matrix is larger, in an order that allows both larger
entries and a positive semidefinite difference, dominates in both directions (docs/gram.md). With
independent noise the matrix is diagonal and nothing has to be enlarged.
"""

from __future__ import annotations

import math

from hockeystick.analyses.gram.bound import BlockBound, GramBound
from hockeystick.analyses.method import Method, Request
from hockeystick.bounds.bound import Bound
from hockeystick.bounds.profiles import ProfileBound
from hockeystick.bounds.subsampled import subsampled
from hockeystick.guarantee import Analysis
from hockeystick.plan import Plan
from hockeystick.schemes.capabilities import offered
from hockeystick.schemes.pairs import dominating_pair, missing_pair

__all__ = ["METHOD"]

# All inner products of the means are compared: an eighth of a gigabyte.
MOST_MEANS = 4_000
# "auto" does not wait for more terms in a mixture: a number takes minutes.
MOST_TERMS_OF_AUTO = 1_500


def _condition(plan: Plan) -> str | None:
    if offered(plan.sampling.mixture_blocks(plan)).means > MOST_MEANS:
        return f"it compares all bins or steps, of which there may be at most {MOST_MEANS:,}"
    return None


def _cost(plan: Plan) -> float:
    """Within any budget, up to a number of terms."""
    few = offered(plan.sampling.mixture_blocks(plan)).terms <= MOST_TERMS_OF_AUTO
    return 0.0 if few or missing_pair(plan) is None else math.inf


def _analyse(request: Request) -> Analysis:
    """O(bins^1.5) for each of the states of a chain; several majorants for each number."""
    if missing_pair(request.plan) is None:
        pair = dominating_pair(request.plan, request.noise_multiplier)
        return Analysis(METHOD.name, METHOD.kind, ProfileBound(pair.profile, exact=pair.tight))
    return Analysis(METHOD.name, METHOD.kind, _bound(request))


def _bound(request: Request) -> Bound:
    """One mixture, or one for each block of steps, composed."""
    assert request.noise_multiplier is not None
    blocks = offered(request.plan.sampling.mixture_blocks(request.plan))
    kernel = blocks.kernel(request.noise_multiplier)
    if blocks.single:
        return subsampled(GramBound(kernel, request.budget), blocks.share)
    return BlockBound(kernel, blocks.length, request.budget)


METHOD = Method(
    name="gram",
    kind="proven",
    summary="a larger Gram matrix with Markov structure, computed without sampling",
    analyse=_analyse,
    needs="mixture_blocks",
    condition=_condition,
    second_to=("profile",),
    cost=_cost,
)
