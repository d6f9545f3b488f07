"""The panel of mean squared error against epsilon."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from hockeystick.report.error_curve import ErrorCurve
from hockeystick.report.figure import INK, curve_style, log_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["draw_errors"]


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
    axes.set_ylabel("mean squared error of the prefix sums", color=INK)
    # Below the axes: curves fill the whole panel.
    axes.legend(
        loc="upper left",
        bbox_to_anchor=(0.0, -0.14),
        ncols=2,
        frameon=False,
        fontsize=8.5,
        labelcolor=INK,
    )
