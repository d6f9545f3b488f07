"""The figure of a trade-off function: both errors of an attack, and what it finds.

The figure of an audit: scores of members and others, and the noise of each step.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from hockeystick.audit import AuditReport
from hockeystick.fdp import GaussianTradeOff, TradeOff, true_positive_rate
from hockeystick.report.figure import (
    INK,
    PALETTE,
    curve_style,
    linear_axes,
    log_axes,
    new_figure,
    title_and_legend,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = [
    "audit_figure",
    "tradeoff_figure",
]

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
