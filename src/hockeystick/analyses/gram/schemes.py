"""For which schemes `gram` knows a mixture with a Gram matrix, and how each is bounded."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, cast

from hockeystick.analyses.gram.blocks import BlockBound
from hockeystick.analyses.gram.bound import GramBound
from hockeystick.analyses.method import Request
from hockeystick.bounds.bound import Bound
from hockeystick.bounds.subsampled import subsampled
from hockeystick.plan import Plan
from hockeystick.schemes import BallsInBins, RandomAllocation, Sampling
from hockeystick.schemes.balls_in_bins.mixture import bin_mixture, finite_kernel, missing_mixture

__all__ = ["SCHEMES"]

MOST_BINS = 4_000
# All inner products of columns are looked at: an eighth of a gigabyte.
MOST_STEPS = 4_000


class _Scheme(NamedTuple):
    """`terms(plan)` are the Gaussians of one mixture, over which a recursion runs."""

    objection: Callable[[Plan], str | None]
    terms: Callable[[Plan], int]
    bound: Callable[[Request], Bound]


def _objection_to_bins(plan: Plan) -> str | None:
    missing = missing_mixture(plan)
    if missing is not None:
        return missing
    if _bins(plan) > MOST_BINS:
        return f"it runs over all bins, of which there may be at most {MOST_BINS:,}"
    return None


def _bins(plan: Plan) -> int:
    return min(cast("BallsInBins", plan.sampling).bins, plan.steps)


def _bound_of_bins(request: Request) -> Bound:
    """One mixture over the bins that take part."""
    mixture = bin_mixture(request.plan, request.noise_multiplier)
    return subsampled(GramBound(mixture.kernel, request.budget), mixture.share)


def _objection_to_blocks(plan: Plan) -> str | None:
    scheme = cast("RandomAllocation", plan.sampling)
    if not plan.correlated:
        return "it is for correlated noise, profile is for independent noise"
    if scheme.picks > 1:
        return (
            f"it needs picks=1, got picks={scheme.picks}; shorter blocks with one pick each draw "
            "as many steps, and gaussian takes any number of picks"
        )
    if plan.steps > MOST_STEPS:
        return f"it compares all steps, of which there may be at most {MOST_STEPS:,}"
    return None


def _block(plan: Plan) -> int:
    return min(cast("RandomAllocation", plan.sampling).out_of, plan.steps)


def _bound_of_blocks(request: Request) -> Bound:
    """One mixture over the steps of a block for each of them; a single one is one of bins."""
    plan, noise = request.plan, request.noise_multiplier
    assert noise is not None
    length = cast("RandomAllocation", plan.sampling).out_of
    kernel = finite_kernel(plan.strategy, spacing=plan.steps, noise_multiplier=noise)
    if plan.steps <= length:
        return subsampled(GramBound(kernel, request.budget), plan.steps / length)
    return BlockBound(kernel, length, request.budget)


SCHEMES: dict[type[Sampling], _Scheme] = {
    BallsInBins: _Scheme(_objection_to_bins, _bins, _bound_of_bins),
    RandomAllocation: _Scheme(_objection_to_blocks, _block, _bound_of_blocks),
}
