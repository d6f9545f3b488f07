"""The figure of an audit: scores of members and others, and the noise of each step."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hockeystick.audit import AuditReport
from hockeystick.report.figure import INK, PALETTE, linear_axes, new_figure, title_and_legend

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["audit_figure"]


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
