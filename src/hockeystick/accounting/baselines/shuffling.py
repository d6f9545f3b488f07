"""Shuffled reports, by the clones bound.

The example's report among t - 1 reports that hold nothing, in random order, is 1-out-of-t random
allocation; so the clones bound (clones.py) applies to it, as it does to every shuffled protocol.
It sees the mechanism only through a pure e0: where the loss is not bounded, the likelihood ratio is
cut off at e^e0, which moves the report with the example by at most d0 = H(e^e0) in total
variation, and that costs e^epsilon d0 in delta. The best e0 is searched.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from hockeystick._numerics.divergence import guard
from hockeystick._numerics.law import Side
from hockeystick._numerics.search import bracket, minimize_on_interval
from hockeystick.accounting.baselines.baseline import Baseline
from hockeystick.accounting.baselines.clones import clones_delta
from hockeystick.bounds.bound import Bound, UpperBound
from hockeystick.plan import Plan
from hockeystick.profile import Profile
from hockeystick.profile.refinement import BOTH, Direction
from hockeystick.schemes import Allocation, Missing
from hockeystick.schemes.pairs import step_of

__all__ = ["BASELINE", "ShufflingBound"]

# The share of delta that cutting off may take, in logs.
SHARES = (-12.0, -0.1)
SMALLEST_DELTA = 1e-30
# Reports that are less private than this hide nobody.
LARGEST_LOCAL = 500.0


class ShufflingBound(Bound):
    """The clones bound for one block of reports."""

    def __init__(self, step: Profile, reports: int) -> None:
        self._step = step
        self._reports = reports

    def epsilon(
        self, delta: float, *, directions: Sequence[Direction], accuracy: float
    ) -> UpperBound:
        """The best cut-off; at most the epsilon of the report itself."""
        alone = self._step.epsilon_bounds(delta, directions=BOTH, accuracy=accuracy).upper

        def epsilon(log_share: float) -> float:
            cut = delta * math.exp(log_share)
            local = self._step.epsilon_bounds(cut, directions=BOTH, accuracy=accuracy).upper
            return bracket(
                lambda e: self._delta(e, local, cut) <= delta, 0.0, alone, tolerance=1e-6
            )[1]

        share = minimize_on_interval(epsilon, *SHARES, tolerance=0.05)
        return UpperBound(min(alone, epsilon(share)))

    def delta(
        self, epsilon: float, *, directions: Sequence[Direction], accuracy: float
    ) -> UpperBound:
        """The best cut-off for this epsilon."""
        alone = self._step.delta_bounds(epsilon, directions=BOTH, accuracy=accuracy).upper

        def log_delta(log_cut: float) -> float:
            cut = math.exp(log_cut)
            local = self._step.epsilon_bounds(cut, directions=BOTH, accuracy=accuracy).upper
            return math.log(max(self._delta(epsilon, local, cut), SMALLEST_DELTA))

        low, high = math.log(SMALLEST_DELTA), math.log(max(alone, 1e-20))
        best = minimize_on_interval(log_delta, low, high, tolerance=0.05)
        return UpperBound(min(alone, math.exp(log_delta(best))))

    def as_profile(self) -> Profile:
        """The report itself, which dominates."""
        return self._step

    def _delta(self, epsilon: float, local: float, cut: float) -> float:
        if local > LARGEST_LOCAL:
            return 1.0
        hidden = clones_delta(self._reports, local, epsilon)
        return guard(hidden + math.exp(min(epsilon, 700.0)) * cut, Side.UPPER)


def _objection(plan: Plan) -> str | None:
    draws = plan.sampling.parallel_allocations(plan)
    if isinstance(draws, Missing):
        return "it is for random allocation with independent noise"
    if plan.steps == 1 or draws != [Allocation(plan.steps, plan.steps, 1)]:
        return "it is for one pick out of one block of several steps"
    return None


def _bound(plan: Plan, noise_multiplier: float | None) -> ShufflingBound:
    return ShufflingBound(step_of(plan, noise_multiplier)(1.0), plan.steps)


BASELINE = Baseline(
    name="shuffling",
    summary="the clones bound for shuffled reports, applied to the step's (epsilon, delta)",
    objection=_objection,
    bound=_bound,
)
