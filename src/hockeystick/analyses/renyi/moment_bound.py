"""From moments of the likelihood ratio to bounds on epsilon and delta.

Orders between integers are covered by convexity, every request takes the order that suits it best,
and more orders are computed while they may help.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, Protocol

import numpy as np

from hockeystick._numerics.law import Resolution
from hockeystick._numerics.moments import PowerMoments
from hockeystick.analyses.renyi.conversion import (
    Converted,
    delta_from_moments,
    epsilon_from_moments,
    useful_orders,
)
from hockeystick.bounds.bound import Bound, UpperBound
from hockeystick.bounds.delta_curve import DeltaCurve, profile_of_deltas
from hockeystick.profile import Profile
from hockeystick.profile.expressions.base import Expression
from hockeystick.profile.refinement import EPSILON_NATS, Direction, tail_below

__all__ = ["MomentBound", "MomentsOfRun", "RunMoments", "moments_of"]

# Orders are computed up to the first of these, and further while larger ones may help.
FIRST_ORDERS, MORE_ORDERS, MOST_ORDERS = 64, 4, 4096
# The step of the laws from which moments of the add direction are taken.
STEP = 0.02
# The profile made of the bounds: its smallest delta, and how many corners it has on either side.
SMALLEST_DELTA, CORNERS = 1e-30, 400
# For a delta, tails of these sizes are cut until that does not matter beside it.
TAILS = (1e-20, 1e-60, 1e-280)


class RunMoments(NamedTuple):
    """Moments of a run by order, and how the one of an integer order was found."""

    power: PowerMoments
    details: Callable[[int], Mapping[str, object]] = lambda order: {}


class MomentsOfRun(Protocol):
    """Where moments come from."""

    def __call__(self, largest: int, *, reverse: bool, resolution: Resolution) -> RunMoments:
        """Upper bounds on E_Q[LR^m], or E_P[LR^-m] if `reverse`, for the orders up to `largest`."""


def moments_of(expression: Expression) -> MomentsOfRun:
    """Those of a dominating pair."""

    def moments(largest: int, *, reverse: bool, resolution: Resolution) -> RunMoments:
        return RunMoments(expression.power_moments(largest, reverse=reverse, resolution=resolution))

    return moments


class _Best(NamedTuple):
    """A bound, the order that gave it, and how its moment was found."""

    value: float
    order: float
    details: Mapping[str, object]


class MomentBound(Bound):
    """Bounds on one run from the moments of its likelihood ratio, in both directions."""

    def __init__(self, moments: MomentsOfRun) -> None:
        self._of_run = moments
        self._known: dict[tuple[Direction, float, int], RunMoments] = {}

    def epsilon(
        self, delta: float, *, directions: Sequence[Direction], accuracy: float
    ) -> UpperBound:
        """The best order for this delta; nothing is refined, so any accuracy is reached."""
        return _worst(directions, lambda d, enough: self._epsilon(delta, d, enough=enough))

    def delta(
        self, epsilon: float, *, directions: Sequence[Direction], accuracy: float
    ) -> UpperBound:
        """The best order for this epsilon; nothing is refined, so any accuracy is reached."""
        return _worst(directions, lambda d, enough: self._delta(epsilon, d, enough=enough))

    def as_profile(self) -> Profile:
        """The convex envelope of the bounds at many epsilons, in both directions."""
        return profile_of_deltas(self._delta_curve("remove"), self._delta_curve("add"))

    def _epsilon(self, delta: float, direction: Direction, *, enough: float = 0.0) -> _Best:
        """At most `enough` need not be improved: the other direction is worse already."""
        return self._grown(
            direction,
            tail_below(delta),
            convert=lambda moments: epsilon_from_moments(moments, delta),
            settled=lambda moments, best: (
                best.value <= enough or not useful_orders(moments, best.value)
            ),
        )

    def _delta(self, epsilon: float, direction: Direction, *, enough: float = 0.0) -> _Best:
        """At most `enough` need not be improved."""
        for tail in TAILS:
            best = self._grown(
                direction,
                tail,
                convert=lambda moments: delta_from_moments(moments, epsilon),
                settled=lambda moments, best: (
                    best.value <= enough or not useful_orders(moments, epsilon)
                ),
            )
            if best.value <= enough or tail <= 1e-5 * best.value:
                break
        return best

    def _grown(
        self,
        direction: Direction,
        tail: float,
        *,
        convert: Callable[[PowerMoments], Converted],
        settled: Callable[[PowerMoments, Converted], bool],
    ) -> _Best:
        """Convert with more and more orders while they may help."""
        orders = FIRST_ORDERS
        while True:
            moments = self._moments(direction, tail, orders)
            best = convert(moments.power)
            if orders >= MOST_ORDERS or settled(moments.power, best):
                known = math.isfinite(best.order)
                return _Best(*best, moments.details(math.ceil(best.order)) if known else {})
            orders *= MORE_ORDERS

    def _moments(self, direction: Direction, tail: float, orders: int) -> RunMoments:
        key = (direction, tail, orders)
        if key not in self._known:
            resolution = Resolution(STEP, tail, EPSILON_NATS)
            reverse = direction == "add"
            self._known[key] = self._of_run(orders, reverse=reverse, resolution=resolution)
        return self._known[key]

    def _delta_curve(self, direction: Direction) -> DeltaCurve:
        """Bounds on delta at losses from 0 to where it is negligible, or all mass at infinity."""
        apart = self._moments(direction, tail_below(SMALLEST_DELTA), FIRST_ORDERS).power.apart
        end = self._epsilon(min(SMALLEST_DELTA + 1.001 * apart, 0.999), direction).value
        loss = np.linspace(0.0, max(end, 1e-3) if math.isfinite(end) else 1.0, CORNERS)
        return loss, np.array([self._delta(epsilon, direction).value for epsilon in loss])


def _worst(
    directions: Sequence[Direction], read: Callable[[Direction, float], _Best]
) -> UpperBound:
    """The direction that decides; one that is better already need not be improved."""
    worse, worst = directions[0], read(directions[0], 0.0)
    for direction in directions[1:]:
        found = read(direction, worst.value)
        if found.value > worst.value:
            worse, worst = direction, found
    return UpperBound(worst.value, worse, {"order": worst.order, **worst.details})
