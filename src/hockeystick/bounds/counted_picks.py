"""Several picks beside Poisson sampling: an upper bound from the law of the number of picks.

Let LR_j be the likelihood ratio of j picks out of t: the mean over all sets of j steps of the
product of their ratios, the elementary symmetric mean of degree j. Poisson sampling at any rate
has the number of picks J ~ Binomial(t, rate) and LR_Poisson = sum_j Pr[J = j] LR_j. Take k picks,
gamma > 0 and the event A = {LR_k > gamma}, so that delta_k(gamma) = P_k(A) - gamma Q(A).

- For j >= k, P_j(A) >= P_k(A): a uniform set of k steps lies in one of j, a step's ratio is
  stochastically larger with the example than without it, and LR_k grows with each ratio.
- For j < k, LR_j >= LR_k^(j/k) by Maclaurin's inequality, so P_j(A) >= gamma^(j/k) Q(A).

With r = Pr[J >= k] and c = sum_j Pr[J = j] gamma^(min(j, k) / k), which is at least r gamma,

    delta_Poisson(c) >= P_Poisson(A) - c Q(A) >= r (P_k(A) - gamma Q(A)),

that is delta_k(gamma) <= delta_Poisson(c) / r. The rate is free. With several blocks the same holds
with the least of their numbers of picks in the place of J: A is an event of the product of the
blocks' LR_k; more picks than the least only raise its probability; and the product of the blocks'
LR_j is at least that product to the power j/k.

The argument is about removing. Mixtures of Gaussians never leak more by adding
(`bounds.combined`), so with Gaussian noise it covers both directions.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from hockeystick._numerics.law import FloatArray
from hockeystick._numerics.search import minimize_on_interval, smallest_argument
from hockeystick.bounds import Bound, UpperBound
from hockeystick.bounds.profiles import upper_side
from hockeystick.profile import Profile
from hockeystick.profile.resolution import Direction

__all__ = ["CountedPicks", "CountedPicksBound", "counted_delta", "counted_epsilon"]

# The rate is sought where k is at most so many standard deviations from what is expected, and found
# to this many of them: epsilon changes by less than 0.1 % over such a distance.
FARTHEST_RATE, RATE_TOLERANCE = 6.0, 0.1
# The search compares laws at this accuracy; first all rates at the coarse one, which shows whether
# the bound can be better than the other one.
SEARCH_ACCURACY, COARSE = 0.003, 0.05
# What binomial tails and powers may lose to floating point, relatively: up to 1e5 steps, and in
# proportion beyond. SciPy's tails were off by 2e-10 at 1e5, 2e-9 at 1e6 and 3e-8 at 1e7 steps,
# beside 40 digits; blocks with more steps are left to the other bound.
ROUNDING, ROUNDED_STEPS, MOST_STEPS = 1e-9, 1e5, 10**7
# A delta of the Poisson run below this is not asked for.
SMALLEST_DELTA = 1e-300

# A number for a rate at an accuracy.
AtRate = Callable[[float, float], float]


class CountedPicks(NamedTuple):
    """A fixed number of picks out of the steps of every block, with Gaussian noise.

    Attributes
    ----------
    picks, out_of
        Every set of `picks` of the `out_of` steps of a block is equally likely.
    blocks
        How many blocks there are, independent of each other.
    step
        The profile of one participation.
    """

    picks: int
    out_of: int
    blocks: int
    step: Profile


@dataclass(frozen=True)
class CountedPicksBound(Bound):
    """The better one of a bound on a run with several picks and of the bound by Poisson sampling.

    Parameters
    ----------
    other
        A bound on the run, whose pair stands for all requests and whose lower bounds are kept.
    counted
        The picks of the run; the mechanism is Gaussian.
    """

    other: Bound
    counted: CountedPicks

    def epsilon(
        self, delta: float, *, directions: Sequence[Direction], accuracy: float
    ) -> UpperBound:
        """The smaller of both; a dozen laws of the Poisson run if it can be the smaller one."""
        found = self.other.epsilon(delta, directions=directions, accuracy=accuracy)
        return self._better(
            found, lambda rate, fine: counted_epsilon(self.counted, rate, delta, fine), accuracy
        )

    def delta(
        self, epsilon: float, *, directions: Sequence[Direction], accuracy: float
    ) -> UpperBound:
        """The smaller of both, as for epsilon."""
        found = self.other.delta(epsilon, directions=directions, accuracy=accuracy)
        if not 0 <= epsilon < math.inf:
            return found
        return self._better(
            found, lambda rate, fine: counted_delta(self.counted, rate, epsilon, fine), accuracy
        )

    def as_profile(self) -> Profile:
        """That of the other bound."""
        return self.other.as_profile()

    def _better(self, found: UpperBound, at: AtRate, accuracy: float) -> UpperBound:
        if found.value == 0 or self.counted.out_of > MOST_STEPS:
            return found
        coarse = self._best_rate(at, COARSE)
        if at(coarse, COARSE) > (1 + COARSE) * found.value:
            return found
        rate = self._best_rate(at, max(SEARCH_ACCURACY, accuracy))
        value = at(rate, accuracy)
        if value >= found.value:
            return found
        details = {**found.details, "poisson_rate": rate}
        return UpperBound(value, found.direction, details, lambda: found.lower)

    def _best_rate(self, at: AtRate, accuracy: float) -> float:
        """The rate with the smallest number, by Brent's method on the logarithm of its odds."""
        picks, out_of = self.counted.picks, self.counted.out_of
        deviation = 1 / math.sqrt(picks * (1 - picks / out_of))

        def rate(deviations: float) -> float:
            odds = picks / (out_of - picks) * math.exp(deviations * deviation)
            return odds / (1 + odds)

        def cost(deviations: float) -> float:
            return math.log(at(rate(deviations), accuracy) + SMALLEST_DELTA)

        return rate(
            minimize_on_interval(cost, -FARTHEST_RATE, FARTHEST_RATE, tolerance=RATE_TOLERANCE)
        )


def counted_epsilon(counted: CountedPicks, rate: float, delta: float, accuracy: float) -> float:
    """An upper bound on epsilon at a rate: the gamma whose c is the Poisson run's at delta r."""
    tails = _tails(counted, rate)
    found = _poisson(counted, rate).epsilon(
        max(delta * float(tails[-1]), SMALLEST_DELTA), directions=("remove",), accuracy=accuracy
    )
    if delta * tails[-1] < SMALLEST_DELTA:
        return math.inf
    return smallest_argument(lambda epsilon: _log_level(tails, epsilon) >= found.value)[1]


def counted_delta(counted: CountedPicks, rate: float, epsilon: float, accuracy: float) -> float:
    """An upper bound on delta at a rate: delta_Poisson(c) / r; `epsilon` is not negative."""
    tails = _tails(counted, rate)
    if tails[-1] < SMALLEST_DELTA:
        return 1.0
    found = _poisson(counted, rate).delta(
        _log_level(tails, epsilon), directions=("remove",), accuracy=accuracy
    )
    return min(found.value / float(tails[-1]), 1.0)


def _tails(counted: CountedPicks, rate: float) -> FloatArray:
    """Pr[every block has at least j picks], j = 1, ..., k, rounded downwards."""
    from scipy.special import bdtrc

    one = bdtrc(np.arange(counted.picks), counted.out_of, rate)
    lost = ROUNDING * max(counted.out_of / ROUNDED_STEPS, 1.0)
    return np.asarray((one * (1 - lost)) ** counted.blocks, dtype=np.float64)


def _poisson(counted: CountedPicks, rate: float) -> Bound:
    """Of all steps of the run."""
    steps = counted.blocks * counted.out_of
    return upper_side(counted.step.subsample(rate).self_compose(steps))


def _log_level(tails: FloatArray, epsilon: float) -> float:
    """log c for gamma = e^epsilon >= 1, rounded downwards.

    c = 1 + sum_j Pr[J >= j] (gamma^(j/k) - gamma^((j-1)/k)): all terms are positive.
    """
    picks = tails.size
    if epsilon / picks == 0:
        return 0.0
    share = np.arange(1, picks + 1) / picks
    with np.errstate(divide="ignore"):
        logs = np.log(tails) + epsilon * share + math.log(-math.expm1(-epsilon / picks))
    top = float(logs.max())
    if top <= 0:
        return math.log1p(float(np.exp(logs).sum())) * (1 - ROUNDING)
    return (top + math.log(math.exp(-top) + float(np.exp(logs - top).sum()))) * (1 - ROUNDING)
