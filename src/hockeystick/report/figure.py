"""Figures without a display: made, styled alike and saved; trade-off functions and audits.

Of a trade-off function both errors of an attack, and what it finds; of an audit the scores of
members and others, and the noise of each step.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from hockeystick._files import check_target, replacing
from hockeystick.errors import InvalidParameter, MissingExtra

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from hockeystick.audit import AuditReport
    from hockeystick.fdp import GaussianTradeOff, TradeOff

__all__ = [
    "INK",
    "PALETTE",
    "audit_figure",
    "check_figure_file",
    "curve_style",
    "linear_axes",
    "log_axes",
    "new_figure",
    "save_figure",
    "title_and_legend",
    "tradeoff_figure",
]

FORMATS = ("png", "svg", "pdf")
# Okabe and Ito: distinct for all common kinds of colour blindness, and in this order on white.
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
INK, FAINT = "#333333", "#D9D9D9"
# Dashes tell curves apart where they lie on each other, or without colours.
DASHES = ("-", "--", "-.", ":")
# Two dots for each one of a usual screen.
DOTS_PER_INCH = 160
# Which multiples of the powers of ten are labelled, for ratios of an axis's ends up to a number.
LABELLED = (
    (10, (1.0, 1.5, 2.0, 3.0, 5.0, 7.0)),
    (3e3, (1.0, 2.0, 5.0)),
    (math.inf, (1.0,)),
)


def check_figure_file(name: str, path: Path) -> Path:
    """The path, if a figure can be written to it; to be called before the work starts.

    `InvalidParameter` for an unknown format or a missing directory, `MissingExtra` without
    Matplotlib.
    """
    if path.suffix.lower().lstrip(".") not in FORMATS:
        raise InvalidParameter(name, f"a file that ends in .{', .'.join(FORMATS)}", str(path))
    check_target(name, path)
    try:
        importlib.import_module("matplotlib")
    except ImportError:
        raise MissingExtra("Plots need Matplotlib", extra="plot") from None
    return path


def new_figure(*, width: float, height: float) -> Figure:
    """An empty figure, in inches, that no window system or global state knows of."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    margins = ConstrainedLayoutEngine(w_pad=0.12, h_pad=0.08)
    figure = Figure(figsize=(width, height), layout=margins)
    FigureCanvasAgg(figure)
    return figure


def curve_style(curve: int) -> tuple[str, str]:
    """Colour and dashes of the curve with this number."""
    return PALETTE[curve % len(PALETTE)], DASHES[curve % len(DASHES)]


def log_axes(axes: Axes) -> None:
    """Logarithmic axes with plain numbers, a light grid behind the data and no box around it."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    axes.set(xscale="log", yscale="log")
    for axis in (axes.xaxis, axes.yaxis):
        low, high = sorted(axis.get_view_interval())
        # An axis without positive numbers has no ratio.
        fitting = (steps for ratio, steps in LABELLED if high < ratio * low)
        labelled = next(fitting, LABELLED[-1][1])
        axis.set_major_locator(LogLocator(subs=labelled))
        axis.set_major_formatter(FuncFormatter(lambda value, position: f"{value:g}"))
        axis.set_minor_locator(NullLocator())
    linear_axes(axes)


def linear_axes(axes: Axes) -> None:
    """A light grid behind the data and no box around it."""
    axes.set_axisbelow(True)
    axes.grid(visible=True, color=FAINT, linewidth=0.8)
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color(INK)
    axes.tick_params(colors=INK, labelsize=9)


def title_and_legend(figure: Figure, title: str, *, of: Axes) -> None:
    """A title above all panels, and the legend of one of them below."""
    figure.suptitle(title, x=0.01, horizontalalignment="left", fontsize=11, color=INK)
    handles, labels = of.get_legend_handles_labels()
    figure.legend(
        handles,
        labels,
        loc="outside lower center",
        ncols=len(labels),
        frameon=False,
        fontsize=9,
        labelcolor=INK,
    )


def save_figure(figure: Figure, path: Path) -> None:
    """Write the figure atomically, in the format that the suffix of `path` names."""
    with replacing(path) as file:
        figure.savefig(file, format=path.suffix.lower().lstrip("."), dpi=DOTS_PER_INCH)


# Error rates of a curve: dense near 0, where the curve is steep.
ALPHA = np.concatenate((np.geomspace(1e-6, 1e-2, 200), np.linspace(1e-2, 1.0, 400)[1:]))
# Both axes begin here: fewer false alarms than one in a million examples are not drawn.
SMALLEST_RATE = 1e-6
RATES = np.geomspace(SMALLEST_RATE, 1.0, 400)
GUESSING, GREY = "guessing", "#8C8C8C"


class Curve(NamedTuple):
    """One line of the figure, as type II errors and as true positive rates."""

    label: str
    beta: Callable[[Any], Any]
    power: Callable[[Any], Any]


def tradeoff_figure(
    tradeoff: TradeOff,
    *,
    title: str,
    both_directions: bool = True,
    gaussian: GaussianTradeOff | None = None,
    gaussian_label: str = "Gaussian",
) -> Figure:
    """Two panels: f with its symmetrised form, and the attack reading on logarithmic axes.

    `tradeoff` is a lower bound on f, so that the lines on the right are upper bounds on what an
    attack can find. Without `both_directions` the symmetrised form is left out. `gaussian` is a
    G_mu to compare with, and `gaussian_label` what it is.
    """
    curves = [_polygon("f", tradeoff)]
    if both_directions:
        curves.append(_polygon("symmetrised", tradeoff.symmetrize()))
    if gaussian is not None:
        curves.append(Curve(gaussian_label, gaussian, _power_of(gaussian)))
    figure = new_figure(width=9.6, height=4.6)
    left, right = figure.subplots(1, 2)
    _errors(left, curves)
    _attack(right, curves)
    title_and_legend(figure, title, of=left)
    return figure


def _polygon(label: str, tradeoff: TradeOff) -> Curve:
    from hockeystick.fdp import true_positive_rate

    return Curve(
        label, tradeoff, lambda rates: true_positive_rate(tradeoff, false_positive_rate=rates)
    )


def _power_of(gaussian: GaussianTradeOff) -> Callable[[Any], Any]:
    """1 - G_mu(FPR) = G_mu inverted at both ends: accurate for small rates by symmetry."""
    from scipy.special import ndtr, ndtri

    return lambda rates: ndtr(ndtri(rates) + gaussian.mu)


def _errors(axes: Axes, curves: list[Curve]) -> None:
    """Type II against type I error; the diagonal is perfect privacy."""
    axes.plot([0, 1], [1, 0], color=GREY, linewidth=1.2, label=GUESSING)
    levels = np.concatenate(([0.0], ALPHA))
    for number, curve in enumerate(curves):
        colour, dashes = curve_style(number)
        axes.plot(
            levels,
            curve.beta(levels),
            color=colour,
            linestyle=dashes,
            linewidth=2.0,
            label=curve.label,
        )
    axes.set(xlim=(0, 1), ylim=(0, 1), aspect="equal")
    axes.set_xlabel("false positive rate", color=INK)
    axes.set_ylabel("false negative rate (lower bound)", color=INK)
    linear_axes(axes)


def _attack(axes: Axes, curves: list[Curve]) -> None:
    """True against false positives, both logarithmic."""
    axes.plot(RATES, RATES, color=GREY, linewidth=1.2, label=GUESSING)
    for number, curve in enumerate(curves):
        colour, dashes = curve_style(number)
        axes.plot(RATES, curve.power(RATES), color=colour, linestyle=dashes, linewidth=2.0)
    log_axes(axes)
    axes.set(xlim=(SMALLEST_RATE, 1), ylim=(SMALLEST_RATE, 1))
    axes.set_xlabel("false positive rate", color=INK)
    axes.set_ylabel("true positive rate (upper bound)", color=INK)


def audit_figure(report: AuditReport) -> Figure:
    """Two panels: what the best attack sees, and what each step released over its expectation."""
    figure = new_figure(width=9.6, height=4.2)
    left, right = figure.subplots(1, 2)
    _scores(left, report)
    right.axhline(1.0, color=INK, linewidth=1.2)
    right.plot(
        np.arange(1, report.plan.steps + 1), report.fit.ratios, ".", color=PALETTE[2], markersize=3
    )
    right.set(xlabel="step", ylabel="sum of squares over its expectation")
    linear_axes(right)
    verdict = "consistent" if report.consistent else "inconsistent"
    title = f"Audit: {verdict} with the plan, p = {report.p_value:.2g}"
    title_and_legend(figure, title, of=left)
    return figure


def _scores(axes: Axes, report: AuditReport) -> None:
    edges = np.linspace(report.scores.min(), report.scores.max(), 41).tolist()
    for colour, (label, chosen) in zip(
        PALETTE, (("members", report.members), ("others", ~report.members)), strict=False
    ):
        axes.hist(
            report.scores[chosen],
            bins=edges,
            histtype="step",
            linewidth=2,
            color=colour,
            label=label,
        )
    axes.axvline(0.0, color=INK, linewidth=1.0)
    axes.set(xlabel="log likelihood ratio by the plan", ylabel="canaries")
    linear_axes(axes)
