"""From a Renyi divergence at one order to (epsilon, delta), and back, and which order to use.

A divergence D at the order a, in both directions, implies (epsilon, delta)-DP with

    epsilon = D - (log delta + a log a) / (a - 1) + log(a - 1)

[CanonneKamathSteinke20, Proposition 12].

Any order is valid; only tightness depends on the choice.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from hockeystick._numerics.envelope import law_of_deltas
from hockeystick.bounds import Bound, UpperBound
from hockeystick.filters.renyi.divergence import LARGEST_FRACTIONAL
from hockeystick.profile import Profile
from hockeystick.profile.expressions.discrete import Atoms
from hockeystick.profile.resolution import Direction

__all__ = [
    "OneOrder",
    "budget_at_order",
    "epsilon_at_order",
    "log_delta_at_order",
    "order_of_smallest",
]

# What the conversion loses, relative to its largest term: 64 roundings of 2^-53.
CONVERSION_ROUNDING = 2.0**-47
# The profile made of the bounds ends where delta is this, far below any in use; with so
# many corners on either side epsilon is within 1e-3 of the bound.
SMALLEST_DELTA, CORNERS = 1e-30, 400


def budget_at_order(order: float, epsilon: float, delta: float) -> float:
    """The largest divergence at this order that implies (epsilon, delta)-DP, rounded down.

    The conversion solved for the divergence. Not positive if no divergence implies it.
    """
    gain, size = _conversion(order, math.log(delta))
    return epsilon + gain - CONVERSION_ROUNDING * (size + epsilon)


def epsilon_at_order(order: float, divergence: float, delta: float) -> float:
    """The epsilon that this divergence implies at delta, rounded up; at least 0."""
    gain, size = _conversion(order, math.log(delta))
    return max(divergence - gain + CONVERSION_ROUNDING / 2 * (size + divergence), 0.0)


def log_delta_at_order(order: float, divergence: float, epsilon: float) -> float:
    """The logarithm of the delta that this divergence implies at epsilon, rounded up."""
    gain, size = _conversion(order, 0.0)
    slack = CONVERSION_ROUNDING / 2 * (size + divergence + epsilon)
    return min((order - 1) * (divergence - epsilon - gain + slack), 0.0)


def _conversion(order: float, log_delta: float) -> tuple[float, float]:
    """The difference of budget and epsilon, and the size of the terms that it is made of."""
    first = log_delta / (order - 1)
    second = order * math.log(order) / (order - 1)
    third = math.log(order - 1)
    return first + second - third, abs(first) + second + abs(third)


class OneOrder(Bound):
    """Upper bounds from one divergence at one order."""

    def __init__(self, order: float, divergence: float) -> None:
        self._order, self._divergence = order, divergence

    def epsilon(
        self, delta: float, *, directions: Sequence[Direction], accuracy: float
    ) -> UpperBound:
        """The same in both directions."""
        return UpperBound(epsilon_at_order(self._order, self._divergence, delta))

    def delta(
        self, epsilon: float, *, directions: Sequence[Direction], accuracy: float
    ) -> UpperBound:
        """The same in both directions."""
        return UpperBound(self._delta(epsilon))

    def as_profile(self) -> Profile:
        """The pair with the largest convex profile below the bounds at many epsilons."""
        end = epsilon_at_order(self._order, self._divergence, SMALLEST_DELTA)
        loss = np.linspace(0.0, max(end, 1e-3), CORNERS)
        delta = np.array([self._delta(epsilon) for epsilon in loss])
        both = np.concatenate((-loss[:0:-1], loss)), np.concatenate((delta[:0:-1], delta))
        return Profile(Atoms(law_of_deltas(*both)))

    def _delta(self, epsilon: float) -> float:
        log_delta = log_delta_at_order(self._order, self._divergence, epsilon)
        return min(math.exp(log_delta) * (1 + 1e-15), 1.0)


# Orders that are tried first: integers, then steps of about 1.5 %; 1.5 stands for what lies below
# 2. The best of them allows within 0.1 % of the steps that the best order does.
COARSE: tuple[float, ...] = (
    1.5,
    *(float(order) for order in range(2, 64)),
    *sorted({float(round(64 * 1.015**k)) for k in range(187)}),
)


def order_of_smallest(cost: Callable[[float], float]) -> float:
    """The order at which a cost is smallest: the best coarse one, refined to tenths below 10.

    Any order is valid; only tightness depends on the search.
    """
    best = min(COARSE, key=cost)
    tenths = [round(best + tenth / 10, 1) for tenth in range(-9, 10)]
    return min([best, *(a for a in tenths if 1 < a < LARGEST_FRACTIONAL)], key=cost)
