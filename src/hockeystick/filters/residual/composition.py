"""Compositions of classes: their laws, and when one may take the place of another.

What makes a residual filter valid is here and in `menus.py`: the law of a composition, rounded to
the stated side, and `covers`, the comparison of two compositions at every g > 0. docs/residual.md
has the theorem.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from hockeystick._numerics.envelope import deltas
from hockeystick._numerics.law import Law, Resolution, Side
from hockeystick.filters.levy.charge import block_of, block_variance, rounded_up
from hockeystick.profile.expressions import Expression
from hockeystick.profile.expressions.composed import compose

__all__ = [
    "HEIGHT_ERROR",
    "NATS",
    "Counts",
    "StepClass",
    "WhatMayFollow",
    "covers",
    "delta_of",
    "law_of",
]

# Relative errors of floating point in the heights of a law: sums of up to 1e5 positive terms, some
# twenty products deep.
HEIGHT_ERROR = 1e-8
# The grid of a comparison: rounding then costs an exchange some tenths of a per cent.
COMPARED_STEP = 0.01
# Tails are cut at this share of the slack, which pays for them.
TAIL_SHARE = 0.01
# One step of the grid for this many nats of a tail.
NATS = 24.0


class StepClass(NamedTuple):
    """A kind of steps: sampled at `rate`, with noise of `noise` times the sensitivity."""

    rate: float
    noise: float

    def serves(self, rate: float, noise: float) -> bool:
        """Whether it dominates such a step.

        Less noise dominates more: noise can be added. A larger rate dominates a smaller one: with
        r = q/q' the likelihood ratio 1 - q + qW is (1 - r) + r (1 - q' + q'W), which is closer to
        its mean 1, so smaller in convex order.
        """
        return self.rate >= rate and self.noise <= noise

    @property
    def variance(self) -> float:
        """About that of the loss: what steps are compared by where any choice is valid."""
        return _variance(self.rate, self.noise)

    @classmethod
    def of(cls, rate: float, noise: float) -> StepClass:
        """A class with few digits that dominates such a step."""
        return cls(*rounded_up(rate, noise))


@lru_cache(maxsize=4096)
def _variance(rate: float, noise: float) -> float:
    return block_variance(rate, noise, 1)


Counts = Mapping[StepClass, int]


def law_of(
    counts: Counts,
    side: Side,
    *,
    step: float,
    tail: float,
    others: Sequence[tuple[Expression, int]] = (),
) -> Law:
    """The law of a composition, on the stated side of it; of nothing, if there is nothing."""
    parts = [(block_of(one.rate, one.noise, 1), count) for one, count in counts.items() if count]
    parts += others
    if not parts:
        return Law(np.zeros(1), np.ones(1), np.ones(1))
    return compose(parts).law(side, Resolution(step, tail, NATS))


def delta_of(law: Law, epsilon: float) -> float:
    """An upper bound on delta(epsilon) from an upper law, the larger of both directions."""
    both = deltas(law, np.array([epsilon, -epsilon]))
    return float(both.max()) * (1 + HEIGHT_ERROR)


def covers(lower: Law, upper: Law, slack: float) -> bool:
    """Whether the first profile is at least the second minus `slack` at every g > 0.

    Both are piecewise linear in g, so the difference is smallest at a corner of one of them or in
    the limit. At g < 1 the height of the exchanged pair is compared, which g multiplies: the slack
    in E(LR - g)+ is then g times `slack`. The factors cover the errors of floating point.
    """
    if not lower.p_infinite + slack >= upper.p_infinite * (1 + HEIGHT_ERROR):
        return False
    if not lower.q_zero + slack >= upper.q_zero * (1 + HEIGHT_ERROR):
        return False
    ends = max(abs(law.loss[i]) for law in (lower, upper) for i in (0, -1)) + 1.0
    corners = np.unique(np.concatenate((lower.loss, upper.loss, [-ends, 0.0, ends])))
    enough = deltas(lower, corners) * (1 - HEIGHT_ERROR) + slack
    return bool(np.all(enough >= deltas(upper, corners) * (1 + HEIGHT_ERROR)))


class WhatMayFollow:
    """A composition, and the test whether another one may take its place.

    The proof behind every exchange: `after`, with other mechanisms beside it, is compared with what
    there is, as a whole. Up to `slack`, what passes is dominated.
    """

    def __init__(self, counts: Counts, *, slack: float) -> None:
        self._slack = slack
        self._lower = law_of(counts, Side.LOWER, step=COMPARED_STEP, tail=TAIL_SHARE * slack)

    def allows(self, after: Counts, others: Sequence[tuple[Expression, int]] = ()) -> bool:
        """Whether H of `after` with the others is at most H of what there is, plus the slack."""
        tail = TAIL_SHARE * self._slack
        upper = law_of(after, Side.UPPER, step=COMPARED_STEP, tail=tail, others=others)
        return covers(self._lower, upper, self._slack)
