"""What the figures of the report show: errors, points (epsilon, delta), a simulated run."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from hockeystick import _validate as check
from hockeystick.accounting import account
from hockeystick.accounting.compare import Compared
from hockeystick.errors import InvalidParameter, PrecisionError
from hockeystick.guarantee import Guarantee, Kind
from hockeystick.plan import Plan
from hockeystick.report import Family, Update, count_text
from hockeystick.report.noise_figure import (
    COSTLY,
    CURVE_BUDGET,
    NoiseCurve,
    drawn_methods,
    winning_curve,
)
from hockeystick.schemes import Attribution

__all__ = [
    "ErrorCurve",
    "PrivacyPoints",
    "SimulatedBatches",
    "error_curves",
    "privacy_points",
    "simulated_batches",
]

# Points of the common grid of epsilons.
EPSILON_POINTS = 33
# The grid runs from the target divided by this to the target times this.
REACH = 2.5
# Fewer where nothing is exact and several methods are asked.
POINTS, POINTS_OF_EACH = 24, 12
# They are denser from the largest delta to the middle one, where the curve bends, and end at the
# smallest, or at this share of the target where that is less.
LARGEST_DELTA, MIDDLE_DELTA, SMALLEST_DELTA, BELOW_TARGET = 0.3, 0.03, 1e-8, 1e-2
# Where methods that take seconds for each number are asked as well, as powers of the target.
COSTLY_POWERS = (0.25, 0.5, 0.75)
# Less than the width of a line.
ACCURACY = 0.01
# More than what rounding changes: relatively in sums, absolutely in differences from one.
OUTWARDS, CANCELLED = 1 + 1e-12, 1e-15
# Points above this say nothing about attacks, and their exponentials would overflow.
MOST_EPSILON = 700.0
# What is shown, and what is simulated at most: a page needs no billion indices.
ROWS, MOST_COLUMNS, TURNS = 40, 400, 4
MOST_STEPS, MOST_INDICES, MOST_EXAMPLES = 20_000, 20_000_000, 5_000_000


@dataclass(frozen=True)
class ErrorCurve:
    """Errors at some epsilons; NaN where no candidate's curve reaches."""

    label: str
    kind: Kind
    epsilon: tuple[float, ...]
    error: tuple[float, ...]


def error_curves(
    families: Sequence[Family],
    *,
    computed: Mapping[str, Sequence[NoiseCurve]],
    update: Update,
) -> list[ErrorCurve]:
    """One curve for each family, in their order.

    `computed` has the curves of each family's best member that are there already, by the family's
    label; those that are not proven are left out. Other members are accounted with the method that
    gave them their noise.
    """
    target = families[0].best.calibration.epsilon
    grid = np.geomspace(target / REACH, target * REACH, EPSILON_POINTS)
    curves = []
    for family in families:
        update(f"Drawing the error of {family.label} ...")
        unit = family.best.unit_error
        proven = [one for one in computed[family.label] if one.kind == "proven"]
        errors = [_errors(curve, unit, grid) for curve in proven]
        for one in family.members[1:]:
            curve = winning_curve(one)
            if curve is not None:
                errors.append(_errors(curve, one.unit_error, grid))
        # fmin ignores curves that do not reach a point.
        best = np.fmin.reduce(errors, axis=0) if errors else np.full(EPSILON_POINTS, np.nan)
        # What was verified is a point, not a curve.
        kind = family.best.answer.kind if family.best.answer.kind != "verified" else "proven"
        curves.append(ErrorCurve(family.label, kind, tuple(grid.tolist()), tuple(best.tolist())))
    return curves


def _errors(curve: NoiseCurve, unit: float, grid: np.ndarray) -> np.ndarray:
    """The error at the epsilons of the grid, interpolated in logarithms; `unit` is at noise 1."""
    noise, epsilon = np.array(curve.noise), np.array(curve.epsilon)
    drawn = np.isfinite(epsilon)
    # epsilon falls with the noise; np.interp wants it to rise.
    x, y = np.log(epsilon[drawn])[::-1], 2 * np.log(noise[drawn])[::-1]
    errors: np.ndarray = unit * np.exp(np.interp(np.log(grid), x, y, left=np.nan, right=np.nan))
    return errors


@dataclass(frozen=True)
class PrivacyPoints:
    """The run is (epsilon[i], delta[i])-DP for every i, in both directions; epsilon rises."""

    epsilon: tuple[float, ...]
    delta: tuple[float, ...]
    kind: Kind

    def true_positive_rate(self, false_positive_rate: Any) -> Any:
        """No attack has more true positives at this rate of false ones, for a number or an array.

        min over the points of delta + e^epsilon x and 1 - e^-epsilon (1 - delta - x), x the false
        positive rate: the definition in both directions, for the event that the attack says yes and
        for its complement [DongRothSu22, Proposition 2.12]. An upper bound, rounded up;
        with finitely many points a little above that of the whole profile.
        """
        rates = check.vector("false_positive_rate", false_positive_rate, "in [0, 1]")
        if not np.all((rates >= 0) & (rates <= 1)):
            raise InvalidParameter("false_positive_rate", "in [0, 1]", false_positive_rate)
        rate = rates[..., None]
        epsilon, delta = np.array(self.epsilon), np.array(self.delta)
        said = delta + np.exp(epsilon) * rate
        not_said = 1 - np.exp(-epsilon) * (1 - delta - rate) + CANCELLED
        least = np.minimum(said, not_said).min(axis=-1) * OUTWARDS
        bound = np.clip(least, rates, 1.0)
        return float(bound) if np.ndim(false_positive_rate) == 0 else bound

    @property
    def advantage(self) -> float:
        """No attack has more true positives less false ones, and half of the rest is its error.

        The error where half of all are members. delta at 0 where it is known; otherwise the bound
        of each point, (e^epsilon - 1 + 2 delta) / (e^epsilon + 1) [KairouzOhViswanath15].
        """
        epsilon, delta = np.array(self.epsilon), np.array(self.delta)
        found = np.tanh(epsilon / 2) + 2 * delta / (np.exp(epsilon) + 1)
        return float(min(1.0, found.min() * OUTWARDS))


def privacy_points(one: Compared) -> PrivacyPoints:
    """The profile of the candidate at its noise, from the methods that "auto" asks.

    One that is exact needs no others. Methods that take seconds for a number are asked at three
    deltas only, beside the point that is known from the calibration. Corners of the convex hull of
    everything that is proved.
    """
    found = one.calibration
    exact = found.guarantee.analyses[0].tight
    asked = {analysis.method for analysis in found.guarantee.analyses}
    methods = ["auto"] if exact else [name for name in drawn_methods(one) if name in asked]
    lowest = min(SMALLEST_DELTA, BELOW_TARGET * found.delta)
    deltas = _deltas(lowest, POINTS if exact else POINTS_OF_EACH)
    # The first one holds for everything.
    points = [(0.0, 1.0), (one.answer.value, found.delta)]
    for method in methods:
        guarantee = account(
            one.plan,
            noise_multiplier=found.noise_multiplier,
            method=method,
            accuracy=ACCURACY,
            budget=CURVE_BUDGET,
        )
        if method in COSTLY:
            points += _points(guarantee, [found.delta**power for power in COSTLY_POWERS])
        else:
            points += [*_points(guarantee, deltas), (0.0, _number(partial(guarantee.delta, 0.0)))]
    kept = _lower_hull([(e, d) for e, d in points if e <= MOST_EPSILON and d <= 1])
    return PrivacyPoints(tuple(e for e, _ in kept), tuple(d for _, d in kept), one.answer.kind)


def _deltas(lowest: float, points: int) -> list[float]:
    """Closer to each other where they are large: there the trade-off curve bends."""
    large = points // 3
    near = np.geomspace(LARGEST_DELTA, MIDDLE_DELTA, large, endpoint=False)
    return [*near.tolist(), *np.geomspace(MIDDLE_DELTA, lowest, points - large).tolist()]


def _points(guarantee: Guarantee, deltas: Sequence[float]) -> list[tuple[float, float]]:
    return [(_number(partial(guarantee.epsilon, delta)), delta) for delta in deltas]


def _number(ask: Callable[[], float]) -> float:
    """What was asked for; less accurate than wanted it is still an upper bound."""
    try:
        return ask()
    except PrecisionError as error:
        return error.upper


def _lower_hull(points: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """Corners of the lower convex hull in (e^epsilon, delta), as long as delta falls.

    A profile is convex in e^epsilon, so nothing proved by the other points is lost.
    """
    hull: list[tuple[float, float]] = []
    for point in sorted(set(points)):
        if hull and point[1] >= hull[-1][1]:
            continue
        while len(hull) > 1 and _above(hull[-2], hull[-1], point):
            hull.pop()
        hull.append(point)
    return hull


def _above(
    left: tuple[float, float], middle: tuple[float, float], right: tuple[float, float]
) -> bool:
    """Whether the middle one lies on or above the chord of the others."""
    # Differences of e^epsilon relative to the middle one do not overflow.
    before, after = -math.expm1(left[0] - middle[0]), math.expm1(right[0] - middle[0])
    return (left[1] - middle[1]) * after <= (middle[1] - right[1]) * before


@dataclass(frozen=True)
class SimulatedBatches:
    """The sizes of the first batches, and the participations of some examples in some steps.

    `planned` is the number of steps of the run, of which `sizes` may have the first ones only.

    `examples` are the indices of the rows, spread over the data; `joined` are pairs (row, step)
    with step < `columns`.
    """

    seed: int
    planned: int
    sizes: tuple[int, ...]
    expected_size: float
    examples: tuple[int, ...]
    columns: int
    joined: tuple[tuple[int, int], ...]

    @property
    def part(self) -> str:
        """Which steps they are, if not all: a clause."""
        if len(self.sizes) == self.planned:
            return ""
        return f"first {count_text(len(self.sizes))} of {count_text(self.planned)} steps"


def simulated_batches(
    plan: Plan, *, examples: int | Attribution, seed: int
) -> SimulatedBatches | None:
    """The batches of the plan, drawn with a seed; None if the data are too many to try.

    Of a long run they are the first 20,000, or fewer if those have too many examples.

    About four participations of each row are shown. A seed that is printed is for looking only:
    a run with these batches would have no amplification.
    """
    data: Any = examples  # a graph only for a scheme that takes one
    expected = plan.sampling.expected_batch_size(data)
    examples = data.examples if isinstance(data, Attribution) else data
    if examples > MOST_EXAMPLES:
        return None
    steps = max(1, min(plan.steps, MOST_STEPS, int(MOST_INDICES / max(expected, 1.0))))
    columns = min(steps, MOST_COLUMNS, max(100, round(TURNS * examples / expected)))
    rows = np.unique(np.linspace(0, examples - 1, min(ROWS, examples)).round().astype(np.int64))
    # A common step between rows would put all of them into one group of cyclic sampling.
    rows = np.unique((rows + np.arange(rows.size) % 7) % examples)
    sizes: list[int] = []
    joined: list[tuple[int, int]] = []
    for step, batch in enumerate(plan.batches(examples=data, rng=seed)):
        if step == steps:
            break
        sizes.append(int(batch.size))
        if step < columns:
            joined += [(row, step) for row in np.flatnonzero(np.isin(rows, batch)).tolist()]
    indices = tuple(rows.tolist())
    return SimulatedBatches(
        seed, plan.steps, tuple(sizes), expected, indices, columns, tuple(joined)
    )
