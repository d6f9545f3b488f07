"""The smallest sampling rate that gives a wanted batch size."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from hockeystick._numerics.search import bracket, minimize_on_interval
from hockeystick.errors import InvalidParameter

__all__ = ["smallest_rate"]

SCAN = 512
"""Rates that are tried between the lowest possible and one."""


def smallest_rate(size: Callable[[float], float], wanted: float, *, lowest: float) -> float:
    """The least rate with size(rate) = wanted; the size rises with the rate before it falls.

    It rises up to `lowest`, where it is not beyond the wanted one. If no rate gives that, then
    `InvalidParameter` names the largest size.
    """
    if size(lowest) >= wanted:
        return lowest
    rates = np.geomspace(lowest, 1, SCAN)
    sizes = np.array([size(float(rate)) for rate in rates])
    best = int(sizes.argmax())
    around = rates[max(best - 1, 0)], rates[min(best + 1, SCAN - 1)]
    peak = _peak(size, *(float(rate) for rate in around))
    if not size(peak) >= wanted:
        allowed = f"in (0, {size(peak):.6g}], the most that any rate gives"
        raise InvalidParameter("batch_size", allowed, wanted)
    upper = min([peak, *(float(rate) for rate in rates[sizes >= wanted])])
    lower = float(rates[rates < upper].max())
    return bracket(lambda rate: size(rate) >= wanted, lower, upper, tolerance=1e-15)[1]


def _peak(size: Callable[[float], float], lower: float, upper: float) -> float:
    """The rate of the largest size between two rates."""
    low, high = math.log(lower), math.log(upper)
    inside = math.exp(minimize_on_interval(lambda log: -size(math.exp(log)), low, high))
    return max(lower, min(inside, upper), upper, key=size)
