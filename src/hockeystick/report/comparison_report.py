"""Everything that the report of a comparison shows, collected before anything is drawn.

`page_json` is what the script of the page draws, as JSON that can stand in the page.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from hockeystick import _validate as check
from hockeystick.accounting import methods
from hockeystick.accounting.compare import Compared
from hockeystick.analyses import METHODS
from hockeystick.errors import HockeystickError
from hockeystick.report import Family, Update, families, result_row
from hockeystick.report.figure import PALETTE
from hockeystick.report.figure_data import (
    ErrorCurve,
    PrivacyPoints,
    SimulatedBatches,
    error_curves,
    privacy_points,
    simulated_batches,
)
from hockeystick.report.noise_figure import NoiseCurve, drawn_methods, method_curve
from hockeystick.report.recommendation import Recommendation, recommended

__all__ = [
    "ESTIMATE",
    "ComparisonReport",
    "FamilyReport",
    "comparison_report",
    "method_names",
    "page_json",
]

# Of the batches that are shown; any number, so that the same report is drawn again.
DEFAULT_SEED = 1


@dataclass(frozen=True)
class FamilyReport:
    """One scheme with one strategy, shown by the member with the least error.

    `not_drawn` are methods that apply but take too long for a curve. `estimated_noise` is about the
    noise that exact accounting would give, where nothing proven is exact; nobody may run with it.
    """

    family: Family
    curves: tuple[NoiseCurve, ...]
    error: ErrorCurve
    points: PrivacyPoints
    batches: SimulatedBatches | None
    not_drawn: tuple[str, ...]
    estimated_noise: float | None
    can_be_verified: bool

    @property
    def estimated_error(self) -> float | None:
        """The mean squared error at the estimated noise."""
        if self.estimated_noise is None:
            return None
        return self.estimated_noise**2 * self.family.best.unit_error


@dataclass(frozen=True)
class ComparisonReport:
    """What was compared, best first, and the families in the order of their best members."""

    compared: tuple[Compared, ...]
    families: tuple[FamilyReport, ...]
    recommendation: Recommendation
    batch_size: float
    seed: int

    @property
    def best(self) -> Compared:
        """The recommended setting: the least error of all."""
        return self.recommendation.best

    @property
    def examples(self) -> int:
        """How many there are."""
        return self.recommendation.examples


def comparison_report(
    compared: Sequence[Compared],
    *,
    examples: int,
    batch_size: float,
    recommendation: Recommendation | None = None,
    seed: int = DEFAULT_SEED,
    estimates: bool = True,
    update: Update = lambda text: None,
) -> ComparisonReport:
    """The curves, profiles and simulated batches of `compare(...)` with the same arguments.

    With momentum, learning rates or users the `recommendation` says so; by default it is that for
    plain SGD and single examples.

    Costs up to a minute of work on top of a comparison with two thousand steps: curves are computed
    with a hundredth of the usual budget, and a method that takes seconds for a number at a few
    points only. `seed` is that of the simulated batches and of the estimates, which `estimates`
    leaves out.
    """
    examples = check.positive_integer("examples", examples)
    batch_size = check.positive("batch_size", batch_size)
    advice = recommendation or recommended(compared, examples=examples)
    grouped = families(compared)
    computed: dict[str, list[NoiseCurve]] = {}
    for family in grouped:
        update(f"Drawing {family.label} ...")
        curves = (method_curve(family.best, method) for method in drawn_methods(family.best))
        computed[family.label] = [curve for curve in curves if curve is not None]
    errors = error_curves(grouped, computed=computed, update=update)
    reports = []
    for family, error in zip(grouped, errors, strict=True):
        best = family.best
        update(f"Reading the profile of {family.label} ...")
        points = privacy_points(best)
        applicable = methods(best.plan)
        draws = (
            any(METHODS[name].by_draws for name in applicable)
            and not best.calibration.guarantee.analyses[0].tight
            and best.answer.kind == "proven"
        )
        update(f"Simulating {family.label} ...")
        reports.append(
            FamilyReport(
                family=family,
                curves=tuple(computed[family.label]),
                error=error,
                points=points,
                batches=simulated_batches(best.plan, examples=advice.data, seed=seed),
                not_drawn=_not_drawn(applicable, computed[family.label]),
                estimated_noise=_estimate(best, seed) if draws and estimates else None,
                can_be_verified=draws,
            )
        )
    return ComparisonReport(tuple(compared), tuple(reports), advice, batch_size, seed)


def _not_drawn(applicable: Iterable[str], curves: Sequence[NoiseCurve]) -> tuple[str, ...]:
    drawn = {curve.label for curve in curves}
    return tuple(name for name in applicable if name not in drawn and not METHODS[name].by_draws)


def _estimate(one: Compared, seed: int) -> float | None:
    """About the noise of exact accounting, by draws; None where draws do not find it."""
    from hockeystick.montecarlo.noise_estimate import estimate_noise

    found = one.calibration
    try:
        estimate = estimate_noise(
            one.plan,
            epsilon=found.epsilon,
            delta=found.delta,
            start=found.noise_multiplier,
            seed=seed,
        )
    except HockeystickError:
        return None
    return estimate.noise_multiplier


# The toggle of what is only estimated.
ESTIMATE = "estimate"
# Inside a script element these could end it, or end a line.
UNSAFE = {ord(character): f"\\u{ord(character):04x}" for character in "<>&\u2028\u2029"}


def method_names(report: ComparisonReport) -> list[str]:
    """Every method that is drawn somewhere, in the order of their first appearance."""
    names = (curve.label for one in report.families for curve in one.curves)
    return list(dict.fromkeys(names))


def page_json(report: ComparisonReport) -> str:
    """All numbers as one JSON object; what cannot be drawn is null, and nothing ends a script."""
    target = report.best.calibration
    content = {
        "target": {"epsilon": target.epsilon, "delta": target.delta},
        "palette": PALETTE,
        "methods": method_names(report),
        "families": [_family(one) for one in report.families],
        "results": [result_row(one, report.recommendation.data) for one in report.compared],
        "recommendation": report.recommendation.as_object(),
    }
    return json.dumps(_drawable(content), allow_nan=False).translate(UNSAFE)


def _family(one: FamilyReport) -> dict[str, Any]:
    best, batches = one.family.best, one.batches
    shown = batches and {
        "seed": batches.seed,
        "sizes": batches.sizes,
        "part": batches.part,
        "expected": batches.expected_size,
        "examples": batches.examples,
        "columns": batches.columns,
        "joined": batches.joined,
    }
    return {
        "label": one.family.label,
        "kind": best.answer.kind,
        "method": best.answer.method,
        "noise": best.calibration.noise_multiplier,
        "epsilon": best.answer.value,
        "mse": best.mean_squared_error,
        "estimate": one.estimated_noise,
        "curves": [
            {
                "method": curve.label,
                "kind": curve.kind,
                "noise": curve.noise,
                "epsilon": curve.epsilon,
            }
            for curve in one.curves
        ],
        "error": {"epsilon": one.error.epsilon, "error": one.error.error},
        "points": {"epsilon": one.points.epsilon, "delta": one.points.delta},
        "batches": shown,
    }


def _drawable(value: Any) -> Any:
    """The value with null for every float that is not finite, all the way down."""
    if isinstance(value, dict):
        return {name: _drawable(inner) for name, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_drawable(inner) for inner in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
