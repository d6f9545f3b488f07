"""Figures without a display: made, styled alike and saved."""

from __future__ import annotations

import importlib
import math
from pathlib import Path
from typing import TYPE_CHECKING

from hockeystick._files import check_target, replacing
from hockeystick.errors import InvalidParameter, MissingExtra

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = [
    "INK",
    "PALETTE",
    "check_figure_file",
    "curve_style",
    "linear_axes",
    "log_axes",
    "new_figure",
    "save_figure",
    "title_and_legend",
]

FORMATS = ("png", "svg", "pdf")
# Okabe and Ito: distinct for all common kinds of colour blindness, and in this order on white.
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
INK, FAINT = "#333333", "#D9D9D9"
# Dashes tell curves apart where they lie on each other, or without colours.
DASHES = ("-", "--", "-.", ":")
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
