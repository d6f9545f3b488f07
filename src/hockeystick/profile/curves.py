"""Whole curves of a profile: Renyi divergences, the trade-off function, and domination."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np

from hockeystick._numerics.divergence import tradeoff_from_law
from hockeystick._numerics.envelope import dominates
from hockeystick._numerics.law import FloatArray, Resolution
from hockeystick.profile.expressions import Expression
from hockeystick.profile.refinement import Bounds, Evaluator, Laws, Quantity
from hockeystick.profile.resolution import smallest_tail

__all__ = ["FINE", "Side", "proves_domination", "renyi_divergences", "tradeoff_curve"]

# Steps at which domination is tried before it is given up, each six times the work of the last,
# and how far out the grid is fine, for these and for whole curves.
DOMINATION_STEPS = (0.05, 0.02, 0.008)
NATS = 8.0
# Curves that are computed as a whole: each rounding adds step^2/6 = 6e-6 of the variance.
FINE = Resolution(0.006, 1e-20, NATS)
# What sums of masses may lose to floating point in a trade-off function, relatively.
TRADEOFF_ROUNDING = 1e-12

Side = Literal["upper", "lower"]


def renyi_divergences(expression: Expression, orders: FloatArray) -> FloatArray:
    """Upper bounds on the Renyi divergences of P from Q, for orders above 1.

    Integer orders come from moments, all of them in one pass; between two of them (order - 1) times
    the divergence is convex, so the chord is a bound.
    """
    largest = math.ceil(orders.max(initial=2))
    moments = expression.power_moments(largest, reverse=False, resolution=FINE)
    if moments.apart > 0:
        return np.full(orders.shape, np.inf)
    # No moment is below 1 unless masses do not quite add up.
    log = np.maximum(moments.log, 0.0)
    divergences: FloatArray = np.interp(orders, np.arange(largest + 1), log) / (orders - 1)
    return divergences


def tradeoff_curve(
    evaluator: Evaluator, levels: FloatArray, *, side: Side, accuracy: float
) -> FloatArray:
    """The trade-off function at the levels, of the profile's upper or lower bound.

    Refined until the two curves are nowhere further apart than the absolute accuracy.
    """
    curves: dict[Side, FloatArray] = {}

    def read(laws: Laws) -> Bounds:
        less, more = 1 - TRADEOFF_ROUNDING, 1 + TRADEOFF_ROUNDING
        curves["upper"] = tradeoff_from_law(laws.upper, levels) * less
        curves["lower"] = np.minimum(tradeoff_from_law(laws.lower, levels) * more, 1 - levels)
        return Bounds(0.0, float(np.max(np.abs(curves["lower"] - curves["upper"]), initial=0.0)))

    evaluator.answer(
        Quantity(
            name="the trade-off function",
            read=read,
            gap=lambda bounds: bounds.upper / accuracy,
            tail=FINE.tail,
            nats=NATS,
            accuracy=accuracy,
        )
    )
    return curves[side]


def proves_domination(mine: Evaluator, theirs: Evaluator, slack: float) -> bool:
    """Whether lower(mine) >= upper(theirs) - slack at every order, at one of a few resolutions."""
    first, second = mine.expression, theirs.expression
    if first.covers(second):
        return True
    if first.family is not None and first.family == second.family:
        return first.above(second)
    for step in DOMINATION_STEPS:
        resolution = Resolution(step, smallest_tail(), NATS)
        if dominates(mine.laws(resolution).lower, theirs.laws(resolution).upper, slack):
            return True
    return False
