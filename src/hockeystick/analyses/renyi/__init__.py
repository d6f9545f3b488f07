"""`renyi`: moments of the likelihood ratio, converted with the best order.

Where the plan's dominating pair is known as a profile, its moments: for random allocation those of
[FeldmanShenfeld25, Theorem 4.6], by a recurrence that gives all orders in one pass, for any
mechanism. The theorem covers the remove direction; moments of the add direction,
E_Q[LR^(1 - a)], come from the law of the likelihood ratio, rounded up (x^(1 - a) is convex). Never
tighter than `profile`, which knows the whole law of the same pair: a second, independent opinion.

For balls-in-bins with correlated noise, [SchuchardtKalinin26, Algorithms 1 to 3] with their errata:
the remove direction by dynamic programmes over the bins (bins.py), the add direction
by a variational bound with optimised weights or by bins that are far apart.

For b-min-sep sampling with at most as many bands as the separation, replicas of the example
(replicas.py) for the remove direction.

Runs of which only the remove direction has good moments are mixtures of Gaussians, and adding never
leaks more than removing (bounds/combined.py).

Lower bounds of runs with correlated noise come from how often the example takes part (counted.py).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

from hockeystick._numerics.law import FloatArray
from hockeystick.analyses import gaussian
from hockeystick.analyses.method import Method, Request
from hockeystick.analyses.poisson_reduction import independent_bound
from hockeystick.analyses.renyi.bins import BinMoments
from hockeystick.analyses.renyi.bound import MomentBound, OrderGrowth, moments_of
from hockeystick.analyses.renyi.counted import WithCountedLower, counted_lower
from hockeystick.analyses.renyi.replicas import ReplicaMoments, missing_replicas
from hockeystick.bounds import Bound
from hockeystick.bounds.combined import RemoveDecides, RemoveForAdd, subsampled
from hockeystick.guarantee import Analysis
from hockeystick.plan import Plan
from hockeystick.schemes import Missing, Renewal
from hockeystick.schemes.capabilities import offered, reason_of
from hockeystick.schemes.mixtures import MixtureBlocks
from hockeystick.schemes.pairs import dominating_pair, missing_pair

__all__ = ["METHOD"]


# Every order of replicas costs more than all before it together: few more at a time.
REPLICA_ORDERS = OrderGrowth(first=6, more=1.25)


def _condition(plan: Plan) -> str | None:
    if missing_pair(plan) is None:
        return None
    same = _same_as(plan)
    renewal, mixture = same.sampling.renewal(same), same.sampling.uniform_mixture(same)
    if not isinstance(renewal, Missing):
        return missing_replicas(same, renewal)
    if _by_distance(same) is not None:
        return None
    unknown = isinstance(mixture, Missing) and mixture.always
    return missing_pair(same) if unknown else reason_of(mixture)


def _analyse(request: Request) -> Analysis:
    """O(orders^2) where a pair is known; otherwise the budget, for each noise multiplier."""
    if missing_pair(request.plan) is None:
        pair = dominating_pair(request.plan, request.noise_multiplier)
        return Analysis(METHOD.name, METHOD.kind, MomentBound(moments_of(pair.profile.expression)))
    same = request._replace(plan=_same_as(request.plan))
    renewal = same.plan.sampling.renewal(same.plan)
    return _of_bins(same) if isinstance(renewal, Missing) else _of_replicas(same, renewal)


def _same_as(plan: Plan) -> Plan:
    """The plan with its scheme replaced by an equivalent one that offers more."""
    same = plan.sampling.equivalent(plan)
    return plan if isinstance(same, Missing) else replace(plan, sampling=same.sampling)


def _of_replicas(request: Request, renewal: Renewal) -> Analysis:
    """Moments of the remove direction, and what is known about adding alone without them."""
    assert request.noise_multiplier is not None
    moments = MomentBound(
        ReplicaMoments(request.plan.strategy, renewal, request.noise_multiplier, request.budget),
        REPLICA_ORDERS,
    )
    known = gaussian.KNOWN.analyse(request).bound
    sampled = independent_bound(request.plan, request.noise_multiplier)
    add = {"poisson-reduction": sampled, "gaussian": known, "remove": RemoveForAdd(moments)}
    bound: Bound = RemoveDecides(moments, add=add)
    below = counted_lower(request.plan, request.noise_multiplier)
    if below is not None:
        bound = WithCountedLower(bound, below)
    return Analysis(METHOD.name, METHOD.kind, bound)


def _of_bins(request: Request) -> Analysis:
    """Moments of a mixture over bins."""
    assert request.noise_multiplier is not None
    blocks = _by_distance(request.plan)
    if blocks is not None:
        many = ManyBins(blocks, request.noise_multiplier)
        bound = subsampled(MomentBound(BinMoments(many, request.budget)), blocks.share)
    else:
        means = offered(request.plan.sampling.uniform_mixture(request.plan))
        mixture = means.with_noise(request.noise_multiplier)
        bound = subsampled(MomentBound(BinMoments(mixture, request.budget)), mixture.share)
    add = {"moments": bound, "remove": RemoveForAdd(bound)}
    return Analysis(METHOD.name, METHOD.kind, RemoveDecides(bound, add=add))


# Of more means than these no matrix is made: an eighth of a gigabyte.
MOST_MEANS = 4_000


@dataclass(frozen=True, eq=False)
class ManyBins:
    """A mixture that is known by bounds on its inner products by distance."""

    blocks: MixtureBlocks
    noise_multiplier: float

    @cached_property
    def kernel(self) -> FloatArray:
        """The bounds."""
        return self.blocks.by_distance(self.noise_multiplier)


def _by_distance(plan: Plan) -> MixtureBlocks | None:
    """The mixture of one block of many means, if a Toeplitz strategy spares their matrix."""
    blocks = plan.sampling.mixture_blocks(plan)
    if isinstance(blocks, Missing) or not blocks.single or blocks.means <= MOST_MEANS:
        return None
    return None if plan.strategy.coefficients is None else blocks


METHOD = Method(
    name="renyi",
    kind="proven",
    summary="moments of the likelihood ratio, converted with the best order",
    analyse=_analyse,
    condition=_condition,
    second_to=("profile",),
)
