"""Compositions of classes: their laws, when one may take the place of another, the guarantee.

What makes a residual filter valid is here and in `menus.py`: the law of a composition, rounded to
the stated side; `covers`, the comparison of two compositions at every g > 0; and the guarantee of
several menus, whose deltas add up at every epsilon. docs/residual.md has the theorem.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from hockeystick._numerics.envelope import deltas, law_of_deltas
from hockeystick._numerics.law import Law, Resolution, Side
from hockeystick.bounds import Bound, UpperBound
from hockeystick.filters.levy.charge import block_of, block_variance, rounded_up
from hockeystick.profile import Profile
from hockeystick.profile.expressions import Expression
from hockeystick.profile.expressions.composed import compose
from hockeystick.profile.expressions.discrete import Atoms
from hockeystick.profile.resolution import Direction

if TYPE_CHECKING:
    from hockeystick.filters.residual.menus import MenuDesign

__all__ = [
    "HEIGHT_ERROR",
    "NATS",
    "Counts",
    "MenusBound",
    "StepClass",
    "WhatMayFollow",
    "bound_of",
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
# The grid of the laws that the guarantee is read from: rounding adds a few 1e-3 to delta.
BOUND_STEP = 0.01
# Tails are cut at this share of delta.
BOUND_TAIL = 1e-6
# Beyond this epsilon nothing is claimed below delta = 1.
LARGEST_EPSILON = 700.0
# The profile made of the bounds ends where delta hardly falls any more; corners on either side.
CORNERS = 400


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


@lru_cache(maxsize=8)
def bound_of(design: MenuDesign, delta: float) -> MenusBound:
    """The bound for a design; the same object for the same one."""
    return MenusBound(design, delta=delta)


class MenusBound(Bound):
    """H(g) <= sum over menus of H_menu(g), plus what exchanges may add, for every g > 0."""

    def __init__(self, design: MenuDesign, *, delta: float) -> None:
        self._laws = [
            law_of(menu.start(), Side.UPPER, step=BOUND_STEP, tail=BOUND_TAIL * delta)
            for menu in design.menus
        ]
        self._slack = design.slack * design.exchanges

    @property
    def laws(self) -> Sequence[Law]:
        """Of the menus, upper bounds."""
        return self._laws

    def epsilon(
        self, delta: float, *, directions: Sequence[Direction], accuracy: float
    ) -> UpperBound:
        """The smallest epsilon with such a delta, by bisection; infinite if there is none."""
        low, high = 0.0, LARGEST_EPSILON
        if self._delta(low, directions) <= delta:
            return UpperBound(low)
        if not self._delta(high, directions) <= delta:
            return UpperBound(math.inf)
        while low < (middle := (low + high) / 2) < high:
            enough = self._delta(middle, directions) <= delta
            low, high = (low, middle) if enough else (middle, high)
        return UpperBound(high)

    def delta(
        self, epsilon: float, *, directions: Sequence[Direction], accuracy: float
    ) -> UpperBound:
        """The sum."""
        return UpperBound(self._delta(epsilon, directions))

    def as_profile(self) -> Profile:
        """The pair with the largest convex profile below the bounds at many epsilons."""
        end = max(float(law.loss[-1]) for law in self._laws) + 1.0
        right = np.linspace(0.0, end, CORNERS)
        loss = np.concatenate((-right[:0:-1], right))
        total = np.sum([deltas(law, loss) for law in self._laws], axis=0)
        delta = np.minimum(total * (1 + HEIGHT_ERROR) + self._slack, 1.0)
        return Profile(Atoms(law_of_deltas(loss, delta)))

    def _delta(self, epsilon: float, directions: Sequence[Direction]) -> float:
        at = np.array([epsilon if one == "remove" else -epsilon for one in directions])
        if epsilon == 0.0:
            # At loss 0 `deltas` reads the first direction; the exchanged pair has the same value.
            at = np.zeros(1)
        total = np.sum([deltas(law, at) for law in self._laws], axis=0)
        return min(float(total.max()) * (1 + HEIGHT_ERROR) + self._slack, 1.0)
