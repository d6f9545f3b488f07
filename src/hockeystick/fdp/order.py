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
    """How two trade-off functions compare; the larger one is the more private one.

    Attributes
    ----------
    EQUAL, LARGER, SMALLER
        The first one, beside the second.
    NONE
        The curves cross.
    """

    EQUAL = "equal"
    LARGER = "larger"
    SMALLER = "smaller"
    NONE = "none"


class CalibrationPoints(NamedTuple):
    """Where two curves cross.

    Attributes
    ----------
    gamma : numpy.ndarray
        Orders at which the privacy curves cross.
    alpha : numpy.ndarray
        Type I errors at which the trade-off functions cross.
    """

    gamma: FloatArray
    alpha: FloatArray


def blackwell_order(first: TradeOff, second: TradeOff, *, tolerance: float = ROUNDING) -> Order:
    """How `first` compares with `second` at every alpha.

    Decided on the privacy curves [Tran26, Theorem A.7]: the difference of two polygons is extreme
    at a corner of either, or in the limit. The statement is about the two curves as given, whatever
    they bound.

    Parameters
    ----------
    first, second
        Trade-off functions.
    tolerance
        Differences of H up to this count as none.

    Returns
    -------
    Order
        LARGER if the first one is more private.

    Examples
    --------
    >>> import hockeystick as hs
    >>> one = hs.fdp.from_pmfs([0.6, 0.4], [0.4, 0.6])
    >>> hs.fdp.blackwell_order(one, one.tensor(one))
    <Order.LARGER: 'larger'>
    """
    tolerance = check.at_least("tolerance", tolerance, 0.0)
    one, other = _heights(first, second)
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
    each [Tran26, Section 3.1; Kaissis24].

    Parameters
    ----------
    first, second
        Trade-off functions.

    Returns
    -------
    CalibrationPoints
        Orders and type I errors, increasing.

    Examples
    --------
    >>> import hockeystick as hs
    >>> one = hs.fdp.from_pmfs([0.6, 0.4], [0.4, 0.6])
    >>> other = hs.fdp.from_pmfs([0.9, 0.1, 0.0], [0.9, 0.0, 0.1])
    >>> hs.fdp.calibration_points(one, other).gamma.round(9).tolist()
    [0.8, 1.25]
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

    How far `second` may lie below `first` [Tran26, Section 3.2; Kaissis24]. In the coordinates
    u = alpha - beta and s = alpha + beta both graphs are functions of u, and a shift along the
    diagonal changes s by 2 D: D is half of the largest difference, which is at a corner.

    Parameters
    ----------
    first, second
        Trade-off functions.

    Returns
    -------
    float
        0 if `second` is nowhere below `first`.

    Examples
    --------
    >>> import hockeystick as hs
    >>> one = hs.fdp.from_pmfs([0.6, 0.4], [0.4, 0.6])
    >>> other = hs.fdp.from_pmfs([0.9, 0.1, 0.0], [0.9, 0.0, 0.1])
    >>> round(hs.fdp.delta_divergence(one, other), 9)
    0.04
    """
    one, other = _rotated(first), _rotated(second)
    u = np.union1d(one.x, other.x)
    gap = np.interp(u, one.x, one.y) - np.interp(u, other.x, other.y)
    return max(0.0, float(gap.max()) / 2)


def distance(first: TradeOff, second: TradeOff) -> float:
    """The symmetrised Delta-divergence, a metric: the larger one of both directions.

    Parameters
    ----------
    first, second
        Trade-off functions.

    Returns
    -------
    float
        0 if they are equal.

    Examples
    --------
    >>> import hockeystick as hs
    >>> one = hs.fdp.from_pmfs([0.6, 0.4], [0.4, 0.6])
    >>> other = hs.fdp.from_pmfs([0.9, 0.1, 0.0], [0.9, 0.0, 0.1])
    >>> round(hs.fdp.distance(one, other), 9)
    0.05
    """
    return max(delta_divergence(first, second), delta_divergence(second, first))


def _heights(first: TradeOff, second: TradeOff) -> tuple[FloatArray, FloatArray]:
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
