"""The smallest time at which a Levy process provably dominates a mechanism."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from hockeystick._numerics.envelope import prices
from hockeystick._numerics.law import FloatArray, Law, reverse
from hockeystick.filters.levy.expression import LevyPair
from hockeystick.filters.levy.process import LevyProcess

__all__ = ["Curve", "covers", "curves_of", "smallest_time"]

# Times are found to this; brackets are widened by this factor.
TIME_ACCURACY, WIDER = 5e-4, 1.25
SMALLEST_SHARE = 1e-9
# Share of what is killed that may be left out of the jumps.
UNSEEN = 1e-3
# Beyond this slopes are not known from below.
LARGEST_VARIANCE = 64.0
# Relative allowances for floating point: of the mechanism's prices, and of slopes.
PRICE_ERROR, SLOPE_ERROR = 1e-9, 1e-9


class Curve(NamedTuple):
    """H at e^loss for losses from 0 on, linear in e^loss between them, and its limit."""

    loss: FloatArray
    price: FloatArray
    end: float


def curves_of(law: Law) -> tuple[Curve, Curve]:
    """The profile of a law as two curves: from (P, Q), and from (Q, P)."""
    return _curve(law), _curve(reverse(law))


def covers(pair: LevyPair, curves: tuple[Curve, Curve]) -> bool:
    """Whether the profile of the pair is at least that of the law, at every g > 0.

    The pair's profile is convex, so between two corners of the law it lies above the tangents at
    both; the law's is the chord. What is compared is the lower of the two at the point where the
    tangents meet, and at the corners. Corners that lie below the pair's limit need no comparison.
    """
    if pair.variance > LARGEST_VARIANCE:
        return False
    return all(_covers(pair, curve, reverse=n == 1) for n, curve in enumerate(curves))


def smallest_time(
    process: LevyProcess,
    curves: tuple[Curve, Curve],
    *,
    catalyst: float,
    guess: float,
    limit: float,
) -> float:
    """A time up to `limit` at which the process covers the curves, hardly above the smallest.

    Infinite if there is none. The time that is returned was tested itself.
    """

    def enough(time: float) -> bool:
        return covers(process.pair(time, catalyst=catalyst), curves)

    high = min(guess, limit)
    low = high / WIDER
    while not enough(high):
        if high >= limit:
            return math.inf
        low, high = high, min(high * WIDER, limit)
    smallest = SMALLEST_SHARE * high
    while low > smallest and enough(low):
        low, high = low / WIDER, low
    while high > low * (1 + TIME_ACCURACY):
        middle = math.sqrt(low * high)
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def _curve(law: Law) -> Curve:
    loss = np.concatenate(([0.0], law.loss[law.loss > 0]))
    return Curve(loss, prices(law, loss) * (1 + PRICE_ERROR), law.p_infinite)


def _covers(pair: LevyPair, curve: Curve, *, reverse: bool) -> bool:
    if curve.end > pair.killed:
        return False
    below = np.flatnonzero(curve.price <= pair.killed)
    last = int(below[0]) if below.size else curve.loss.size - 1
    loss, price = curve.loss[: last + 1], curve.price[: last + 1]
    found = pair.calls(loss, reverse=reverse, unseen=UNSEEN * pair.killed)
    rest = 1 - pair.killed
    call = (found.call - found.error) * rest + pair.killed
    if not np.all(call >= price):
        return False
    # In units of e^(loss_k): the next corner is `width` away, and the tangents fall by `fall` (from
    # here) and rise by `rise` (from there).
    width = np.expm1(np.diff(loss))
    fall = found.other[:-1] * rest * (1 + SLOPE_ERROR)
    rise = found.other[1:] * rest * np.exp(-np.diff(loss)) * (1 - SLOPE_ERROR)
    with np.errstate(divide="ignore", invalid="ignore"):
        meet = (call[:-1] - call[1:] - rise * width) / (fall - rise)
    meet = np.clip(np.where(fall > rise, meet, 0.0), 0.0, width)
    tangent = np.maximum(call[:-1] - fall * meet, call[1:] + rise * (width - meet))
    chord = price[:-1] + (price[1:] - price[:-1]) * (meet / width)
    return bool(np.all(tangent >= chord))
