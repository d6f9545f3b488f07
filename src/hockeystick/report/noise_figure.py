"""Figures of epsilon against noise: methods for one plan, and schemes side by side."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hockeystick.accounting import AFFORDABLE, DEFAULT_BUDGET, account
from hockeystick.analyses import METHODS
from hockeystick.errors import HockeystickError, PrecisionError
from hockeystick.guarantee import Kind
from hockeystick.plan import Plan
from hockeystick.report.figure import INK, curve_style, log_axes, new_figure, title_and_legend

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from hockeystick.accounting.compare import Compared

__all__ = [
    "COSTLY",
    "CURVE_BUDGET",
    "Mark",
    "NoiseCurve",
    "comparison_figure",
    "draw_curves",
    "draw_mark",
    "drawn_methods",
    "method_curve",
    "noise_around",
    "noise_curve",
    "noise_figure",
    "winning_curve",
]

# Enough for a smooth line; each is an account of the plan.
POINTS = 15
# A curve runs from the noise divided by this to the noise times this.
REACH = 2.5
# Good enough for the eye, and several times faster than the default.
CURVE_ACCURACY = 0.01


@dataclass(frozen=True)
class NoiseCurve:
    """Upper bounds on epsilon at some noise multipliers; NaN where there is nothing to draw."""

    label: str
    kind: Kind
    noise: tuple[float, ...]
    epsilon: tuple[float, ...]


def noise_around(noise_multiplier: float, *, points: int = POINTS) -> list[float]:
    """Geometrically spaced noise multipliers with the given one in the middle."""
    return [noise_multiplier * REACH ** (2 * i / (points - 1) - 1) for i in range(points)]


def noise_curve(
    plan: Plan,
    *,
    label: str,
    kind: Kind,
    noise: Sequence[float],
    delta: float,
    method: str = "auto",
    direction: str = "both",
    accuracy: float = CURVE_ACCURACY,
    budget: float = DEFAULT_BUDGET,
    known: Mapping[float, float] | None = None,
) -> NoiseCurve:
    """epsilon(delta) of the plan at each noise multiplier: one evaluation each, at low accuracy.

    `known` has epsilons, by noise multiplier, that need no evaluation.
    """
    already = known or {}

    def epsilon(noise_multiplier: float) -> float:
        if noise_multiplier in already:
            return already[noise_multiplier]
        guarantee = account(
            plan,
            noise_multiplier=noise_multiplier,
            method=method,
            direction=direction,
            accuracy=accuracy,
            budget=budget,
        )
        try:
            return guarantee.epsilon(delta)
        except PrecisionError as error:
            return error.upper  # still a proven upper bound

    values = (epsilon(noise_multiplier) for noise_multiplier in noise)
    # Zero and infinity have no place on a logarithmic axis.
    drawn = tuple(e if 0 < e < math.inf else math.nan for e in values)
    return NoiseCurve(label, kind, tuple(noise), drawn)


# Operations for each number: a hundredth of what `account` may spend by default.
CURVE_BUDGET = 1e6
# Points of a single method's curve, which is smooth on logarithmic axes.
METHOD_POINTS = 7
# Methods that take seconds for a number: only the ends of their curves are computed, the middle is
# known if they won.
COSTLY, COSTLY_POINTS = ("conditional", "gram"), 3


def drawn_methods(one: Compared) -> Iterator[str]:
    """Methods that apply to the plan, need no draws and can be drawn within the curves' budget.

    One that takes seconds is drawn only where "auto" asked it, because nothing else is exact.
    """
    asked = {analysis.method for analysis in one.calibration.guarantee.analyses}
    for name, method in METHODS.items():
        if method.by_draws or method.objection(one.plan) is not None:
            continue
        if name in COSTLY and name not in asked:
            continue
        if method.cost(one.plan) <= AFFORDABLE * CURVE_BUDGET or name == one.answer.method:
            yield name


def method_curve(one: Compared, method: str) -> NoiseCurve | None:
    """The method's epsilon around the calibrated noise; None if it has no number there.

    Upper bounds at low accuracy and with a small budget, so they may be a few per cent above what
    the method would prove with more work; the calibrated point itself is as it was found.
    """
    found, answer = one.calibration, one.answer
    points = COSTLY_POINTS if method in COSTLY else METHOD_POINTS
    known = {found.noise_multiplier: answer.value} if method == answer.method else None
    try:
        curve = noise_curve(
            one.plan,
            label=method,
            kind=METHODS[method].kind,
            noise=noise_around(found.noise_multiplier, points=points),
            delta=found.delta,
            method=method,
            budget=CURVE_BUDGET,
            known=known,
        )
    except HockeystickError:
        return None
    return curve if any(epsilon > 0 for epsilon in curve.epsilon) else None


def winning_curve(one: Compared) -> NoiseCurve | None:
    """The curve of the method that gave the candidate its noise; None if that was by draws."""
    method = one.answer.method
    return None if METHODS[method].by_draws else method_curve(one, method)


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
