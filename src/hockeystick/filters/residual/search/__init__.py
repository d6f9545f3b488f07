"""The menus for what is expected: which classes, and how many steps of each.

Nothing in this folder has to be trusted: the filter computes the delta of whatever comes out.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

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
from hockeystick.filters.residual.search.estimate import FastDelta
from hockeystick.filters.residual.search.evenly import (
    EVENLY,
    SETTINGS,
    Even,
    has_range,
    setting,
)

__all__ = ["designed"]

# No menu has more steps than this.
MOST_STEPS = 10**9
# Sizes of menus are found to this, relatively.
SIZE_ACCURACY = 5e-4
# From more steps than this on sizes are changed by little at first.
FEW, NEARBY = 60, 1.05
# The upper bound on delta is this much above the estimate, relatively, at first; rounding on its
# grid makes it 0.1 to 0.5 % larger. Then what was seen counts, some times, until it is this close.
ABOVE, TRIES, CLOSE = 0.003, 5, 6e-4
# Room for the guarantee to be computed once more, on another machine.
ROOM = 1e-6


def designed(
    expected: Sequence[ExpectedSteps], *, epsilon: float, delta: float, block: int = 1
) -> MenuDesign:
    """A menu for what is expected, and small ones for steps that are all alike.

    Sizes are searched by a fast estimate of delta; the bound of the guarantee is computed once or
    twice for each menu.
    """
    target = _Target(epsilon, delta)
    others = _others(_levels(expected), target)
    reserve, part = SETTINGS.exchange_share + math.fsum(share for _, share in others), 1.0
    if all(map(has_range, expected)):
        counts, part = _for_ranges(expected, target, reserve, block)
        others = others if part == 1.0 else _others(_levels(expected), target, part)
    else:
        counts = _fitting(Even(expected, block=block).steps, target, 1 - reserve)
    menus = [Menu.of(one) for one in (counts, *(menu for menu, _ in others)) if one]
    if not menus:
        allowed = f"large enough for one of the expected steps at delta = {delta:g}"
        raise InvalidParameter("epsilon", allowed, epsilon)
    slack = part * SETTINGS.exchange_share * delta / SETTINGS.exchanges
    return MenuDesign(menus=tuple(menus), exchanges=SETTINGS.exchanges, slack=slack)


class _Target:
    """The claim, and how far a composition is from a share of its delta."""

    def __init__(self, epsilon: float, delta: float) -> None:
        self._epsilon, self._delta = epsilon, delta
        self.fast = FastDelta(epsilon)

    def estimate(self, counts: Mapping[StepClass, float], share: float = 1.0) -> float:
        """The logarithm of delta over that share of the target's, about; negative if it fits."""
        return self.fast.log_delta(counts) - math.log(share * self._delta)

    def excess(self, counts: Payment, share: float) -> float:
        """The same from an upper bound on delta, on the grid of the guarantee."""
        law = law_of(counts, Side.UPPER, step=BOUND_STEP, tail=BOUND_TAIL * self._delta)
        found = max(delta_of(law, self._epsilon), 1e-300)
        return math.log(found / (share * self._delta * (1 - ROOM)))


def _for_ranges(
    expected: Sequence[ExpectedSteps], target: _Target, reserve: float, block: int
) -> tuple[Payment, float]:
    """Steps as dense as those that are allowed if fixed in advance, the strongest of them.

    Where few steps are allowed the strongest part of the ranges is left out: a run ends about when
    the first step comes for which there is nothing, after 1/part steps. The second result is which
    part of the reserve is left for other menus and exchanges.
    """
    best, part = dict[StepClass, int](), 1.0
    for cut in SETTINGS.cuts:
        if sum(best.values()) >= min(SETTINGS.enough, 1 / max(cut, 1e-9)):
            break
        found = _for_range(expected, target, reserve, cut, block)
        best, part = max((best, part), found, key=lambda one: sum(one[0].values()))
    return best, part


def _for_range(
    expected: Sequence[ExpectedSteps], target: _Target, reserve: float, cut: float, block: int
) -> tuple[Payment, float]:
    """As dense as the fixed steps if that leaves most of them, or else less dense.

    Where only the strongest steps count, leaving out others gains nothing: then first the reserve
    is made smaller.
    """
    even, fixed, dense = _densest(expected, target, cut, block)
    best, kept = dict[StepClass, int](), 1.0
    if not fixed:
        return best, kept
    for density, part in SETTINGS.densities:

        def strongest(most: float, size: int = math.ceil(dense * density - 1e-9)) -> Payment:
            return even.steps(size, most)

        found = _fitting(strongest, target, 1 - reserve * part, most=dense * density)
        best, kept = max((best, kept), (found, part), key=lambda one: sum(one[0].values()))
        if sum(best.values()) >= SETTINGS.most_of_them * fixed:
            break
    return best, kept


def _densest(
    expected: Sequence[ExpectedSteps], target: _Target, cut: float, block: int
) -> tuple[Even, int, float]:
    """Suitable classes, how many steps are allowed if fixed in advance, and rather more of them."""
    spread = Even(expected, cut=cut, block=block).spread
    fixed = math.floor(_largest(spread, target) / block) * block
    if fixed > SETTINGS.separate * block:
        alone = len(expected) == 1
        place = _place(expected[0], spread(fixed), cut, target) if alone else EVENLY
        return Even(expected, cut=cut, place=place, block=block), fixed, fixed * SETTINGS.margin
    # Few enough for every step to be a class of its own, and to be counted exactly.
    each = Even(expected, cut=cut, classes=MOST_STEPS, block=block)
    found = _largest(each.steps, target, start=max(fixed, block))
    fixed = sum(each.steps(found).values())
    return each, fixed, float(fixed)


def _place(
    row: ExpectedSteps, spread: Mapping[StepClass, float], cut: float, target: _Target
) -> FloatArray:
    """Where classes end: they are dense where one step more costs most.

    With density d, steps are rounded by 1/d; to round by so much costs w'/d, w the cost of a step.
    The sum is smallest for d in proportion to the root of w'.
    """
    at = np.linspace(0, 1, 17)
    steps = max(sum(spread.values()) / 100, 1.0)
    cost = []
    for one in at.tolist():
        kind = setting(row, cut + (1 - cut) * one)
        more = {**spread, kind: spread.get(kind, 0.0) + steps}
        cost.append(math.exp(target.estimate(more)))
    slope = np.maximum(-np.diff(cost), 0.0)
    density = np.sqrt(slope + SETTINGS.even_part * slope.max() + 1e-300)
    # The inverse of the cumulated density: where each of equally many classes ends.
    cumulated = np.concatenate(([0.0], np.cumsum(density))) / density.sum()
    place: FloatArray = np.interp(np.linspace(0, 1, 65), cumulated, at)
    return place


def _levels(expected: Sequence[ExpectedSteps]) -> list[tuple[StepClass, float]]:
    """Kinds of steps for which there is a menu of their own, and its share of delta.

    All of them, or some of every range; the weakest, if these are many.
    """
    found: dict[StepClass, float] = {}
    for row in expected:
        places = SETTINGS.side_places if has_range(row) else ((0.0, SETTINGS.side_share),)
        found.update({setting(row, at): share for at, share in places})
    kinds = sorted(found.items(), key=lambda one: one[0].variance)
    return kinds[: SETTINGS.side_menus] if len(kinds) > 1 else []


def _others(
    kinds: Sequence[tuple[StepClass, float]], target: _Target, part: float = 1.0
) -> list[tuple[Payment, float]]:
    """Menus for these kinds, with this part of their shares of delta, and the shares."""
    found = [(_alone(kind, target, share * part), share * part) for kind, share in kinds]
    return [(menu, share) for menu, share in found if menu]


def _alone(kind: StepClass, target: _Target, share: float) -> Payment:
    """A menu of this kind only; empty if so small a share of delta pays for too little."""

    def steps(size: float) -> Payment:
        return {kind: math.floor(size)} if size >= 1 else {}

    found = _fitting(steps, target, share)
    if not found:
        return {}
    enough = {kind: math.ceil(found[kind] / SETTINGS.side_least)}
    return found if target.estimate(enough) >= 0 else {}


def _largest(
    steps: Callable[[float], Mapping[StepClass, float]],
    target: _Target,
    share: float = 1.0,
    *,
    most: float = MOST_STEPS,
    start: float = 1.0,
) -> float:
    """The largest size up to `most` within a share of delta, by the estimate; 0 if there is none.

    The estimate is interpolated between sizes that fit and sizes that do not.
    """
    low, high = (0.0, -math.inf), (math.inf, math.inf)
    size, factor = start, NEARBY if start > FEW else 2.0
    while high[0] - low[0] > max(SIZE_ACCURACY * low[0], 0.5) and low[0] < most:
        value = target.estimate(steps(size), share)
        low, high = ((size, value), high) if value <= 0 else (low, (size, value))
        size = min(_next(low, high, factor), most)
    return low[0]


def _next(low: tuple[float, float], high: tuple[float, float], factor: float) -> float:
    """Between a size that fits and one that does not; larger or smaller if there is only one."""
    if math.isinf(high[0]):
        return max(factor * low[0], low[0] + 1)
    if not math.isfinite(low[1]):
        return high[0] / factor
    part = -low[1] / (high[1] - low[1])
    return low[0] + min(max(part, 0.05), 0.95) * (high[0] - low[0])


def _fitting(
    steps: Callable[[float], Payment], target: _Target, share: float, most: float = MOST_STEPS
) -> Payment:
    """The most steps within a share of delta by the upper bound: near the estimate, from below.

    What the bound is above the estimate is taken from the share, until the bound itself fits.
    """
    above, size, best = ABOVE, 1.0, dict[StepClass, int]()
    tried: list[Payment] = []
    for _ in range(TRIES):
        size = _largest(steps, target, share * math.exp(-above), most=most, start=max(size, 1.0))
        counts = steps(size)
        if not counts or counts in tried:
            break
        tried.append(counts)
        missing = target.excess(counts, share)
        if missing <= 0:
            best = max(best, counts, key=lambda one: sum(one.values()))
        if -CLOSE <= missing <= 0:
            break
        above = missing - target.estimate(counts, share) + CLOSE / 3
    return best
