"""The figures of the report as one static picture."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from hockeystick.report.comparison_report import ComparisonReport, FamilyReport
from hockeystick.report.figure import INK, PALETTE, curve_style, linear_axes, log_axes, new_figure
from hockeystick.report.figure_data import ErrorCurve, SimulatedBatches
from hockeystick.report.noise_figure import EPSILON_LABEL, Mark, draw_curves, draw_mark
from hockeystick.report.text import upper_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["draw_errors", "report_figure"]


def draw_errors(
    axes: Axes, curves: Sequence[ErrorCurve], *, target: float, marks: Sequence[float]
) -> None:
    """One line for each family with a dot at the target epsilon; `marks` are the errors there."""
    for i, (curve, mark) in enumerate(zip(curves, marks, strict=True)):
        colour, dashes = curve_style(i)
        axes.plot(
            curve.epsilon,
            curve.error,
            color=colour,
            linestyle=dashes,
            linewidth=2.0,
            label=f"{curve.label} ({curve.kind})",
        )
        axes.plot([target], [mark], "o", color=colour, markersize=6, zorder=5)
    axes.axvline(target, color=INK, linewidth=1.0, zorder=1)
    log_axes(axes)
    axes.set_xlabel("ε", color=INK)
    axes.set_ylabel("mean squared error of the iterates' noise", color=INK)
    # Below the axes: curves fill the whole panel.
    axes.legend(
        loc="upper left",
        bbox_to_anchor=(0.0, -0.14),
        ncols=2,
        frameon=False,
        fontsize=8.5,
        labelcolor=INK,
    )


GREY = "#8C8C8C"
RATES = np.geomspace(1e-6, 1.0, 241)
# Curves are shown up to this multiple of the target.
MOST = 12.0


def report_figure(report: ComparisonReport, *, title: str) -> Figure:
    """Six panels: the errors of all families, and the recommended setting in detail."""
    figure = new_figure(width=12.0, height=13.0)
    panels = figure.subplots(3, 2)
    first = report.families[0]
    _errors(panels[0, 0], report)
    _noise(panels[0, 1], first)
    _profile(panels[1, 0], first)
    _attack(panels[1, 1], first)
    _raster(panels[2, 0], first.batches)
    _sizes(panels[2, 1], first.batches)
    figure.suptitle(title, x=0.01, horizontalalignment="left", fontsize=12, color=INK)
    return figure


def _heading(axes: Axes, text: str) -> None:
    axes.set_title(text, loc="left", fontsize=10.5, color=INK)


def _errors(axes: Axes, report: ComparisonReport) -> None:
    target = report.best.calibration.epsilon
    marks = [one.family.best.mean_squared_error for one in report.families]
    draw_errors(axes, [one.error for one in report.families], target=target, marks=marks)
    _heading(axes, "Error against ε, each scheme at its best")


def _noise(axes: Axes, one: FamilyReport) -> None:
    found = one.family.best.calibration
    near = [c for c in one.curves if np.nanmin(c.epsilon) <= MOST * found.epsilon]
    draw_curves(axes, near)
    text = f"noise {upper_text(found.noise_multiplier)}"
    draw_mark(axes, Mark(found.noise_multiplier, one.family.best.answer.value, text))
    if one.estimated_noise is not None:
        label = "exact accounting (estimate)"
        at = [one.estimated_noise], [found.epsilon]
        axes.plot(*at, "D", color=INK, fillstyle="none", markersize=8, label=label)
    axes.set_xlabel("noise multiplier", color=INK)
    axes.set_ylabel(EPSILON_LABEL, color=INK)
    axes.legend(frameon=False, fontsize=9, labelcolor=INK)
    _heading(axes, f"{one.family.label}: ε against noise, method by method")


def _profile(axes: Axes, one: FamilyReport) -> None:
    points, best = one.points, one.family.best
    axes.plot(points.epsilon, points.delta, ".-", color=PALETTE[0], linewidth=2.0)
    axes.plot([best.answer.value], [best.calibration.delta], "o", color=INK, markersize=7)
    linear_axes(axes)
    axes.set_yscale("log")
    axes.set_xlabel("ε", color=INK)
    axes.set_ylabel("δ (upper bound)", color=INK)
    _heading(axes, f"Privacy profile at the calibrated noise ({points.kind})")


def _attack(axes: Axes, one: FamilyReport) -> None:
    powers = one.points.true_positive_rate(RATES)
    axes.plot(RATES, RATES, color=GREY, linewidth=1.2, label="guessing")
    axes.plot(RATES, powers, color=PALETTE[1], linewidth=2.0, label="no attack is above")
    log_axes(axes)
    axes.set(xlim=(RATES[0], 1), ylim=(RATES[0], 1))
    axes.set_xlabel("false positive rate", color=INK)
    axes.set_ylabel("true positive rate (upper bound)", color=INK)
    inset = axes.inset_axes((0.6, 0.1, 0.36, 0.36))
    inset.plot([0, 1], [1, 0], color=GREY, linewidth=1.0)
    inset.plot(RATES, 1 - powers, color=PALETTE[1], linewidth=1.6)
    linear_axes(inset)
    inset.set(xlim=(0, 1), ylim=(0, 1))
    inset.set_title("false negatives: the trade-off curve", fontsize=8, color=INK)
    axes.legend(frameon=False, fontsize=9, labelcolor=INK, loc="upper left")
    _heading(axes, f"What an attack can find ({one.points.kind})")


def _raster(axes: Axes, batches: SimulatedBatches | None) -> None:
    if batches is None:
        axes.set_axis_off()
        return
    rows, steps = np.array(batches.joined, dtype=float).reshape(-1, 2).T
    axes.scatter(steps, rows, marker="s", s=9, color=PALETTE[0], linewidths=0)
    linear_axes(axes)
    axes.set(xlim=(-1, batches.columns), ylim=(len(batches.examples), -1), yticks=[])
    axes.set_xlabel("step", color=INK)
    axes.set_ylabel("examples", color=INK)
    _heading(axes, f"Who takes part when, simulated with seed {batches.seed}")


def _sizes(axes: Axes, batches: SimulatedBatches | None) -> None:
    if batches is None:
        axes.set_axis_off()
        return
    axes.plot(batches.sizes, color=PALETTE[2], linewidth=0.8)
    axes.axhline(batches.expected_size, color=INK, linewidth=1.2, linestyle="--")
    linear_axes(axes)
    axes.set_ylim(bottom=0)
    axes.set_xlabel(f"step ({batches.part})" if batches.part else "step", color=INK)
    axes.set_ylabel("batch size", color=INK)
    _heading(axes, f"Batch sizes of the same run; expected: {batches.expected_size:g}")
