"""The figure of mean squared error against epsilon."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from hockeystick.report.error_curve import ErrorCurve
from hockeystick.report.figure import INK, curve_style, log_axes, new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["error_figure"]


def error_figure(
    curves: Sequence[ErrorCurve], *, target: float, marks: Sequence[float], title: str
) -> Figure:
    """One line for each family with a dot at the target epsilon; `marks` are the errors there."""
    figure = new_figure(width=6.8, height=4.8)
    axes = figure.subplots()
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
    axes.set_title(title, loc="left", fontsize=10.5, color=INK)
    axes.set_xlabel("ε", color=INK)
    axes.set_ylabel("mean squared error of the prefix sums", color=INK)
    axes.legend(frameon=False, fontsize=9, labelcolor=INK)
    return figure
