"""From moments of the likelihood ratio to a source of numbers.

Orders between integers are covered by convexity, every question takes the order that suits it best,
and more orders are computed while they may help.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np

from hockeystick._numerics.law import Resolution
from hockeystick._numerics.moments import PowerMoments
from hockeystick.analyses.renyi.conversion import (
    Converted,
    delta_from_moments,
    epsilon_from_moments,
    useful_orders,
)
from hockeystick.bounds.delta_curve import Prices, profile_of_prices
from hockeystick.profile import Profile
from hockeystick.profile.refinement import EPSILON_NATS, Bounds, Direction, tail_below

__all__ = ["MomentBound", "MomentsOfRun"]

# Orders are computed up to the first of these, and further while larger ones may help.
FIRST_ORDERS, MORE_ORDERS, MOST_ORDERS = 64, 4, 4096
# The step of the laws from which moments of the add direction are taken.
STEP = 0.02
# The profile made of the bounds: its smallest delta, and how many corners it has on either side.
SMALLEST_DELTA, CORNERS = 1e-30, 400
# Where a delta is asked for, tails below this are tried until they do not matter beside it.
TAILS = (1e-20, 1e-60, 1e-280)


class MomentsOfRun(Protocol):
    """Where moments come from."""

    def __call__(self, largest: int, *, reverse: bool, resolution: Resolution) -> PowerMoments:
        """Upper bounds on E_Q[LR^m], or E_P[LR^-m] if `reverse`, for the orders up to `largest`."""


class MomentBound:
    """Bounds on one run from the moments of its likelihood ratio, in both directions."""

    has_formula = False

    def __init__(self, moments: MomentsOfRun) -> None:
        self._of_run = moments
        self._known: dict[tuple[Direction, float, int], PowerMoments] = {}

    def epsilon_bounds(
        self, delta: float, *, directions: Sequence[Direction], accuracy: float
    ) -> Bounds:
        """The best order for this delta; nothing is claimed from below."""
        worst = 0.0
        for direction in directions:
            worst = max(worst, self._epsilon(delta, direction, enough=worst).value)
        return Bounds(0.0, worst)

    def delta_bounds(
        self, epsilon: float, *, directions: Sequence[Direction], accuracy: float
    ) -> Bounds:
        """The best order for this epsilon; nothing is claimed from below."""
        worst = 0.0
        for direction in directions:
            worst = max(worst, self._delta(epsilon, direction, enough=worst).value)
        return Bounds(0.0, worst)

    def as_profile(self) -> Profile:
        """The convex envelope of the bounds at many epsilons, in both directions."""
        return profile_of_prices(self._prices("remove"), self._prices("add"))

    def explain(
        self, *, delta: float | None, epsilon: float | None, directions: Sequence[Direction]
    ) -> dict[str, object]:
        """The direction and the order behind a number."""
        worse, worst = directions[0], Converted(-math.inf, math.nan)
        for direction in directions:
            # As in the bounds: a direction that is better already need not be improved.
            if delta is not None:
                found = self._epsilon(delta, direction, enough=max(worst.value, 0.0))
            else:
                found = self._delta(epsilon or 0.0, direction, enough=max(worst.value, 0.0))
            if found.value > worst.value:
                worse, worst = direction, found
        return {"direction": worse, "order": worst.order}

    def _epsilon(self, delta: float, direction: Direction, *, enough: float = 0.0) -> Converted:
        """At most `enough` need not be improved: the other direction is worse already."""
        return self._grown(
            direction,
            tail_below(delta),
            convert=lambda moments: epsilon_from_moments(moments, delta),
            settled=lambda moments, best: (
                best.value <= enough or not useful_orders(moments, best.value)
            ),
        )

    def _delta(self, epsilon: float, direction: Direction, *, enough: float = 0.0) -> Converted:
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
    ) -> Converted:
        """Convert with more and more orders while they may help."""
        orders = FIRST_ORDERS
        while True:
            moments = self._moments(direction, tail, orders)
            best = convert(moments)
            if orders >= MOST_ORDERS or settled(moments, best):
                return best
            orders *= MORE_ORDERS

    def _moments(self, direction: Direction, tail: float, orders: int) -> PowerMoments:
        key = (direction, tail, orders)
        if key not in self._known:
            resolution = Resolution(STEP, tail, EPSILON_NATS)
            reverse = direction == "add"
            self._known[key] = self._of_run(orders, reverse=reverse, resolution=resolution)
        return self._known[key]

    def _prices(self, direction: Direction) -> Prices:
        """Bounds on delta at losses from 0 to where it is negligible, or all mass at infinity."""
        apart = self._moments(direction, tail_below(SMALLEST_DELTA), FIRST_ORDERS).apart
        end = self._epsilon(min(SMALLEST_DELTA + 1.001 * apart, 0.999), direction).value
        loss = np.linspace(0.0, max(end, 1e-3) if math.isfinite(end) else 1.0, CORNERS)
        return loss, np.array([self._delta(epsilon, direction).value for epsilon in loss])
