"""Bounds on epsilon and delta from moments of the likelihood ratio.

For every order a > 1 and g > 0, (x - g)+ <= x^a g^(1-a) (a - 1)^(a-1) / a^a at every x >= 0 (the
two sides touch at x = g a / (a - 1)), so

    H(P || Q)(g) <= E_Q[LR^a] g^(1-a) (a - 1)^(a-1) / a^a + P(LR = infinity).

This is [CanonneKamathSteinke20, Proposition 12], and does not need E_Q[LR] = 1. Between integer
orders log E_Q[LR^a] is convex in a (Hoelder), so it lies below the chord. Every request takes the
order that suits it best, and more orders are computed while they may help. Where a small one is
best, moments at real orders take the place of chords.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, Protocol

import numpy as np

from hockeystick._numerics.divergence import ROUNDING
from hockeystick._numerics.law import FloatArray, Resolution
from hockeystick._numerics.moments import MomentNodes, PowerMoments
from hockeystick._numerics.search import smallest_argument
from hockeystick.bounds import Bound, UpperBound
from hockeystick.bounds.profiles import DeltaCurve, profile_of_deltas
from hockeystick.profile import Profile
from hockeystick.profile.expressions import Expression
from hockeystick.profile.resolution import EPSILON_NATS, Direction, tail_below

__all__ = [
    "Converted",
    "MomentBound",
    "MomentsOfRun",
    "OrderGrowth",
    "RunMoments",
    "bound_rises",
    "delta_from_moments",
    "epsilon_from_moments",
    "larger_orders_may_help",
    "moments_of",
]


class Converted(NamedTuple):
    """A bound, and the order that gave it."""

    value: float
    order: float


def delta_from_moments(moments: PowerMoments | MomentNodes, epsilon: float) -> Converted:
    """The smallest bound on H(P || Q) at e^epsilon over all real orders that are covered."""
    log_delta, order = _log_delta(_nodes(moments), epsilon)
    value = (math.exp(min(log_delta, 0.0)) + moments.apart) * (1 + ROUNDING)
    return Converted(min(value, 1.0), order)


def epsilon_from_moments(moments: PowerMoments | MomentNodes, delta: float) -> Converted:
    """The smallest epsilon >= 0 at which some order proves H(P || Q) <= delta."""
    left = delta / (1 + ROUNDING) - moments.apart
    if not left > 0:
        return Converted(math.inf, math.nan)
    target, nodes = math.log(left), _nodes(moments)

    def holds(epsilon: float) -> bool:
        return _log_delta(nodes, epsilon)[0] <= target

    epsilon = smallest_argument(holds)[1]
    order = _log_delta(nodes, epsilon)[1] if math.isfinite(epsilon) else math.nan
    return Converted(epsilon, order)


def larger_orders_may_help(moments: PowerMoments, epsilon: float) -> bool:
    """Whether orders above those given might still improve on `epsilon`.

    The bound of order a is the Renyi divergence of order a plus phi(a), and phi(a) >= 0 for delta
    up to (1 - 1/a)^(a-1) / a >= 1/(e a). The divergence grows with a: once it exceeds an epsilon
    that is known, larger orders are of no use [FeldmanShenfeld25, Claim C.1]. Its proof gives the
    range of delta as 1/(2 a), which is too large (docs/errata.md). For delta above 1/(e a) this is
    a rule of thumb; only tightness depends on it.
    """
    largest = moments.log.size - 1
    return bool(moments.log[largest] < (largest - 1) * epsilon)


def bound_rises(moments: PowerMoments, epsilon: float) -> bool:
    """Whether the last order bounds delta worse than the one before it.

    log E_Q[LR^a] is convex in a, and so is (a - 1) log(a - 1) - a log a: if the bound rises once,
    larger orders are worse. So it is for exact moments.
    """
    order = moments.log.size - 1
    before, last = moments.log[order - 1], moments.log[order]
    concave = [(a - 1) * math.log(a - 1) - a * math.log(a) for a in (order - 1, order)]
    return bool(last - before - epsilon + concave[1] - concave[0] > 0)


def _nodes(moments: PowerMoments | MomentNodes) -> MomentNodes:
    of_integers = MomentNodes(np.arange(1.0, moments.log.size), moments.log[1:], moments.apart)
    return moments if isinstance(moments, MomentNodes) else of_integers


def _log_delta(nodes: MomentNodes, epsilon: float) -> tuple[float, float]:
    """The minimum over a of the log of the bound, and where it is.

    On the chord between two orders, of slope s, the bound is convex in a with its minimum where
    (a - 1)/a = e^(epsilon - s).
    """
    first, last = nodes.orders[:-1], nodes.orders[1:]
    start, end = nodes.log[:-1], nodes.log[1:]
    with np.errstate(invalid="ignore", over="ignore"):
        slope = (end - start) / (last - first)
        steep = slope > epsilon
        inside = np.where(steep, -1 / np.expm1(np.where(steep, epsilon - slope, -1.0)), np.inf)
        a = np.clip(inside, first, last)
        moment = np.where(a == last, end, start + (a - first) * slope)
        with np.errstate(divide="ignore"):
            concave = np.where(a > 1, (a - 1) * np.log(a - 1), 0.0) - a * np.log(a)
        value = moment - (a - 1) * epsilon + concave
    value = np.where(np.isnan(value), np.inf, value)
    best = int(np.argmin(value))
    return float(value[best]), float(a[best])


# Orders are computed up to the first of these, and further while larger ones may help; their cost
# grows with the square of the largest.
FIRST_ORDERS, MORE_ORDERS, MOST_ORDERS = 64, 4, 4096
# Below this best order, chords between integers lose much, and moments at these orders are asked
# for as well; up to 2 they are the eighth root of two apart, in a - 1.
SMALL_ORDER = 4.0
UP_TO_TWO = 1 + 2.0 ** (np.arange(-64, 1) / 8)
REAL_ORDERS = np.concatenate(([1.0], UP_TO_TWO, [2.25, 2.5, 3.0, 3.5, 4.0]))
# The step of the laws from which moments of the add direction are taken: each rounding
# adds about step^2/6 = 7e-5 of the variance.
STEP = 0.02
# The profile made of the bounds: its smallest delta, and how many corners it has on either side;
# between two of them it is a chord.
SMALLEST_DELTA, CORNERS = 1e-30, 400
# For a delta, tails of these sizes are cut until that does not matter beside it.
TAILS = (1e-20, 1e-60, 1e-280)


class RunMoments(NamedTuple):
    """Moments of a run by order, and how the one of an integer order was found.

    `exact` says that none of them is a bound alone, so that larger orders are not needed once a
    bound on delta rises.
    """

    power: PowerMoments
    details: Callable[[int], Mapping[str, object]] = lambda order: {}
    exact: bool = False
    # Upper bounds at real orders, where more than chords is known.
    real: Callable[[FloatArray], MomentNodes] | None = None


class MomentsOfRun(Protocol):
    """Where moments come from."""

    def __call__(self, largest: int, *, reverse: bool, resolution: Resolution) -> RunMoments:
        """Upper bounds on E_Q[LR^m], or E_P[LR^-m] if `reverse`, for the orders up to `largest`."""


def moments_of(expression: Expression) -> MomentsOfRun:
    """Those of a dominating pair."""

    def moments(largest: int, *, reverse: bool, resolution: Resolution) -> RunMoments:
        return RunMoments(
            expression.power_moments(largest, reverse=reverse, resolution=resolution),
            real=lambda orders: expression.moment_nodes(
                orders, reverse=reverse, resolution=resolution
            ),
        )

    return moments


class _Best(NamedTuple):
    """A bound, the order that gave it, and how its moment was found."""

    value: float
    order: float
    details: Mapping[str, object]


class OrderGrowth(NamedTuple):
    """How many orders are computed at first, and how many times as many if they do not suffice."""

    first: int = FIRST_ORDERS
    more: float = MORE_ORDERS


USUAL_GROWTH = OrderGrowth()


class MomentBound(Bound):
    """Bounds on one run from the moments of its likelihood ratio, in both directions."""

    def __init__(self, moments: MomentsOfRun, growth: OrderGrowth = USUAL_GROWTH) -> None:
        self._of_run, self._growth = moments, growth
        self._known: dict[tuple[Direction, float, int], RunMoments] = {}
        self._real: dict[tuple[Direction, float], MomentNodes] = {}

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
            settled=lambda moments, best: best.value <= enough or _settled(moments, best.value),
        )

    def _delta(self, epsilon: float, direction: Direction, *, enough: float = 0.0) -> _Best:
        """At most `enough` need not be improved."""
        for tail in TAILS:
            best = self._grown(
                direction,
                tail,
                convert=lambda moments: delta_from_moments(moments, epsilon),
                settled=lambda moments, best: best.value <= enough or _settled(moments, epsilon),
            )
            if best.value <= enough or tail <= 1e-5 * best.value:
                break
        return best

    def _grown(
        self,
        direction: Direction,
        tail: float,
        *,
        convert: Callable[[PowerMoments | MomentNodes], Converted],
        settled: Callable[[RunMoments, Converted], bool],
    ) -> _Best:
        """Convert with more and more orders while they may help."""
        orders = self._growth.first
        while True:
            moments = self._moments(direction, tail, orders)
            best = convert(moments.power)
            if orders >= MOST_ORDERS or settled(moments, best):
                break
            orders = min(math.ceil(orders * self._growth.more), MOST_ORDERS)
        if moments.real is not None and not best.order >= SMALL_ORDER:
            if (direction, tail) not in self._real:
                self._real[direction, tail] = moments.real(REAL_ORDERS)
            if (between := convert(self._real[direction, tail])).value < best.value:
                return _Best(*between, {})
        known = math.isfinite(best.order)
        return _Best(*best, moments.details(math.ceil(best.order)) if known else {})

    def _moments(self, direction: Direction, tail: float, orders: int) -> RunMoments:
        key = (direction, tail, orders)
        if key not in self._known:
            resolution = Resolution(STEP, tail, EPSILON_NATS)
            reverse = direction == "add"
            self._known[key] = self._of_run(orders, reverse=reverse, resolution=resolution)
        return self._known[key]

    def _delta_curve(self, direction: Direction) -> DeltaCurve:
        """Bounds on delta at losses from 0 to where it is negligible, or all mass at infinity."""
        apart = self._moments(direction, tail_below(SMALLEST_DELTA), self._growth.first).power.apart
        end = self._epsilon(min(SMALLEST_DELTA + 1.001 * apart, 0.999), direction).value
        loss = np.linspace(0.0, max(end, 1e-3) if math.isfinite(end) else 1.0, CORNERS)
        return loss, np.array([self._delta(epsilon, direction).value for epsilon in loss])


def _settled(moments: RunMoments, epsilon: float) -> bool:
    """Whether larger orders are of no use."""
    if not larger_orders_may_help(moments.power, epsilon):
        return True
    return moments.exact and bound_rises(moments.power, epsilon)


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
