"""The numerical showcase of fdp_filters, Section 4.5."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from hockeystick.fdp.schedules import Stretch
from hockeystick.filters.renyi.charge import epsilon_at_order, prices
from hockeystick.filters.renyi.orders import order_of_smallest

__all__ = ["best_renyi_epsilon", "showcase_schedule"]

STEPS, BLOCK, RATE = 3650, 150, 0.01


def showcase_schedule() -> tuple[Stretch, ...]:
    """3650 steps at rate 0.01; the noise is 1.5 + sin(pi 150 b / 3650) in block b of 150 steps."""
    blocks = range(1, math.ceil(STEPS / BLOCK) + 1)
    return tuple(
        Stretch(
            RATE,
            1.5 + math.sin(math.pi / STEPS * BLOCK * block),
            min(BLOCK, STEPS - BLOCK * (block - 1)),
        )
        for block in blocks
    )


def best_renyi_epsilon(schedule: Iterable[Stretch], *, delta: float) -> tuple[float, float]:
    """The smallest epsilon of a Renyi filter that this schedule exhausts, and its order.

    Valid for a filter if that order was fixed before the run.
    """
    by_rate: dict[float, list[Stretch]] = {}
    for stretch in schedule:
        by_rate.setdefault(stretch.rate, []).append(stretch)
    groups = [
        (rate, np.array([s.noise_multiplier**-2.0 for s in group]), [s.steps for s in group])
        for rate, group in by_rate.items()
    ]

    def epsilon(order: float) -> float:
        total = sum(float(prices(order, rate, squares) @ steps) for rate, squares, steps in groups)
        return epsilon_at_order(order, total, delta)

    order = order_of_smallest(epsilon)
    return epsilon(order), order
