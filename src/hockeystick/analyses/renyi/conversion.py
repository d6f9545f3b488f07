"""From moments of the likelihood ratio to epsilon and delta.

For every order a > 1 and g > 0, (x - g)+ <= x^a g^(1-a) (a - 1)^(a-1) / a^a at every x >= 0 (the
two sides touch at x = g a / (a - 1)), so

    H(P || Q)(g) <= E_Q[LR^a] g^(1-a) (a - 1)^(a-1) / a^a + P(LR = infinity).

This is Proposition 12 of Canonne, Kamath & Steinke 2020, and does not need E_Q[LR] = 1. Between
integer orders log E_Q[LR^a] is convex in a (Hoelder), so it lies below the chord.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from hockeystick._numerics.divergence import ROUNDING
from hockeystick._numerics.law import FloatArray
from hockeystick._numerics.moments import PowerMoments
from hockeystick._numerics.search import smallest_argument

__all__ = ["Converted", "delta_from_moments", "epsilon_from_moments", "useful_orders"]


class Converted(NamedTuple):
    """A bound, and the order that gave it."""

    value: float
    order: float


def delta_from_moments(moments: PowerMoments, epsilon: float) -> Converted:
    """The smallest bound on H(P || Q) at e^epsilon over all real orders that are covered."""
    log_delta, order = _log_delta(moments.log, epsilon)
    value = (math.exp(min(log_delta, 0.0)) + moments.apart) * (1 + ROUNDING)
    return Converted(min(value, 1.0), order)


def epsilon_from_moments(moments: PowerMoments, delta: float) -> Converted:
    """The smallest epsilon >= 0 at which some order proves H(P || Q) <= delta."""
    left = delta / (1 + ROUNDING) - moments.apart
    if not left > 0:
        return Converted(math.inf, math.nan)
    target = math.log(left)

    def holds(epsilon: float) -> bool:
        return _log_delta(moments.log, epsilon)[0] <= target

    epsilon = smallest_argument(holds)[1]
    order = _log_delta(moments.log, epsilon)[1] if math.isfinite(epsilon) else math.nan
    return Converted(epsilon, order)


def useful_orders(moments: PowerMoments, epsilon: float) -> bool:
    """Whether orders above those given might still improve on `epsilon`.

    For delta below 1/(e a) the bound of order a is at least the Renyi divergence of order a, which
    grows with a: once it exceeds an epsilon that is known, larger orders are of no use
    (random_allocation, Claim C.1). For larger delta this is a rule of thumb; only tightness
    depends on it.
    """
    largest = moments.log.size - 1
    return bool(moments.log[largest] < (largest - 1) * epsilon)


def _log_delta(log: FloatArray, epsilon: float) -> tuple[float, float]:
    """The minimum over a of the log of the bound, and where it is.

    On the chord from m to m + 1, of slope s, the bound is convex in a with its minimum where
    (a - 1)/a = e^(epsilon - s).
    """
    m = np.arange(1.0, log.size - 1)
    start, end = log[1:-1], log[2:]
    with np.errstate(invalid="ignore", over="ignore"):
        slope = end - start
        steep = slope > epsilon
        inside = np.where(steep, -1 / np.expm1(np.where(steep, epsilon - slope, -1.0)), np.inf)
        a = np.clip(inside, m, m + 1)
        moment = np.where(a == m + 1, end, start + (a - m) * slope)
        with np.errstate(divide="ignore"):
            concave = np.where(a > 1, (a - 1) * np.log(a - 1), 0.0) - a * np.log(a)
        value = moment - (a - 1) * epsilon + concave
    value = np.where(np.isnan(value), np.inf, value)
    best = int(np.argmin(value))
    return float(value[best]), float(a[best])
