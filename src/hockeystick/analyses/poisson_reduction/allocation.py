"""Random allocation as Poisson sampling at a slightly higher rate.

[FeldmanShenfeld25, Theorem 3.2 and Corollary 3.12]. The run is a sequence of steps, each of which
takes the example with the chance 1/(t - S) that an observer of the earlier outputs would give it.
While that chance stays below 1/(t (1 - g)) the run is dominated by Poisson sampling at that rate,
step by step, in both directions; that it rises above has a small probability with and without the
example, which is added to delta.

The theorem takes an (e0, d0) of the mechanism for that probability, with Hoeffding's inequality and
t d0 in delta. The printed constant is corrected in the errata; its lemma for d0 > 0 also compares
the bad events of two different mechanisms. Here the Chernoff bound takes the place of both: it uses
the law of the step itself, needs no (e0, d0), and for a pure mechanism Hoeffding's inequality is a
bound on it, so it is never worse. What is left to choose, the share of delta, is searched. Where t
is too small for the noise the rate would come near 1; then the steps of the example may as well be
known, and that is the bound.

The chance that the rate is too low. One step out of t is drawn; W_1, W_2, ... are the likelihood
ratios of the steps. Seen from outside, the chance that step i + 1 is the one, given the outputs so
far, is 1/(t - S_i) with S_i = sum_(j<=i) (1 - W_j). Without the example the W_j are independent
with mean 1, so S is a random walk with mean 0, whose steps are at most 1 however small the noise
is. By Doob's inequality, for every s > 0,

    Pr[max_i S_i >= g t] <= exp(-t (s g - psi(s))),   psi(s) = log E_Q[e^(s (1 - W))].

With the example one of the W_j is drawn under P, where it is stochastically larger, so S is
stochastically smaller. If P has mass where Q has none, the mean of W is less than 1 and S drifts
upwards; psi includes the drift and e^(s S) is still a submartingale, as Doob's inequality needs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import NamedTuple

import numpy as np

from hockeystick._numerics.law import FloatArray, Law, Resolution, Side
from hockeystick._numerics.search import minimize_around_grid, minimize_on_interval
from hockeystick.bounds import Bound, UpperBound
from hockeystick.bounds.profiles import upper_side
from hockeystick.guarantee import REFERENCE_DELTA
from hockeystick.profile import Profile
from hockeystick.profile.resolution import BOTH, Direction
from hockeystick.schemes import Allocation

__all__ = ["ReductionBound", "ReductionSearch", "excess_at_failure"]

# Where s is searched, in logs. Every s gives a valid bound, and e^s must not overflow.
LOG_S = (-20.0, 6.0)
# What the sums in psi may have lost to floating point, relatively; they have a few thousand terms.
ROUNDING = 1e-9


@dataclass(frozen=True)
class ReductionSearch:
    """How the probability of failure is chosen; every choice gives a valid bound.

    Attributes
    ----------
    step
        How finely the law of a step is computed, from which the probability of failure is bounded:
        a step of 0.01 loses about 1e-5 of g, relatively, and the tail is below every probability of
        failure that matters.
    accuracy
        At which candidates are compared; only the last evaluation has the wanted accuracy.
    tolerance
        Of the logarithm that is searched: the bound is flat around its minimum.
    log_shares
        Where the search begins if a delta is given: log of failure over delta.
    log_failures
        Where it begins if an epsilon is given: log of the failure.
    """

    step: Resolution = field(default_factory=lambda: Resolution(0.01, 1e-25, 8.0))
    accuracy: float = 0.02
    tolerance: float = 0.2
    log_shares: tuple[float, ...] = (-25.0, -14.0, -8.0, -5.0, -3.0, -1.5, -0.5, -0.1)
    log_failures: tuple[float, ...] = (
        *(-250.0, -100.0, -50.0, -30.0, -20.0, -13.0),
        *(-9.0, -6.0, -4.0, -2.5, -1.0),
    )


DEFAULT_SEARCH = ReductionSearch()


class Reduced(NamedTuple):
    """The Poisson run, and the probability with which the reduction fails."""

    profile: Profile
    failure: float


class ReductionBound(Bound):
    """Poisson sampling at a raised rate, plus a probability of failure, the best of all."""

    def __init__(
        self,
        step: Profile,
        draws: Sequence[Allocation],
        settings: ReductionSearch = DEFAULT_SEARCH,
    ) -> None:
        self._step = step
        self._settings = settings
        self._draws = draws
        self._law: Law = step.expression.sampled().law(Side.UPPER, settings.step)
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

        coarse = max(self._settings.accuracy, accuracy)
        share = minimize_around_grid(
            lambda x: epsilon(x, coarse),
            self._settings.log_shares,
            tolerance=self._settings.tolerance,
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

        coarse = max(self._settings.accuracy, accuracy)
        failure = minimize_around_grid(
            lambda x: delta(x, coarse),
            self._settings.log_failures,
            tolerance=self._settings.tolerance,
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
        if most > 0.999:  # then f would be near 1, and the profile of no use
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
        return self._step.subsample(rate).self_compose(draws.steps_run * draws.count)

    def _rate(self, length: int, log_failure: float) -> float:
        """1/(t (1 - g)), at most 1: that needs no bound on anything."""
        if length == 1:
            return 1.0
        excess = excess_at_failure(self._law, length, log_failure)
        return 1.0 if excess >= 1 - 1 / length else 1 / (length * (1 - excess))


def excess_at_failure(law: Law, steps: int, log_failure: float) -> float:
    """The g for which Pr[max S >= g t] is at most e^log_failure, from an upper law of W."""
    budget = -log_failure / steps

    def excess(log_s: float) -> float:
        s = math.exp(log_s)
        return (_cumulant(law, s) * (1 + ROUNDING) + budget) / s

    return excess(minimize_on_interval(excess, *LOG_S))


def _cumulant(law: Law, s: float) -> float:
    """psi(s) = log(1 + E[e^x - 1 - x] + E[x]) with x = s (1 - W), as positive terms.

    e^x is convex in W, so the upper law gives an upper bound. E[x] is s times the P-mass at
    infinity.
    """
    with np.errstate(over="ignore"):
        x = -s * np.expm1(law.loss)
    spread = float(_convex_part(x, law, s).sum()) + law.q_zero * (math.expm1(s) - s)
    return math.log1p(spread + s * law.p_infinite)


def _convex_part(x: FloatArray, law: Law, s: float) -> FloatArray:
    """q (e^x - 1 - x) for each atom. -q x = s (p - q) stays finite where W does not."""
    small = np.abs(x) < 1e-4
    inside = np.where(small, x, 0.0)
    series = law.q * inside * inside / 2 * (1 + inside / 3 * (1 + inside / 4))
    direct = law.q * np.expm1(x) + s * (law.p - law.q)
    terms: FloatArray = np.where(small, series, direct)
    return terms
