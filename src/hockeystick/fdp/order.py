"""Comparing two curves: Blackwell order, calibration points and the Delta-divergence."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

import numpy as np

from hockeystick import _validate as check
from hockeystick._numerics.envelope import deltas
from hockeystick._numerics.law import FloatArray
from hockeystick.fdp.polygons import Nodes
from hockeystick.fdp.trade_off import TradeOff

__all__ = [
    "CalibrationPoints",
    "Order",
    "blackwell_order",
    "calibration_points",
    "crossings_of",
    "delta_divergence",
    "distance",
]

# Differences of H or f below this are floating point.
ROUNDING = 1e-12


class Order(Enum):
    """How two trade-off functions compare; the larger one is the more private one."""

    EQUAL = "equal"
    LARGER = "larger"
    SMALLER = "smaller"
    NONE = "none"


class CalibrationPoints(NamedTuple):
    """Where two curves cross: orders of the privacy curves, and type I errors of the functions."""

    gamma: FloatArray
    alpha: FloatArray


def blackwell_order(first: TradeOff, second: TradeOff, *, tolerance: float = ROUNDING) -> Order:
    """How `first` compares with `second` at every alpha: LARGER, SMALLER, EQUAL or NONE.

    Decided on the privacy curves (fdp_filters, Theorem A.7): the difference of two polygons is
    extreme at a corner of either, or in the limit. Differences of H up to `tolerance` count as
    none. The statement is about the two curves as given, whatever they bound.
    """
    tolerance = check.at_least("tolerance", tolerance, 0.0)
    one, other = _prices(first, second)
    above, below = np.any(one > other + tolerance), np.any(one < other - tolerance)
    if above and below:
        return Order.NONE
    if above:
        return Order.SMALLER
    return Order.LARGER if below else Order.EQUAL


def calibration_points(first: TradeOff, second: TradeOff) -> CalibrationPoints:
    """Every crossing of the two privacy curves, and of the two trade-off functions.

    Exact for polygons: between corners both are linear. Where the curves touch or coincide without
    changing sides there is no crossing. Two functions without Blackwell order have at least one of
    each (fdp_filters, Section 3.1; Kaissis et al. 2024).
    """
    one, other = first.curve(), second.curve()
    gamma = np.union1d(one.gamma, other.gamma)
    alpha = np.union1d(first.alpha, second.alpha)
    return CalibrationPoints(
        crossings_of(gamma, one(gamma), other(gamma)),
        crossings_of(alpha, first(alpha), second(alpha)),
    )


def delta_divergence(first: TradeOff, second: TradeOff) -> float:
    """The smallest D >= 0 with first(alpha + D) - D <= second(alpha) for every alpha.

    How far `second` may lie below `first` (fdp_filters, Section 3.2; Kaissis et al. 2024). In the
    coordinates u = alpha - beta and s = alpha + beta both graphs are functions of u, and a shift
    along the diagonal changes s by 2 D: D is half of the largest difference, which is at a corner.
    """
    one, other = _rotated(first), _rotated(second)
    u = np.union1d(one.x, other.x)
    gap = np.interp(u, one.x, one.y) - np.interp(u, other.x, other.y)
    return max(0.0, float(gap.max()) / 2)


def distance(first: TradeOff, second: TradeOff) -> float:
    """The symmetrised Delta-divergence, a metric: the larger one of both directions."""
    return max(delta_divergence(first, second), delta_divergence(second, first))


def _prices(first: TradeOff, second: TradeOff) -> tuple[FloatArray, FloatArray]:
    """Both curves at all corners of both and at both ends, through their small tails."""
    losses = np.concatenate((first.law.loss, second.law.loss, [0.0]))
    losses = np.unique(losses)
    values = []
    for law in (first.law, second.law):
        ends = [law.q_zero, law.p_infinite]
        values.append(np.concatenate((deltas(law, losses), ends)))
    return values[0], values[1]


def crossings_of(x: FloatArray, one: FloatArray, other: FloatArray) -> FloatArray:
    """Zeros of one - other, linear between the points x, at which the sign changes."""
    gap = np.where(np.abs(one - other) <= ROUNDING, 0.0, one - other)
    filled = np.flatnonzero(gap != 0)
    left, right = filled[:-1], filled[1:]
    changes = np.sign(gap[left]) != np.sign(gap[right])
    left, right = left[changes], right[changes]
    share = gap[left] / (gap[left] - gap[right])
    crossing = x[left] + share * (x[right] - x[left])
    # Where the curves coincide between the two sides, the first common point counts.
    adjacent = right == left + 1
    result: FloatArray = np.where(adjacent, crossing, x[np.minimum(left + 1, x.size - 1)])
    return result


def _rotated(tradeoff: TradeOff) -> Nodes:
    """The graph from (0, 1) to (1, 0), as alpha + beta over alpha - beta."""
    alpha = np.concatenate(([0.0], tradeoff.alpha, [1.0]))
    beta = np.concatenate(([1.0], tradeoff.beta, [0.0]))
    return Nodes(alpha - beta, alpha + beta)
