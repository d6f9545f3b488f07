"""The figure behind --plot."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from hockeystick.cli.output import plan_text
from hockeystick.cli.pricing import Row
from hockeystick.plan import Plan
from hockeystick.report.figure import save_figure
from hockeystick.report.noise_curve import noise_around, noise_curve
from hockeystick.report.noise_figure import Mark, noise_figure
from hockeystick.report.numbers import upper_text
from hockeystick.report.progress import Update

__all__ = ["Spot", "draw_plot"]

# Curves need a delta inside (0, 1), whatever the answer was.
SMALLEST_DELTA, LARGEST_DELTA = 1e-280, 0.99


class Spot(NamedTuple):
    """Where the question and its answer are: around this point the curves are drawn."""

    noise_multiplier: float
    epsilon: float
    delta: float


def draw_plot(
    path: Path, plan: Plan, *, rows: list[Row], spot: Spot, direction: str, update: Update
) -> None:
    """Epsilon against noise around the spot, a curve for each row, written to the file."""
    delta = min(max(spot.delta, SMALLEST_DELTA), LARGEST_DELTA)
    noise = noise_around(spot.noise_multiplier)
    curves = []
    for row in rows:
        update(f"Drawing {row.method} ...")
        curves.append(
            noise_curve(
                plan,
                label=row.method,
                kind=row.kind,
                noise=noise,
                delta=delta,
                method=row.asked,
                direction=direction,
            )
        )
    text = f"noise {upper_text(spot.noise_multiplier, 4)}, ε {upper_text(spot.epsilon, 4)}"
    mark = Mark(spot.noise_multiplier, spot.epsilon, text)
    title = f"{plan_text(plan.describe())}, δ = {delta:.4g}"
    save_figure(noise_figure(curves, mark=mark, title=title), path)
