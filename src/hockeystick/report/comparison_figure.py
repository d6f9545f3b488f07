"""The figure that compares schemes: epsilon against noise, plain and relative to the batch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from hockeystick.report.figure import INK, new_figure, title_and_legend
from hockeystick.report.noise_curve import NoiseCurve
from hockeystick.report.noise_figure import EPSILON_LABEL, Mark, draw_curves, draw_mark

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["comparison_figure"]


def comparison_figure(
    curves: Sequence[NoiseCurve],
    *,
    batch_sizes: Sequence[float],
    noise: Sequence[float],
    target: float,
    title: str,
) -> Figure:
    """Two panels with one curve for each scheme and a dot where it reaches the target epsilon.

    `noise` are the noise multipliers at the dots. On the left the noise is the multiplier; on the
    right it is divided by the expected batch size, which makes schemes with different batches
    comparable.
    """
    figure = new_figure(width=9.6, height=4.4)
    left, right = figure.subplots(1, 2, sharey=True)
    relative = [1 / size for size in batch_sizes]
    _panel(left, curves, scales=[1.0] * len(curves), noise=noise, target=target)
    _panel(right, curves, scales=relative, noise=noise, target=target)
    left.set_xlabel("noise multiplier", color=INK)
    right.set_xlabel("noise multiplier / expected batch size", color=INK)
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
