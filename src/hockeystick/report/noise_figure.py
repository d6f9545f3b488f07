"""Figures of epsilon against noise: methods for one plan, and schemes side by side."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hockeystick.report.figure import INK, curve_style, log_axes, new_figure, title_and_legend
from hockeystick.report.noise_curve import NoiseCurve

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["Mark", "comparison_figure", "draw_curves", "draw_mark", "noise_figure"]

EPSILON_LABEL = "ε (upper bound)"


@dataclass(frozen=True)
class Mark:
    """A point that the figure is about, with its text and the index of the curve it belongs to."""

    noise: float
    epsilon: float
    text: str = ""
    curve: int | None = None


def noise_figure(curves: Sequence[NoiseCurve], *, mark: Mark, title: str) -> Figure:
    """Epsilon against the noise multiplier, one line for each curve, on logarithmic axes."""
    figure = new_figure(width=6.4, height=4.4)
    axes = figure.subplots()
    draw_curves(axes, curves)
    draw_mark(axes, mark)
    axes.set_title(title, loc="left", fontsize=10.5, color=INK)
    axes.set_xlabel("noise multiplier", color=INK)
    axes.set_ylabel(EPSILON_LABEL, color=INK)
    axes.legend(frameon=False, fontsize=9, labelcolor=INK)
    return figure


def draw_curves(
    axes: Axes, curves: Sequence[NoiseCurve], *, scales: Sequence[float] | None = None
) -> None:
    """One line for each curve, its noise multiplied by its scale, with the kind in the legend."""
    for i, (curve, scale) in enumerate(zip(curves, scales or [1.0] * len(curves), strict=True)):
        colour, dashes = curve_style(i)
        axes.plot(
            [noise * scale for noise in curve.noise],
            curve.epsilon,
            color=colour,
            linestyle=dashes,
            linewidth=2.0,
            label=f"{curve.label} ({curve.kind})",
        )
    log_axes(axes)


def draw_mark(axes: Axes, mark: Mark) -> None:
    """A dot and its text; nothing where a logarithmic axis has no place for it."""
    if not (0 < mark.noise < math.inf and 0 < mark.epsilon < math.inf):
        return
    colour = INK if mark.curve is None else curve_style(mark.curve)[0]
    axes.plot([mark.noise], [mark.epsilon], "o", color=colour, markersize=7, zorder=5)
    axes.annotate(
        mark.text,
        (mark.noise, mark.epsilon),
        xytext=(8, 6),
        textcoords="offset points",
        fontsize=9,
        color=colour,
    )


def comparison_figure(
    curves: Sequence[NoiseCurve],
    *,
    scales: Sequence[float],
    batch_sizes: Sequence[float],
    noise: Sequence[float],
    target: float,
    title: str,
) -> Figure:
    """Two panels with one curve for each scheme and a dot where it reaches the target epsilon.

    `noise` are the noise multipliers at the dots, and `scales` turn them into what is comparable:
    the independent noise with the same error, over the batch size. On the left that is multiplied
    with the batch size.
    """
    figure = new_figure(width=9.6, height=4.4)
    left, right = figure.subplots(1, 2, sharey=True)
    whole = [scale * size for scale, size in zip(scales, batch_sizes, strict=True)]
    _panel(left, curves, scales=whole, noise=noise, target=target)
    _panel(right, curves, scales=scales, noise=noise, target=target)
    left.set_xlabel("independent noise with the same error", color=INK)
    right.set_xlabel("the same / expected batch size", color=INK)
    left.set_ylabel(EPSILON_LABEL, color=INK)
    title_and_legend(figure, title, of=left)
    return figure


def _panel(
    axes: Axes,
    curves: Sequence[NoiseCurve],
    *,
    scales: Sequence[float],
    noise: Sequence[float],
    target: float,
) -> None:
    draw_curves(axes, curves, scales=scales)
    axes.axhline(target, color=INK, linewidth=1.0, zorder=1)
    for i, (scale, multiplier) in enumerate(zip(scales, noise, strict=True)):
        draw_mark(axes, Mark(scale * multiplier, target, curve=i))
