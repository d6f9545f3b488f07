"""Which Renyi order to use: any one is valid, only tightness depends on the choice."""

from __future__ import annotations

from collections.abc import Callable

from hockeystick.filters.renyi.divergence import LARGEST_FRACTIONAL

__all__ = ["order_of_smallest"]

# Orders that are tried first: integers, then steps of about 1.5 %; 1.5 stands for what lies below
# 2. The best of them allows within 0.1 % of the steps that the best order does.
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
