"""Several Renyi orders at once: their shares of delta, what is spent at each, what follows from it.

At one order a let D be the sum of the divergences of the steps so far, both directions. However the
steps are chosen, E_P[e^((a-1)(L_T - D_T))] <= 1 at every stopping time T: one step multiplies the
conditional expectation by at most 1, and a non-negative supermartingale that starts at 1 stays at
most 1 in the mean when it is stopped. With the largest A for which 1 - e^(c-x) <= A e^((a-1)x),

    E_P[(1 - e^(D_T + c - L_T))+] <= A,    A = e^(-(a-1)c) (1/a) (1 - 1/a)^(a-1),

which is the conversion of [CanonneKamathSteinke20], for a random D_T. So for every event E

    P(E) <= E_Q[1_E e^(D_T + c)] + A,      and with P and Q exchanged.            (1)

*Filter.* Order k with the share delta_k ends when D would exceed its budget; the run ends with the
last order. Split an event E by the order that ended last: on that part the run is the run that was
stopped when this order ended. Its budget bounds the part by e^epsilon Q(E, k) + delta_k; the parts
add up.

*Odometer.* Here no order ends. At every time epsilon is the smallest of D_k + c_k, with c_k such
that A = delta_k. Split E by the order that gives it at the time T, and apply (1) to each part: for
any stopping time T, P(E) <= E_Q[1_E e^(epsilon_T)] + delta.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from hockeystick._numerics.envelope import law_of_deltas
from hockeystick.bounds import Bound, UpperBound
from hockeystick.fdp.schedule import EqualSteps
from hockeystick.filters.charging import ROUNDING
from hockeystick.filters.renyi.divergence import (
    budget_at_order,
    divergence_of_profile,
    divergence_of_schedule,
    epsilon_at_order,
    log_delta_at_order,
    order_of_smallest,
    sampled_divergences,
)
from hockeystick.filters.request import GaussianStep, StepRequest
from hockeystick.profile import Profile
from hockeystick.profile.expressions.discrete import Atoms
from hockeystick.profile.resolution import Direction

__all__ = [
    "Ladder",
    "OdometerBound",
    "OrdersBound",
    "added_up",
    "divergences_of",
    "ladder_for_epsilon",
    "ladder_for_odometer",
    "of_step",
]

# Orders for whatever is not expected, and their shares of delta where nothing is: at epsilon
# between 0.3 and 10 and delta between 1e-4 and 1e-9 the best order is between 3 and 40.
OTHERS = (2.0, 3.0, 4.0, 5.6, 8.0, 11.0, 16.0, 24.0, 40.0, 80.0, 160.0)
BLIND = (0.02, 0.03, 0.07, 0.13, 0.25, 0.15, 0.12, 0.09, 0.07, 0.04, 0.03)
# What all others have together where something is expected: for the expected order delta is then
# smaller by as much, which costs 1 to 2 % of the steps (docs/adaptive.md, Several orders).
SHARE_OF_OTHERS = 0.06
# Beyond this epsilon nothing is claimed below delta = 1.
LARGEST_EPSILON = 700.0
# The profile made of the bounds ends where delta is this; corners on either side.
SMALLEST_DELTA, CORNERS = 1e-30, 400


class Ladder(NamedTuple):
    """Orders, and the share of delta that each of them has."""

    orders: tuple[float, ...]
    shares: tuple[float, ...]


def divergences_of(
    ladder: Ladder, request: StepRequest, known: dict[object, tuple[float, ...]]
) -> tuple[float, ...]:
    """Of all steps of the request at each order, rounded up; remembered by the step in `known`."""
    key = request.step if request.profile is None else request.profile.expression
    if key not in known:
        known[key] = tuple(_of_one(order, request) for order in ladder.orders)
    once = known[key]
    if request.steps == 1:
        return once
    return tuple(request.steps * one * (1 + ROUNDING) for one in once)


def _of_one(order: float, request: StepRequest) -> float:
    if request.step is None:
        assert request.profile is not None
        return divergence_of_profile(order, request.profile)
    return of_step(order, request.step)


def of_step(order: float, step: GaussianStep) -> float:
    """The divergence of one step."""
    return float(sampled_divergences(order, step.rate, np.array([step.square]))[0])


def added_up(first: float, second: float) -> float:
    """Rounded up."""
    return math.nextafter(first + second, math.inf)


def ladder_for_epsilon(
    expected: Sequence[EqualSteps] | None, *, epsilon: float, delta: float
) -> Ladder:
    """The best order for what is expected with most of delta, and others that have a budget."""

    def able(shares: dict[float, float]) -> dict[float, float]:
        return {a: s for a, s in shares.items() if budget_at_order(a, epsilon, s * delta) > 0}

    part = 1.0 if expected is None else SHARE_OF_OTHERS
    others = dict(zip(OTHERS, BLIND, strict=True))
    # Fewer orders have larger shares; those that have no budget then are left out again.
    others = able(_normalised(able(_normalised(others, part)), part))
    if expected is None:
        return Ladder(tuple(others), tuple(others.values()))

    def share_of_budget(order: float) -> float:
        budget = budget_at_order(order, epsilon, (1 - SHARE_OF_OTHERS) * delta)
        return divergence_of_schedule(order, expected) / budget if budget > 0 else math.inf

    return _with_best(order_of_smallest(share_of_budget), others)


def ladder_for_odometer(expected: Sequence[EqualSteps] | None, *, delta: float) -> Ladder:
    """The order that gives the smallest epsilon after what is expected, and others."""
    part = 1.0 if expected is None else SHARE_OF_OTHERS
    others = _normalised(dict(zip(OTHERS, BLIND, strict=True)), part)
    if expected is None:
        return Ladder(tuple(others), tuple(others.values()))

    def epsilon_after(order: float) -> float:
        spent = divergence_of_schedule(order, expected)
        return epsilon_at_order(order, spent, (1 - SHARE_OF_OTHERS) * delta)

    return _with_best(order_of_smallest(epsilon_after), others)


def _with_best(best: float, others: dict[float, float]) -> Ladder:
    found = {best: 1 - SHARE_OF_OTHERS, **{a: s for a, s in others.items() if a != best}}
    return Ladder(tuple(found), tuple(found.values()))


def _normalised(shares: dict[float, float], part: float) -> dict[float, float]:
    """With the sum `part`, or a little less."""
    total = math.fsum(shares.values()) * (1 + 1e-12)
    return {order: part * share / total for order, share in shares.items()}


class OrdersBound(Bound):
    """The sum over orders of the delta that each one's divergence implies."""

    def __init__(self, orders: Sequence[float], divergences: Sequence[float]) -> None:
        self._pairs = tuple(zip(orders, divergences, strict=True))

    def epsilon(
        self, delta: float, *, directions: Sequence[Direction], accuracy: float
    ) -> UpperBound:
        """The smallest epsilon with such a delta, by bisection; the same in both directions."""
        return UpperBound(self._epsilon(delta))

    def delta(
        self, epsilon: float, *, directions: Sequence[Direction], accuracy: float
    ) -> UpperBound:
        """The same in both directions."""
        return UpperBound(self._delta(epsilon))

    def as_profile(self) -> Profile:
        """The pair with the largest convex profile below the bounds at many epsilons."""
        right = np.linspace(0.0, max(self._epsilon(SMALLEST_DELTA), 1e-3), CORNERS)
        delta = np.array([self._delta(epsilon) for epsilon in right])
        both = np.concatenate((-right[:0:-1], right)), np.concatenate((delta[:0:-1], delta))
        return Profile(Atoms(law_of_deltas(*both)))

    def _epsilon(self, delta: float) -> float:
        low, high = 0.0, LARGEST_EPSILON
        if self._delta(low) <= delta:
            return low
        if not self._delta(high) <= delta:
            return math.inf
        while low < (middle := (low + high) / 2) < high:
            low, high = (low, middle) if self._delta(middle) <= delta else (middle, high)
        return high

    def _delta(self, epsilon: float) -> float:
        logs = [log_delta_at_order(order, spent, epsilon) for order, spent in self._pairs]
        return min(math.fsum(math.exp(one) for one in logs) * (1 + 1e-14), 1.0)


class OdometerBound(OrdersBound):
    """The smallest delta that one order implies at its share: what an odometer shows at a time."""

    def __init__(
        self, orders: Sequence[float], divergences: Sequence[float], shares: Sequence[float]
    ) -> None:
        super().__init__(orders, divergences)
        self._shares = tuple(shares)

    def _delta(self, epsilon: float) -> float:
        found = [
            math.exp(log_delta_at_order(order, spent, epsilon)) / share
            for (order, spent), share in zip(self._pairs, self._shares, strict=True)
        ]
        return min(min(found, default=1.0) * (1 + 1e-14), 1.0)
