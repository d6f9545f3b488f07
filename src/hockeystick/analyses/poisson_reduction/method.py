"""`poisson-reduction`: allocation as Poisson sampling at a slightly higher rate.

Random_allocation, Theorem 3.2 and Corollary 3.12. The run is a sequence of steps, each of which
takes the example with the chance 1/(t - S) that an observer of the earlier outputs would give it
(posterior.py). While that chance stays below 1/(t (1 - g)) the run is dominated by Poisson sampling
at that rate, step by step, in both directions; that it rises above has a small probability with
and without the example, which is added to delta.

The theorem takes an (e0, d0) of the mechanism for that probability, with Hoeffding's inequality and
t d0 in delta. The printed constant is corrected in the errata; its lemma for d0 > 0 also compares
the bad events of two different mechanisms. Here the Chernoff bound takes the place of both: it uses
the law of the step itself, needs no (e0, d0), and for a pure mechanism Hoeffding's inequality is a
bound on it, so it is never worse. What is left to choose, the share of delta, is searched. Where t
is too small for the noise the rate would come near 1; then the steps of the example may as well be
known, and that is the bound.

b-min-sep sampling, of examples and of users, needs no raised rate: see coins.py.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import reduce
from typing import NamedTuple

from hockeystick._numerics.law import Law, Resolution, Side
from hockeystick._numerics.search import minimize_around_grid
from hockeystick.analyses.method import Method, Request
from hockeystick.analyses.poisson_reduction.coins import coin_bound, missing_coins
from hockeystick.analyses.poisson_reduction.posterior import excess_at_failure
from hockeystick.bounds.bound import Bound, UpperBound
from hockeystick.bounds.profiles import upper_side
from hockeystick.guarantee import REFERENCE_DELTA, Analysis
from hockeystick.plan import Plan
from hockeystick.profile import Profile
from hockeystick.profile.refinement import BOTH, Direction
from hockeystick.schemes import Allocation, Missing
from hockeystick.schemes.pairs import step_of

__all__ = ["METHOD", "ReductionBound"]

# The law of a step from which the probability of failure is bounded.
STEP_RESOLUTION = Resolution(0.01, 1e-25, 8.0)
# Searches run at this accuracy, from the best of these failures; in logs, relative to the delta
# asked for, and absolute where an epsilon is given.
SEARCH_ACCURACY, SEARCH_TOLERANCE = 0.02, 0.2
SHARES = (-25.0, -14.0, -8.0, -5.0, -3.0, -1.5, -0.5, -0.1)
FAILURES = (-250.0, -100.0, -50.0, -30.0, -20.0, -13.0, -9.0, -6.0, -4.0, -2.5, -1.0)
# Where delta(0) exceeds this, a profile of the reduction is of no use.
MOST_OF_ALL = 0.999


class Reduced(NamedTuple):
    """The Poisson run, and the probability with which the reduction fails."""

    profile: Profile
    failure: float


class ReductionBound(Bound):
    """Poisson sampling at a raised rate, plus a probability of failure, the best of all."""

    def __init__(self, step: Profile, draws: Sequence[Allocation]) -> None:
        self._step = step
        self._draws = draws
        self._law: Law = step.expression.sampled().law(Side.UPPER, STEP_RESOLUTION)
        self._known = upper_side(step.self_compose(sum(each.count for each in draws)))

    def epsilon(
        self, delta: float, *, directions: Sequence[Direction], accuracy: float
    ) -> UpperBound:
        """The best share of delta for the failure."""

        def epsilon(log_share: float, at_accuracy: float) -> float:
            reduced = self.reduced(math.log(delta) + log_share)
            left = delta - reduced.failure
            run = upper_side(reduced.profile)
            return run.epsilon(left, directions=directions, accuracy=at_accuracy).value

        coarse = max(SEARCH_ACCURACY, accuracy)
        share = minimize_around_grid(
            lambda x: epsilon(x, coarse), SHARES, tolerance=SEARCH_TOLERANCE
        )
        known = self._known.epsilon(delta, directions=directions, accuracy=accuracy)
        return UpperBound(min(known.value, epsilon(share, accuracy)))

    def delta(
        self, epsilon: float, *, directions: Sequence[Direction], accuracy: float
    ) -> UpperBound:
        """The best probability of failure."""

        def delta(log_failure: float, at_accuracy: float) -> float:
            reduced = self.reduced(log_failure)
            run = upper_side(reduced.profile)
            found = run.delta(epsilon, directions=directions, accuracy=at_accuracy)
            return min(1.0, found.value + reduced.failure)

        coarse = max(SEARCH_ACCURACY, accuracy)
        failure = minimize_around_grid(
            lambda x: delta(x, coarse), FAILURES, tolerance=SEARCH_TOLERANCE
        )
        known = self._known.delta(epsilon, directions=directions, accuracy=accuracy)
        return UpperBound(min(known.value, delta(failure, accuracy)))

    def as_profile(self) -> Profile:
        """The reduction that suits delta = 1e-6, as a pair, or the participations known.

        f + (1 - f) H of the composition with a mechanism that fails with probability f is at least
        H + failure where f = failure / (1 - H); H is largest at epsilon = 0.
        """
        known = self._known.as_profile()
        reduced = self.reduced(math.log(REFERENCE_DELTA / 100))
        run = upper_side(reduced.profile)
        most = run.delta(0.0, directions=BOTH, accuracy=0.01).value
        if most > MOST_OF_ALL:
            return known
        failure = reduced.failure / (1 - most)
        return run.as_profile().compose(Profile.from_epsilon_delta(0.0, failure)).minimum(known)

    def reduced(self, log_failure: float) -> Reduced:
        """The Poisson run for a total probability of failure, shared evenly by all draws."""
        total = sum(draws.count for draws in self._draws)
        rates = [self._rate(draws.length, log_failure - math.log(total)) for draws in self._draws]
        parts = [self._part(draws, rate) for draws, rate in zip(self._draws, rates, strict=True)]
        safe = all(rate == 1.0 for rate in rates)
        return Reduced(reduce(Profile.compose, parts), 0.0 if safe else math.exp(log_failure))

    def _part(self, draws: Allocation, rate: float) -> Profile:
        """Poisson sampling at the rate; at rate 1 the participation may as well be known."""
        if rate == 1.0:
            return self._step.self_compose(draws.count)
        return self._step.subsample(rate).self_compose(draws.run * draws.count)

    def _rate(self, length: int, log_failure: float) -> float:
        """1/(t (1 - g)), at most 1: that needs no bound on anything."""
        if length == 1:
            return 1.0
        excess = excess_at_failure(self._law, length, log_failure)
        return 1.0 if excess >= 1 - 1 / length else 1 / (length * (1 - excess))


def _analyse(request: Request) -> Analysis:
    """About ten times the cost of Poisson sampling: the search for the share of delta.

    Once its cost for schemes in which nobody joins without a coin.
    """
    draws = request.plan.sampling.parallel_allocations(request.plan)
    if isinstance(draws, Missing):
        coins = coin_bound(request.plan, request.noise_multiplier)
        return Analysis(METHOD.name, METHOD.kind, coins)
    step = step_of(request.plan, request.noise_multiplier)(1.0)
    return Analysis(METHOD.name, METHOD.kind, ReductionBound(step, draws))


def _objection(plan: Plan) -> str | None:
    draws = plan.sampling.parallel_allocations(plan)
    if isinstance(draws, Missing):
        return missing_coins(plan) if draws.always else draws.reason
    return None


METHOD = Method(
    name="poisson-reduction",
    kind="proven",
    summary="Poisson sampling at a raised rate, plus the chance that the rate is too low",
    objection=_objection,
    analyse=_analyse,
    second_to="profile",
)
