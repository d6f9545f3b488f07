"""What the script of the page draws, as JSON that can stand in the page."""

from __future__ import annotations

import json
import math
from typing import Any

from hockeystick.report.comparison_report import ComparisonReport, FamilyReport
from hockeystick.report.figure import PALETTE
from hockeystick.report.result_rows import result_row

__all__ = ["ESTIMATE", "method_names", "page_json"]

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
