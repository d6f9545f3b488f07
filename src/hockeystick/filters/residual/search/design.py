"""The menus for what is expected: which classes, and how many steps of each.

Nothing here has to be trusted: the filter computes the delta of whatever comes out.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from hockeystick._numerics.law import FloatArray, Side
from hockeystick.errors import InvalidParameter
from hockeystick.filters.residual.bound import STEP, TAIL_SHARE
from hockeystick.filters.residual.composition import StepClass, delta_of, law_of
from hockeystick.filters.residual.expected import ExpectedSteps
from hockeystick.filters.residual.menus import Menu, MenuDesign
from hockeystick.filters.residual.search.settings import SETTINGS

__all__ = ["designed"]

Weights = dict[StepClass, float]
# No menu has more steps than this.
MOST_STEPS = 10**9
# Sizes of menus are found to this, relatively.
SIZE_ACCURACY = 2e-3
# Room for the guarantee to be computed once more, on another machine.
ROOM = 1e-6


def designed(expected: Sequence[ExpectedSteps], *, epsilon: float, delta: float) -> MenuDesign:
    """A menu for what is expected, and small ones for steps that are all alike."""
    slack_total = SETTINGS.exchange_share * delta
    classes = _classes_of(expected)
    levels = _levels(classes)
    side = SETTINGS.side_share * delta / max(len(levels), 1)
    others: list[Menu] = []
    for level in levels:
        counts = _largest({level: 1.0}, epsilon=epsilon, delta=side)
        if counts:
            others.append(Menu.of(counts))
    slack = slack_total / SETTINGS.exchanges
    left = delta - slack_total - side * len(others)
    weights = (
        _spaced(expected, epsilon=epsilon, delta=left)
        if any(map(_has_range, expected))
        else classes
    )
    # Steps anywhere in ranges come in any order: see `_rounded`.
    covered = SETTINGS.covered if all(map(_has_range, expected)) else 1.0
    counts = _main(weights, epsilon=epsilon, delta=left, covered=covered)
    menus = ([Menu.of(counts)] if counts else []) + others
    if not menus:
        allowed = f"large enough for one of the expected steps at delta = {delta:g}"
        raise InvalidParameter("epsilon", allowed, epsilon)
    return MenuDesign(menus=tuple(menus), exchanges=SETTINGS.exchanges, slack=slack)


def _main(
    weights: Weights, *, epsilon: float, delta: float, covered: float
) -> dict[StepClass, int]:
    """The menu for what is expected, without the strongest classes if they would take all of delta.

    A run ends about when the first step comes for which there is nothing: after 1/share steps.
    """
    best: dict[StepClass, int] = {}
    total = math.fsum(weights.values())
    ordered = sorted(weights, key=lambda one: -one.variance)
    for cut in SETTINGS.cuts:
        kept = ordered[math.ceil(cut * len(ordered)) :]
        left_out = 1 - math.fsum(weights[one] for one in kept) / total
        if sum(best.values()) >= min(SETTINGS.enough, 1 / max(left_out, 1e-9)):
            break
        found = _largest(
            {one: weights[one] for one in kept}, epsilon=epsilon, delta=delta, covered=covered
        )
        best = max(best, found, key=lambda one: sum(one.values()))
    return best


def _is_ranged(ends: tuple[float, float]) -> bool:
    return ends[0] < ends[1]


def _has_range(row: ExpectedSteps) -> bool:
    return _is_ranged(row.rates) or _is_ranged(row.noises)


def _classes_of(expected: Sequence[ExpectedSteps], place: FloatArray | None = None) -> Weights:
    """The classes, each with its share of the steps; `place` says where ranges are cut."""
    each = max(SETTINGS.classes // max(sum(map(_has_range, expected)), 1), 4)
    found: Weights = {}
    for row in expected:
        rates, noises = _is_ranged(row.rates), _is_ranged(row.noises)
        one = each if rates != noises else max(round(math.sqrt(each)), 2)
        cut = np.linspace(0, 1, one + 1)
        if place is not None and rates != noises:
            cut = np.interp(cut, place, np.linspace(0, 1, place.size))
        for _, high, share_of_rate in _cells(row.rates, cut if rates else None, stronger_high=True):
            for near, _, share_of_noise in _cells(row.noises, cut if noises else None):
                setting = StepClass.of(high, near)
                weight = row.steps * share_of_rate * share_of_noise
                found[setting] = found.get(setting, 0.0) + weight
    return found


def _cells(
    ends: tuple[float, float], cut: FloatArray | None, *, stronger_high: bool = False
) -> list[tuple[float, float, float]]:
    """Cells of a range, with their shares; cut points count from the end that costs more."""
    low, high = ends
    if cut is None:
        return [(low, high, 1.0)]
    at = high - (high - low) * cut if stronger_high else low + (high - low) * cut
    return [(min(a, b), max(a, b), abs(b - a) / (high - low)) for a, b in pairwise(at.tolist())]


def _spaced(expected: Sequence[ExpectedSteps], *, epsilon: float, delta: float) -> Weights:
    """Classes that are dense where one step more costs most.

    With density d, steps are rounded by 1/d; to round by so much costs w'/d, w the cost of a step.
    The sum is smallest for d in proportion to the root of w'.
    """
    first = _classes_of(expected)
    counts = _largest(first, epsilon=epsilon, delta=delta, exact=False)
    if not counts:
        return first
    rows = [one for one in expected if _is_ranged(one.rates) != _is_ranged(one.noises)]
    if len(rows) != 1:
        return first
    row = rows[0]
    at = np.linspace(0, 1, 9)
    steps = max(sum(counts.values()) // 100, 1)
    cost = np.array([_cost(counts, _setting(row, one), steps, epsilon, delta) for one in at])
    slope = np.maximum(-np.diff(np.maximum(cost, 1e-300)), 0.0) + 1e-3 * float(cost[0])
    density = np.sqrt(slope)
    place = np.concatenate(([0.0], np.cumsum(density)))
    return _classes_of(expected, place / place[-1])


def _setting(row: ExpectedSteps, at: float) -> StepClass:
    """The step at a share of the way from the expensive end to the other."""
    if _is_ranged(row.rates):
        return StepClass.of(row.rates[1] + (row.rates[0] - row.rates[1]) * at, row.noises[0])
    return StepClass.of(row.rates[0], row.noises[0] + (row.noises[1] - row.noises[0]) * at)


def _cost(
    counts: dict[StepClass, int], one: StepClass, steps: int, epsilon: float, delta: float
) -> float:
    more = {**counts, one: counts.get(one, 0) + steps}
    return _delta(more, epsilon, delta, SETTINGS.coarse_step) / steps


def _delta(counts: dict[StepClass, int], epsilon: float, delta: float, step: float) -> float:
    return delta_of(law_of(counts, Side.UPPER, step=step, tail=TAIL_SHARE * delta), epsilon)


def _levels(classes: Weights) -> list[StepClass]:
    """Kinds of steps for which there is a menu of their own, evenly spread in log variance."""
    ordered = sorted(classes, key=lambda one: one.variance)
    if len(ordered) <= 1:
        return []
    if len(ordered) <= SETTINGS.side_menus:
        return ordered
    logs = np.log([one.variance for one in ordered])
    aims = np.linspace(logs[0], logs[-1], SETTINGS.side_menus)
    return [ordered[i] for i in sorted({int(np.argmin(np.abs(logs - aim))) for aim in aims})]


def _largest(
    weights: Weights, *, epsilon: float, delta: float, exact: bool = True, covered: float = 1.0
) -> dict[StepClass, int]:
    """The most steps in these proportions; empty if there is no room for one."""
    share = delta * (1 - ROOM)
    weights = dict(sorted(weights.items(), key=lambda one: -one[0].variance))

    def fits(size: float, step: float) -> bool:
        counts = _rounded(weights, size, covered)
        return not counts or _delta(counts, epsilon, delta, step) <= share

    low, high = 0.0, 1.0
    while high < MOST_STEPS and fits(high, SETTINGS.coarse_step):
        low, high = high, 2 * high
    while high - low > max(SIZE_ACCURACY * high, 0.5 if high < 1e3 else 0.0):
        middle = (low + high) / 2
        low, high = (middle, high) if fits(middle, SETTINGS.coarse_step) else (low, middle)
    if exact:
        # The finer grid of the guarantee allows a little more; in any case it decides.
        low *= 1 + 2 * SIZE_ACCURACY
        while low > 0 and not fits(low, STEP):
            low = low * (1 - SIZE_ACCURACY) if low > 1 / SIZE_ACCURACY else max(low - 0.5, 0.0)
    return _rounded(weights, low, covered)


def _rounded(weights: Weights, size: float, covered: float) -> dict[StepClass, int]:
    """Whole numbers of steps, rounded up from the strongest class on.

    The share `covered` of what is expected, the strongest part, has all of them: the rest is served
    by classes that are a little stronger. So evenly spread steps find a class that dominates them
    in whichever order they come, the strongest first as well.
    """
    total = math.fsum(weights.values())
    counts: dict[StepClass, int] = {}
    seen, given = 0.0, 0
    for one, weight in weights.items():
        seen += weight / total * size / covered
        here = math.ceil(min(seen, size) - 1e-9) - given
        given += here
        if here:
            counts[one] = here
    return counts
