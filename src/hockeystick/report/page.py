"""The report as one file: the interactive page, which needs not even a network, and the picture."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from html import escape
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING

import numpy as np

from hockeystick._files import check_target, replacing
from hockeystick.errors import InvalidParameter, MissingExtra
from hockeystick.report import count_text, upper_text
from hockeystick.report import page_text as text
from hockeystick.report.comparison_report import ComparisonReport, FamilyReport, page_json
from hockeystick.report.figure import INK, PALETTE, curve_style, linear_axes, log_axes, new_figure
from hockeystick.report.figure_data import ErrorCurve, SimulatedBatches
from hockeystick.report.noise_figure import EPSILON_LABEL, Mark, draw_curves, draw_mark

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["check_page_file", "draw_errors", "page_html", "report_figure", "write_page"]


SUFFIXES = (".html", ".htm")
# Whatever the page contains, the browser asks nobody for anything.
POLICY = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:"
)


def check_page_file(name: str, path: Path) -> Path:
    """The path, if a page can be written to it; to be called before the work starts.

    `InvalidParameter` for another suffix or a missing directory, `MissingExtra` without Plotly.
    """
    if path.suffix.lower() not in SUFFIXES:
        raise InvalidParameter(name, f"a file that ends in {' or '.join(SUFFIXES)}", str(path))
    check_target(name, path)
    try:
        importlib.import_module("plotly")
    except ImportError:
        raise MissingExtra("The page needs Plotly", extra="report") from None
    return path


def write_page(report: ComparisonReport, path: Path) -> None:
    """Write the page atomically; some five megabytes, nearly all of them Plotly's script."""
    check_page_file("path", path)
    with replacing(path) as file:
        file.write(page_html(report).encode())


def page_html(report: ComparisonReport) -> str:
    """The whole page: text first, then the data, Plotly and the script that draws."""
    from plotly.offline import get_plotlyjs

    return Template(_part("page.html")).substitute(
        policy=POLICY,
        run=escape(_run(report)),
        style=_part("page.css"),
        recommendation=text.recommendation(report),
        family_boxes=text.family_boxes(report),
        table=text.table(report),
        scheme_options=text.scheme_options(report),
        method_boxes=text.method_boxes(report),
        seed=report.seed,
        settings=text.settings(report),
        fine_print=text.fine_print_list(report),
        data=page_json(report),
        plotly=get_plotlyjs(),
        script=_part("page.js"),
    )


def _part(name: str) -> str:
    """A file beside this one."""
    return (files("hockeystick.report") / name).read_text(encoding="utf-8")


def _run(report: ComparisonReport) -> str:
    found = report.best.calibration
    advice = report.recommendation
    users = ""
    if advice.examples_per_user is not None:
        users = f"{advice.examples_per_user} for each user, "
    optimizer = "" if advice.optimizer.is_plain else f", {advice.optimizer}"
    return (
        f"{count_text(report.examples)} examples, {users}batch size {report.batch_size:g}, "
        f"{count_text(report.best.plan.steps)} steps{optimizer}, ε = {found.epsilon:g}, "
        f"δ = {found.delta:g}"
    )


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
# Forty points for each power of ten.
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
