"""The menus for what is expected: which classes, and how many steps of each.

Nothing in this folder has to be trusted: the filter computes the delta of whatever comes out.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from hockeystick._numerics.law import FloatArray, Side
from hockeystick.errors import InvalidParameter
from hockeystick.filters.residual.composition import (
    BOUND_STEP,
    BOUND_TAIL,
    StepClass,
    delta_of,
    law_of,
)
from hockeystick.filters.residual.menus import ExpectedSteps, Menu, MenuDesign, Payment
from hockeystick.filters.residual.search.evenly import SETTINGS, Even, has_range, setting

__all__ = ["designed"]

# No menu has more steps than this.
MOST_STEPS = 10**9
# Sizes of menus are found to this, relatively.
SIZE_ACCURACY = 1e-3
# By how much sizes are changed from a first guess on.
NEARBY = 1.05
# Room for the guarantee to be computed once more, on another machine.
ROOM = 1e-6


def designed(
    expected: Sequence[ExpectedSteps], *, epsilon: float, delta: float, block: int = 1
) -> MenuDesign:
    """A menu for what is expected, and small ones for steps that are all alike."""
    target = _Target(epsilon, delta)
    slack_total = SETTINGS.exchange_share * delta
    share = SETTINGS.side_share
    others = [
        Menu.of(found)
        for kind in _levels(expected)
        for found in [_alone(kind, target, share)]
        if found
    ]
    left = 1 - SETTINGS.exchange_share - share * len(others)
    if all(map(has_range, expected)):
        counts = _for_ranges(expected, target, left, block)
    else:
        counts = _largest(Even(expected, block=block).steps, target, left)
    menus = ([Menu.of(counts)] if counts else []) + others
    if not menus:
        allowed = f"large enough for one of the expected steps at delta = {delta:g}"
        raise InvalidParameter("epsilon", allowed, epsilon)
    slack = slack_total / SETTINGS.exchanges
    return MenuDesign(menus=tuple(menus), exchanges=SETTINGS.exchanges, slack=slack)


class _Target:
    """The claim, and how far a composition is from a share of its delta."""

    def __init__(self, epsilon: float, delta: float) -> None:
        self.epsilon, self.delta = epsilon, delta

    def delta_of(self, counts: Payment, step: float) -> float:
        """An upper bound, on a grid of this step."""
        tail = BOUND_TAIL * self.delta
        return delta_of(law_of(counts, Side.UPPER, step=step, tail=tail), self.epsilon)

    def excess(self, counts: Payment, share: float, step: float) -> float:
        """The logarithm of delta over that share of the target's; negative if it fits."""
        if not counts:
            return -math.inf
        found = self.delta_of(counts, step)
        return math.log(max(found, 1e-300) / (share * self.delta * (1 - ROOM)))


def _for_ranges(
    expected: Sequence[ExpectedSteps], target: _Target, share: float, block: int
) -> Payment:
    """Steps as dense as those that are allowed if fixed in advance, the strongest of them.

    Where few steps are allowed the strongest part of the ranges is left out: a run ends about when
    the first step comes for which there is nothing, after 1/part steps.
    """
    best: Payment = {}
    for cut in SETTINGS.cuts:
        if sum(best.values()) >= min(SETTINGS.enough, 1 / max(cut, 1e-9)):
            break
        found = _for_range(expected, target, share, cut, block)
        best = max(best, found, key=lambda one: sum(one.values()))
    return best


def _for_range(
    expected: Sequence[ExpectedSteps], target: _Target, share: float, cut: float, block: int
) -> Payment:
    """As dense as the fixed steps if that leaves most of them, or else less dense.

    Where only the strongest steps count, leaving out others gains nothing.
    """
    even, fixed = _fixed(expected, target, cut, block)
    best: Payment = {}
    for density in SETTINGS.densities:
        size = math.ceil(fixed * density - 1e-9)
        found = _largest(partial(even.steps, size), target, share, start=0.9 * fixed)
        best = max(best, found, key=lambda one: sum(one.values()))
        if sum(best.values()) >= SETTINGS.most_of_them * fixed:
            break
    return best


def _fixed(
    expected: Sequence[ExpectedSteps], target: _Target, cut: float, block: int
) -> tuple[Even, float]:
    """Evenly spread steps in suitable classes, and how many are allowed if fixed in advance."""
    few = SETTINGS.estimated_classes
    rough = Even(expected, cut=cut, classes=few, middle=True, block=block)
    fixed = sum(_largest(rough.steps, target, 1.0, exact=False).values())
    if not fixed:
        return rough, 0
    place = _place(rough, fixed, target) if len(expected) == 1 else rough.place
    better = Even(expected, cut=cut, place=place, classes=2 * few, middle=True, block=block)
    fixed = sum(_largest(better.steps, target, 1.0, exact=False, start=fixed).values())
    if fixed > SETTINGS.separate * block:
        even = Even(expected, cut=cut, place=place, block=block)
        return even, fixed * SETTINGS.margin
    # Few enough for every step to be a class of its own, and to be counted exactly.
    even = Even(expected, cut=cut, classes=MOST_STEPS, block=block)
    number = _largest(even.steps, target, 1.0, start=fixed, step=BOUND_STEP)
    return even, sum(number.values())


def _place(even: Even, size: int, target: _Target) -> FloatArray:
    """Where classes end: they are dense where one step more costs most.

    With density d, steps are rounded by 1/d; to round by so much costs w'/d, w the cost of a step.
    The sum is smallest for d in proportion to the root of w'.
    """
    counts = even.steps(size)
    at = np.linspace(0, 1, 9)
    steps = max(size // 100, 1)
    cost = []
    for one in at.tolist():
        kind = setting(even.rows[0], even.cut + (1 - even.cut) * one)
        more = {**counts, kind: counts.get(kind, 0) + steps}
        cost.append(target.delta_of(more, SETTINGS.coarse_step))
    slope = np.maximum(-np.diff(cost), 0.0)
    density = np.sqrt(slope + SETTINGS.even_part * slope.max() + 1e-300)
    # The inverse of the cumulated density: where each of equally many classes ends.
    cumulated = np.concatenate(([0.0], np.cumsum(density))) / density.sum()
    place: FloatArray = np.interp(np.linspace(0, 1, 65), cumulated, at)
    return place


def _levels(expected: Sequence[ExpectedSteps]) -> list[StepClass]:
    """Kinds of steps for which there is a menu of their own: all, or some of every range."""
    found: list[StepClass] = []
    for row in expected:
        places = SETTINGS.side_places if has_range(row) else (0.0,)
        found += [setting(row, at) for at in places]
    kinds = sorted(set(found), key=lambda one: one.variance)
    return kinds[: SETTINGS.side_menus] if len(kinds) > 1 else []


def _alone(kind: StepClass, target: _Target, share: float) -> Payment:
    """A menu of this kind only; empty if so small a share of delta pays for too little."""

    def steps(size: float) -> Payment:
        return {kind: math.floor(size)} if size >= 1 else {}

    found = _largest(steps, target, share)
    if not found:
        return {}
    enough = {kind: math.ceil(found[kind] / SETTINGS.side_least)}
    return found if target.excess(enough, 1.0, SETTINGS.coarse_step) >= 0 else {}


def _largest(
    steps: Callable[[float], Payment],
    target: _Target,
    share: float,
    *,
    exact: bool = True,
    start: float = 1.0,
    step: float = SETTINGS.coarse_step,
) -> Payment:
    """The most steps within a share of delta; empty if there is no room for one.

    log delta is interpolated between sizes that fit and sizes that do not.
    """
    low, high = (0.0, -math.inf), (math.inf, math.inf)
    size, factor = max(start, 1.0), 2.0 if start == 1.0 else NEARBY
    while high[0] - low[0] > max(SIZE_ACCURACY * low[0], 0.99) and low[0] < MOST_STEPS:
        value = target.excess(steps(size), share, step)
        low, high = ((size, value), high) if value <= 0 else (low, (size, value))
        size = _next(low, high, factor)
    size = low[0]
    if exact and step > BOUND_STEP:
        # The finer grid of the guarantee allows a little more; in any case it decides.
        size *= 1 + 2 * SIZE_ACCURACY
        while size > 0 and target.excess(steps(size), share, BOUND_STEP) > 0:
            size = size * (1 - SIZE_ACCURACY) if size > 1 / SIZE_ACCURACY else max(size - 0.5, 0.0)
    return steps(size)


def _next(low: tuple[float, float], high: tuple[float, float], factor: float) -> float:
    """Between a size that fits and one that does not; smaller or larger if there is none."""
    if math.isinf(high[0]):
        return max(factor * low[0], low[0] + 1)
    if not math.isfinite(low[1]):
        return high[0] / factor
    part = -low[1] / (high[1] - low[1])
    return low[0] + min(max(part, 0.05), 0.95) * (high[0] - low[0])
