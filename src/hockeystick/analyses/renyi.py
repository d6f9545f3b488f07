"""`renyi`: moments of the likelihood ratio, converted with the best order.

Where the plan's dominating pair is known as a profile, its moments: for random allocation those of
Theorem 4.6 of the random allocation paper, by a recurrence that gives all orders in one pass, for
any mechanism. The theorem covers the remove direction; moments of the add direction,
E_Q[LR^(1 - a)], come from the law of the likelihood ratio, rounded up (x^(1 - a) is convex). Never
tighter than `profile`, which knows the whole law of the same pair: a second, independent opinion.

For balls-in-bins with correlated noise, Algorithms 1 to 3 of the sampling-free paper with their
errata: the remove direction by dynamic programmes over the bins (bin_moments.py), the add direction
by a variational bound with optimised weights or by bins that are far apart.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from hockeystick.analyses.bin_moments import BinMoments
from hockeystick.analyses.method import Method, Request
from hockeystick.analyses.moment_bound import MomentBound
from hockeystick.evaluation import Direction
from hockeystick.guarantee import Analysis
from hockeystick.pairs import dominating_pair, missing_pair, step_of
from hockeystick.pairs.mixtures import bin_mixture, missing_mixture
from hockeystick.plan import Plan
from hockeystick.sampling import BallsInBins
from hockeystick.subsampled_source import taking_part

__all__ = ["METHOD"]


def _objection(plan: Plan) -> str | None:
    if missing_pair(plan) is None:
        return None
    return missing_mixture(plan) if isinstance(plan.sampling, BallsInBins) else missing_pair(plan)


def _analyse(request: Request) -> Analysis:
    """O(orders^2) where a pair is known; otherwise the budget, for each noise multiplier."""
    if missing_pair(request.plan) is None:
        pair = dominating_pair(request.plan, step_of(request.plan, request.noise_multiplier))
        bound = MomentBound(pair.profile.expression.power_moments)
        return Analysis(METHOD.name, METHOD.kind, bound, tight=False, explain=bound.explain)
    mixture = bin_mixture(request.plan, request.noise_multiplier)
    moments = BinMoments(mixture, request.budget)
    bound = MomentBound(moments)

    def explain(
        *, delta: float | None, epsilon: float | None, directions: Sequence[Direction]
    ) -> dict[str, object]:
        """With what the order keeps of the Gram matrix; bins that idle change the question."""
        if delta is not None:
            delta = min(delta / mixture.share, 0.999)
        if epsilon is not None:
            epsilon = math.log1p(math.expm1(min(epsilon, 700.0)) / mixture.share)
        found = bound.explain(delta=delta, epsilon=epsilon, directions=directions)
        order = float(str(found["order"]))
        if math.isfinite(order):
            found |= moments.kept(math.ceil(order), str(found["direction"]))
        return found

    source = taking_part(bound, mixture.share)
    return Analysis(METHOD.name, METHOD.kind, source, tight=False, explain=explain)


METHOD = Method(
    name="renyi",
    kind="proven",
    summary="moments of the likelihood ratio, converted with the best order",
    objection=_objection,
    analyse=_analyse,
    second_to="profile",
)
