"""`conditional`: steps composed as if independent, given what the earlier ones may have revealed.

Sampling_free_matrix_allocation, Algorithm 4 and Lemma 4.1, with the errata. Outside a bad event no
output so far says much about the bin of the example, and each step is dominated by a fixed random
shift with Gaussian noise; those are composed like any mechanisms, and the probability of the bad
event is added to delta. It is bounded by a sum: over the steps, over the bins above the lowest
level, and over both kinds of noise that the bound rests on. (The paper takes the largest bound of
an epoch for all its steps and charges its probability once; that is refuted, not only unproven.)

All steps of a segment share one threshold for the odds, the largest for which the sum of the tails
is within the segment's part of the bad event. The first epoch, in which odds grow quickly, has
several segments, every later one is a single one. Which part of delta the bad event gets is
searched for every question. Both directions have thresholds of their own: the earlier outputs are
those of the run with the example for remove, and of the run without it for add.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from hockeystick.analyses.conditional_bound import ConditionalBound
from hockeystick.analyses.method import Method, Request
from hockeystick.evaluation import Bounds, Direction
from hockeystick.guarantee import Analysis
from hockeystick.pairs.mixtures import bin_mixture, missing_mixture
from hockeystick.plan import Plan
from hockeystick.profile import Profile
from hockeystick.sampling import BallsInBins
from hockeystick.subsampled_source import taking_part

__all__ = ["METHOD"]

# Products with a Gram matrix, in units of the budget: they are fast, and there are five of each.
PRODUCTS = 0.02


class Preview:
    """One look at one direction, a tenth of delta for the bad event: too large, but not by far."""

    has_formula = False

    def __init__(self, bound: ConditionalBound) -> None:
        self._bound = bound

    def epsilon_bounds(
        self, delta: float, *, directions: Sequence[Direction], accuracy: float
    ) -> Bounds:
        """At low accuracy."""
        return Bounds(0.0, self._bound.epsilon_at(delta / 10, delta, directions[0], 0.1))

    def delta_bounds(
        self, epsilon: float, *, directions: Sequence[Direction], accuracy: float
    ) -> Bounds:
        """As if delta were 1e-6 or less."""
        return Bounds(0.0, self._bound.delta_at(1e-7, epsilon, directions[0], 0.1))

    def as_profile(self) -> Profile:
        """That of the bound."""
        return self._bound.as_profile()


def _cost(plan: Plan) -> float:
    """For each step, for each bin above the lowest level: products with a Gram matrix."""
    bins = min(cast("BallsInBins", plan.sampling).bins, plan.steps)
    return PRODUCTS * plan.steps * min(plan.strategy.bands, bins) * bins**2


def _analyse(request: Request) -> Analysis:
    """O(steps b^2) for each bin above the lowest level, and about thirty compositions."""
    mixture = bin_mixture(request.plan, request.noise_multiplier)
    bound = ConditionalBound(mixture.levels())
    return Analysis(
        METHOD.name,
        METHOD.kind,
        taking_part(bound, mixture.share),
        tight=False,
        preview=taking_part(Preview(bound), mixture.share),
        explain=bound.explain,
    )


METHOD = Method(
    name="conditional",
    kind="proven",
    summary="steps composed given bounded odds of the bin, plus the chance that they are not",
    objection=missing_mixture,
    analyse=_analyse,
    second_to="profile",
    cost=_cost,
)
