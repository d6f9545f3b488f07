"""The curves of Example 3.3 of the f-DP filter paper, for its Figures 1, 3, 4 and 5.

The paper writes f for T[P, Q] and H for the remove direction: P is the output with the example. All
curves are polygons through values that come from quadrature, so they are good for pictures, and
the numbers at the calibration point are those of `example()`, without polygons.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from curves import Curve, Drawing, curve
from fdp_example_3_3 import (
    CORRECTED,
    PRINTED,
    calibration_point,
    example,
    first_stage,
    rule,
    second_heights,
)
from hockeystick.fdp import (
    FirstStage,
    PrivacyCurve,
    TradeOff,
    adaptive_height,
    greatest_lower_bound,
)

__all__ = [
    "ADAPTED",
    "AS_PRINTED",
    "BUDGET",
    "FUTURES",
    "WORST",
    "ExampleCurves",
    "drawn",
    "errors",
    "example_curves",
    "lines",
    "orders",
    "paper_tradeoff",
    "setting",
]

FUTURES = ("steps 2, 3: μ = 2.25 and 2.25", "steps 2, 3: μ = 0.1 and 10")
BUDGET, WORST = "budget of the filter", "bound for any rule"
ADAPTED, AS_PRINTED = "adaptive, corrected", "adaptive, as printed"
# Orders beyond the ends have no mass that a picture could show.
ENDS, MIDDLE = 1e7, 1e2
# So many orders are worked on at once, for the sake of memory.
AT_ONCE = 400


class ExampleCurves(NamedTuple):
    """The two products of the later steps, and what becomes of all three steps, by label."""

    futures: dict[str, PrivacyCurve]
    composed: dict[str, PrivacyCurve]


def example_curves(small: bool) -> ExampleCurves:
    """All curves as polygons: about 2,000 corners, in small mode 300; chords lie above by 2e-6."""
    corners = _corners(240 if small else 1600)
    futures = [_polygon(heights, corners) for heights in second_heights()]
    stage = first_stage()
    nothing = np.zeros(stage.p.size)

    def largest(gamma: Any) -> Any:
        return np.maximum(*(future(gamma) for future in futures))

    def adaptive(seconds: Sequence[Any], choice: Any) -> PrivacyCurve:
        return _polygon(_heights(stage, seconds, choice), corners)

    fixed = [adaptive([future], nothing) for future in futures]
    composed = {
        BUDGET: greatest_lower_bound([one.tradeoff() for one in fixed]).curve(),
        ADAPTED: adaptive(futures, rule(stage.outcome, CORRECTED)),
        AS_PRINTED: adaptive(futures, rule(stage.outcome, PRINTED)),
        WORST: adaptive([largest], nothing),
    }
    return ExampleCurves(dict(zip(FUTURES, futures, strict=True)), composed)


def orders(count: int) -> list[float]:
    """Orders from 0 to 4 for a picture, with the calibration point."""
    return sorted([*np.linspace(0.0, 4.0, count).tolist(), calibration_point()])


def errors(count: int) -> list[float]:
    """Type I errors from 0.001 to 1; the polygons have no corners for much smaller ones."""
    return [1e-3, *np.linspace(0.0, 1.0, count)[1:].tolist()]


def paper_tradeoff(polygon: PrivacyCurve) -> TradeOff:
    """f = T[P, Q] of the paper: the null hypothesis is the output with the example."""
    return polygon.tradeoff().inverse()


def lines(functions: dict[str, Callable[[Any], Any]], x: Sequence[float]) -> list[Curve]:
    """One line for each label."""
    return [curve(label, x, function) for label, function in functions.items()]


def setting() -> dict[str, float]:
    """The parameters of the example, and its numbers at the calibration point."""
    found = example()
    return {
        "rate": 0.5,
        "noise": 1.0,
        "first_sensitivity": 1.3,
        "threshold": 0.65,
        "calibration_point": found.gamma,
        "budget": found.budget,
        "adaptive_corrected": found.corrected,
        "adaptive_printed": found.printed,
    }


def drawn(title: str, axes: tuple[str, str], curves: list[Curve], **looks: Any) -> Drawing:
    """A diagram on linear axes without markers."""
    return Drawing(
        name=title,
        title=title,
        x_label=axes[0],
        y_label=axes[1],
        setting=setting(),
        curves=curves,
        log_x=False,
        log_y=False,
        marked=False,
        **looks,
    )


def _corners(count: int) -> Any:
    """0, few orders in the tails, and many around 1."""
    middle = np.geomspace(1 / MIDDLE, MIDDLE, count)
    outer = np.geomspace(MIDDLE, ENDS, count // 8)[1:]
    return np.concatenate(([0.0], 1 / outer[::-1], middle, outer))


def _heights(stage: FirstStage, seconds: Sequence[Any], choice: Any) -> Callable[[Any], Any]:
    return lambda gamma: adaptive_height(stage, seconds, choice=choice, gamma=gamma)


def _polygon(heights: Callable[[Any], Any], corners: Any) -> PrivacyCurve:
    """Through the values at the corners; masses that sum to one up to rounding are corrected."""
    parts = np.array_split(corners, -(-corners.size // AT_ONCE))
    values = np.concatenate([np.asarray(heights(part)) for part in parts])
    values = np.maximum(values, 1.0 - corners)
    values[0] = 1.0
    return PrivacyCurve(corners, np.minimum.accumulate(values), bound="estimate")
