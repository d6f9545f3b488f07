"""Lower bounds for a run with correlated noise: how often the example took part.

For any v the statistic <v, y> of the outputs y = C x + s z has the law of sum over x of g_i, plus
noise s |v|, with g = C^T v; without the example it is noise alone. With v = C^-T 1 all g_i are 1
and the sum is the number N of participations, whose law is known. A test that accepts above a
threshold t gives, in units of s |v|,

    delta(epsilon) >= E[Phi(N/(s |v|) - t)] - e^epsilon Phi(-t)      for every t.

It is close to the truth where noise is large beside a single participation, because log LR is then
nearly linear in the outputs. Rounding: probabilities of N are reduced by their error, N is counted
with the smallest g_i, less its error, and both terms are moved the safe way by `ROUNDING`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from hockeystick._numerics.gaussian import log_ndtr
from hockeystick._numerics.law import FloatArray
from hockeystick.bounds import Bound, UpperBound
from hockeystick.plan import Plan
from hockeystick.profile import Profile
from hockeystick.profile.resolution import Direction
from hockeystick.schemes import Missing
from hockeystick.schemes.capabilities import Participant
from hockeystick.schemes.simulation.columns import MOST_DENSE_STEPS

if TYPE_CHECKING:
    from hockeystick.analyses.known_participation.counts import CountLaw

__all__ = ["CountedLower", "WithCountedLower", "counted_lower"]

# What tails of the normal law and sums over N may have lost, relatively.
ROUNDING = 1e-10
# Thresholds that are tried, evenly between 0 and the largest, then between the best one's
# neighbours; tails beyond 37 are no numbers any more.
LARGEST_THRESHOLD, THRESHOLDS = 37.0, 400
# Operations of the law of N.
OPERATIONS = 1e9


@dataclass(frozen=True, eq=False)
class CountedLower:
    """The numbers of participations, and what one of them shifts, in units of the noise."""

    participant: Participant
    shift: float

    @cached_property
    def _law(self) -> CountLaw:
        from hockeystick.analyses.known_participation.counts import counts_at_least

        return counts_at_least(self.participant, operations=OPERATIONS)

    def epsilon(self, delta: float) -> float:
        """A lower bound on epsilon(delta) of removing."""

        def at(thresholds: FloatArray) -> FloatArray:
            hit, log_miss = self._both(thresholds)
            with np.errstate(divide="ignore", invalid="ignore"):
                found = np.log(np.maximum(hit - delta, 0.0)) - log_miss
            return np.where(np.isfinite(found), found, 0.0)

        return max(_largest(at), 0.0)

    def delta(self, epsilon: float) -> float:
        """A lower bound on delta(epsilon) of removing."""

        def at(thresholds: FloatArray) -> FloatArray:
            hit, log_miss = self._both(thresholds)
            with np.errstate(over="ignore"):
                return hit - np.exp(epsilon + log_miss)

        return max(_largest(at), 0.0)

    def _both(self, thresholds: FloatArray) -> tuple[FloatArray, FloatArray]:
        """At most the probability of passing with the example, and log of at least it without."""
        values, weights = self._law
        with np.errstate(under="ignore"):
            tails = np.exp(log_ndtr(values[:, None] * self.shift - thresholds))
        return (weights @ tails) * (1 - ROUNDING), log_ndtr(-thresholds) + ROUNDING


def _largest(at: Callable[[FloatArray], FloatArray]) -> float:
    thresholds = np.linspace(0.0, LARGEST_THRESHOLD, THRESHOLDS)
    found = at(thresholds)
    best = int(np.argmax(found))
    near = thresholds[max(best - 1, 0)], thresholds[min(best + 1, THRESHOLDS - 1)]
    return float(max(found[best], at(np.linspace(*near, THRESHOLDS)).max()))


def counted_lower(plan: Plan, noise_multiplier: float) -> CountedLower | None:
    """None where the law of the participations, or the vector v, is not known."""
    draws = plan.sampling.independent_sampling(plan)
    participants = plan.sampling.participants(plan)
    if isinstance(draws, Missing) or isinstance(participants, Missing):
        return None
    if draws.most is not None or draws.copies != 1:
        return None
    strategy = plan.strategy
    if strategy.coefficients is None and plan.steps > MOST_DENSE_STEPS:
        return None
    (participant,) = participants
    with np.errstate(all="ignore"):
        shift = _shift_of(plan) / noise_multiplier * (1 - ROUNDING)
    return CountedLower(participant, shift) if 0 < shift < math.inf else None


def _shift_of(plan: Plan) -> float:
    """min g / |v| for v = C^-T 1, g = C^T v with its rounding taken off."""
    from scipy.linalg import solve_triangular
    from scipy.signal import lfilter

    strategy, ones = plan.strategy, np.ones(plan.steps)
    if strategy.coefficients is None:
        matrix = strategy.to_matrix()
        v = solve_triangular(matrix.T, ones, lower=False)
        g, size = matrix.T @ v, np.abs(matrix.T) @ np.abs(v)
    else:
        taps = strategy.coefficients[: strategy.bands]
        v = lfilter([1.0], taps, ones)[::-1]
        g, size = (
            np.convolve(np.abs(v) if one else v, taps[::-1])[taps.size - 1 :] for one in (0, 1)
        )
    error = 4 * plan.steps * np.finfo(float).eps * float(np.abs(size).max())
    return float((g.min() - error) / np.linalg.norm(v))


@dataclass(frozen=True, eq=False)
class WithCountedLower(Bound):
    """A bound with this lower bound beside it, where removing is asked for."""

    bound: Bound
    below: CountedLower

    def epsilon(
        self, delta: float, *, directions: Sequence[Direction], accuracy: float
    ) -> UpperBound:
        """That of the bound."""
        found = self.bound.epsilon(delta, directions=directions, accuracy=accuracy)
        if "remove" not in directions:
            return found
        return replace(found, find_lower=lambda: self.below.epsilon(delta))

    def delta(
        self, epsilon: float, *, directions: Sequence[Direction], accuracy: float
    ) -> UpperBound:
        """That of the bound."""
        found = self.bound.delta(epsilon, directions=directions, accuracy=accuracy)
        if "remove" not in directions:
            return found
        return replace(found, find_lower=lambda: self.below.delta(epsilon))

    def as_profile(self) -> Profile:
        """That of the bound."""
        return self.bound.as_profile()

    def coarse_epsilon(self, delta: float, *, directions: Sequence[Direction]) -> float:
        """That of the bound."""
        return self.bound.coarse_epsilon(delta, directions=directions)
