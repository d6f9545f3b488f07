"""`conditional`: steps composed as if independent, given what the earlier ones may have revealed.

[SchuchardtKalinin26, Algorithm 4 and Lemma 4.1], with the errata. Outside a bad event no output so
far says much about the bin of the example, and each step is dominated by a fixed random shift with
Gaussian noise; those are composed like any mechanisms, and the probability of the bad
event is added to delta. It is bounded by a sum over the steps and over the bins above the lowest
level. (The paper takes the largest bound of an epoch for all its steps and charges its probability
once; that is refuted, not only unproven.)

All steps of a segment share one threshold for the odds, the largest for which the sum of the tails
is within the segment's part of the bad event. The first epoch, in which odds grow quickly, has
several segments, every later one is a single one. Which part of delta the bad event gets is
searched for every request. Both directions have thresholds of their own: the earlier outputs are
those of the run with the example for remove, and of the run without it for add.
"""

from __future__ import annotations

from hockeystick.analyses.conditional.bound import ConditionalBound
from hockeystick.analyses.method import Method, Request
from hockeystick.bounds.combined import subsampled
from hockeystick.guarantee import Analysis
from hockeystick.plan import Plan
from hockeystick.schemes.capabilities import offered

__all__ = ["METHOD"]

# Products with a Gram matrix, in units of the budget: they are fast, and there are five of each.
PRODUCTS = 0.02


def _cost(plan: Plan) -> float:
    """For each step, for each bin above the lowest level: products with a Gram matrix."""
    bins = offered(plan.sampling.uniform_mixture(plan)).used
    return PRODUCTS * plan.steps * min(plan.strategy.bands, bins) * bins**2


def _analyse(request: Request) -> Analysis:
    """O(steps b^2) for each bin above the lowest level, and about thirty compositions."""
    means = offered(request.plan.sampling.uniform_mixture(request.plan))
    mixture = means.with_noise(request.noise_multiplier)
    bound = ConditionalBound(lambda: mixture.levels)
    return Analysis(METHOD.name, METHOD.kind, subsampled(bound, mixture.share))


# That `gram` is never worse is measured, not proved: 90 settings in docs/gram.md (1.8 to 34 times
# the epsilon) and 46 random plans of 2 to 50 bins (1.17 times and more).
METHOD = Method(
    name="conditional",
    kind="proven",
    summary="steps composed given bounded odds of the bin, plus the chance that they are not",
    analyse=_analyse,
    needs=("uniform_mixture",),
    second_to=("profile", "gram"),
    cost=_cost,
)
