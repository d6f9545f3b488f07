"""The tensor product of two discrete laws."""

from __future__ import annotations

import numpy as np

from hockeystick._numerics.law import Law, Resolution, Side, joined
from hockeystick.profile.expressions.composed import compose
from hockeystick.profile.expressions.discrete import Atoms

__all__ = ["MOST_PAIRS", "tensor_law"]

# Up to this many pairs of atoms the product is exact; beyond, it is rounded to a grid.
MOST_PAIRS = 1_000_000
# The grid: bounds on f differ by about 1e-6, and this much tail is cut and charged.
STEP, TAIL, NATS = 0.004, 1e-25, 8.0


def tensor_law(one: Law, other: Law, *, upper: bool) -> tuple[Law, bool]:
    """The law of the product of the likelihood ratios, and whether it had to be rounded.

    Losses add and masses multiply, atom by atom. Rounding is in convex order: `upper` gives a
    profile that is nowhere below the exact one. O(n m log(n m)).
    """
    if one.loss.size * other.loss.size <= MOST_PAIRS:
        return _exact(one, other), False
    side = Side.UPPER if upper else Side.LOWER
    product = compose([(Atoms(one), 1), (Atoms(other), 1)])
    return product.law(side, Resolution(STEP, TAIL, NATS)), True


def _exact(one: Law, other: Law) -> Law:
    loss = np.add.outer(one.loss, other.loss).ravel()
    p, q = np.outer(one.p, other.p).ravel(), np.outer(one.q, other.q).ravel()
    filled = (p > 0) | (q > 0)
    return joined(
        loss[filled],
        p[filled],
        q[filled],
        _either(one.p_infinite, other.p_infinite),
        _either(one.q_zero, other.q_zero),
    )


def _either(one: float, other: float) -> float:
    """The probability that at least one of two independent events happens."""
    return one + other - one * other
