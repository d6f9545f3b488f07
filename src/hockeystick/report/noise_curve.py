"""Epsilon as a function of the noise multiplier, for a plan and for each method."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from hockeystick.accounting.account import AFFORDABLE, DEFAULT_BUDGET, account
from hockeystick.accounting.compare import Compared
from hockeystick.analyses import METHODS
from hockeystick.errors import HockeystickError, PrecisionError
from hockeystick.guarantee import Kind
from hockeystick.plan import Plan

__all__ = [
    "COSTLY",
    "CURVE_BUDGET",
    "NoiseCurve",
    "drawn_methods",
    "method_curve",
    "noise_around",
    "noise_curve",
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
