"""Which Renyi order to fix in advance."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from hockeystick.errors import InvalidParameter
from hockeystick.filters.renyi.charge import LARGEST_ORDER, budget_at_order, prices
from hockeystick.filters.renyi.fractional import LARGEST_FRACTIONAL

__all__ = ["best_order", "order_of_smallest"]

# Integers, then steps of about 1.5 %; 1.5 stands for what lies below 2.
COARSE: tuple[float, ...] = (
    1.5,
    *(float(order) for order in range(2, 64)),
    *sorted({float(round(64 * 1.015**k)) for k in range(187)}),
)


def order_of_smallest(cost: Callable[[float], float]) -> float:
    """The order at which a cost is smallest: the best coarse one, refined to tenths below 10.

    Any order is valid; only tightness depends on the search.
    """
    best = min(COARSE, key=cost)
    tenths = [round(best + tenth / 10, 1) for tenth in range(-9, 10)]
    return min([best, *(a for a in tenths if 1 < a < LARGEST_FRACTIONAL)], key=cost)


def best_order(*, epsilon: float, delta: float, rate: float, noise_multiplier: float) -> float:
    """The order at which the budget allows the most steps of the expected kind.

    At rate 1 the choice does not depend on the noise.
    """
    square = np.array([(1 / noise_multiplier) * (1 / noise_multiplier)])

    def budgets_for_a_step(order: float) -> float:
        budget = budget_at_order(order, epsilon, delta)
        return float(prices(order, rate, square)[0]) / budget if budget > 0 else math.inf

    best = order_of_smallest(budgets_for_a_step)
    if not budget_at_order(best, epsilon, delta) > 0:
        # Every price is infinite, or no order will do; the largest order comes closest.
        best = float(LARGEST_ORDER)
    if not budget_at_order(best, epsilon, delta) > 0:
        allowed = f"large enough for a Renyi order up to {LARGEST_ORDER} at delta = {delta:g}"
        raise InvalidParameter("epsilon", allowed, epsilon)
    return best
