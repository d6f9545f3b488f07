"""Points (epsilon, delta) of a calibrated run, and what an attack can find within them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from hockeystick import _validate as check
from hockeystick.accounting.account import account
from hockeystick.accounting.compare import Compared
from hockeystick.errors import InvalidParameter, PrecisionError
from hockeystick.guarantee import Guarantee, Kind
from hockeystick.report.noise_curve import COSTLY, CURVE_BUDGET, drawn_methods

__all__ = ["PrivacyPoints", "privacy_points"]

# Fewer where nothing is exact and several methods are asked.
POINTS, POINTS_OF_EACH = 24, 12
LARGEST_DELTA, MIDDLE_DELTA, SMALLEST_DELTA, BELOW_TARGET = 0.3, 0.03, 1e-8, 1e-2
# Where methods that take seconds for each number are asked as well, as powers of the target.
COSTLY_POWERS = (0.25, 0.5, 0.75)
ACCURACY = 0.01
# More than what rounding changes: relatively in sums, absolutely in differences from one.
OUTWARDS, CANCELLED = 1 + 1e-12, 1e-15
# Points above this say nothing about attacks, and their exponentials would overflow.
MOST_EPSILON = 700.0


@dataclass(frozen=True)
class PrivacyPoints:
    """The run is (epsilon[i], delta[i])-DP for every i, in both directions; epsilon rises."""

    epsilon: tuple[float, ...]
    delta: tuple[float, ...]
    kind: Kind

    def true_positive_rate(self, false_positive_rate: Any) -> Any:
        """No attack has more true positives at this rate of false ones, for a number or an array.

        min over the points of delta + e^epsilon x and 1 - e^-epsilon (1 - delta - x), x the false
        positive rate: the definition in both directions, for the event that the attack says yes and
        for its complement [DongRothSu22, Proposition 2.12]. An upper bound, rounded up;
        with finitely many points a little above that of the whole profile.
        """
        rates = check.vector("false_positive_rate", false_positive_rate, "in [0, 1]")
        if not np.all((rates >= 0) & (rates <= 1)):
            raise InvalidParameter("false_positive_rate", "in [0, 1]", false_positive_rate)
        rate = rates[..., None]
        epsilon, delta = np.array(self.epsilon), np.array(self.delta)
        said = delta + np.exp(epsilon) * rate
        not_said = 1 - np.exp(-epsilon) * (1 - delta - rate) + CANCELLED
        least = np.minimum(said, not_said).min(axis=-1) * OUTWARDS
        bound = np.clip(least, rates, 1.0)
        return float(bound) if np.ndim(false_positive_rate) == 0 else bound


def privacy_points(one: Compared) -> PrivacyPoints:
    """The profile of the candidate at its noise, from the methods that "auto" asks.

    One that is exact needs no others. Methods that take seconds for a number are asked at three
    deltas only, beside the point that is known from the calibration. Corners of the convex hull of
    everything that is proved.
    """
    found = one.calibration
    exact = found.guarantee.analyses[0].tight
    asked = {analysis.method for analysis in found.guarantee.analyses}
    methods = ["auto"] if exact else [name for name in drawn_methods(one) if name in asked]
    lowest = min(SMALLEST_DELTA, BELOW_TARGET * found.delta)
    deltas = _deltas(lowest, POINTS if exact else POINTS_OF_EACH)
    # The first one holds for everything.
    points = [(0.0, 1.0), (one.answer.value, found.delta)]
    for method in methods:
        guarantee = account(
            one.plan,
            noise_multiplier=found.noise_multiplier,
            method=method,
            accuracy=ACCURACY,
            budget=CURVE_BUDGET,
        )
        if method in COSTLY:
            points += _points(guarantee, [found.delta**power for power in COSTLY_POWERS])
        else:
            points += [*_points(guarantee, deltas), (0.0, _number(partial(guarantee.delta, 0.0)))]
    kept = _lower_hull([(e, d) for e, d in points if e <= MOST_EPSILON and d <= 1])
    return PrivacyPoints(tuple(e for e, _ in kept), tuple(d for _, d in kept), one.answer.kind)


def _deltas(lowest: float, points: int) -> list[float]:
    """Closer to each other where they are large: there the trade-off curve bends."""
    large = points // 3
    near = np.geomspace(LARGEST_DELTA, MIDDLE_DELTA, large, endpoint=False)
    return [*near.tolist(), *np.geomspace(MIDDLE_DELTA, lowest, points - large).tolist()]


def _points(guarantee: Guarantee, deltas: Sequence[float]) -> list[tuple[float, float]]:
    return [(_number(partial(guarantee.epsilon, delta)), delta) for delta in deltas]


def _number(ask: Callable[[], float]) -> float:
    """What was asked for; less accurate than wanted it is still an upper bound."""
    try:
        return ask()
    except PrecisionError as error:
        return error.upper


def _lower_hull(points: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """Corners of the lower convex hull in (e^epsilon, delta), as long as delta falls.

    A profile is convex in e^epsilon, so nothing proved by the other points is lost.
    """
    hull: list[tuple[float, float]] = []
    for point in sorted(set(points)):
        if hull and point[1] >= hull[-1][1]:
            continue
        while len(hull) > 1 and _above(hull[-2], hull[-1], point):
            hull.pop()
        hull.append(point)
    return hull


def _above(
    left: tuple[float, float], middle: tuple[float, float], right: tuple[float, float]
) -> bool:
    """Whether the middle one lies on or above the chord of the others."""
    # Differences of e^epsilon relative to the middle one do not overflow.
    before, after = -math.expm1(left[0] - middle[0]), math.expm1(right[0] - middle[0])
    return (left[1] - middle[1]) * after <= (middle[1] - right[1]) * before
