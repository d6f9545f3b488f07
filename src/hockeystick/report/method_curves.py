"""Epsilon against noise for one candidate, a curve for each method."""

from __future__ import annotations

from collections.abc import Iterator

from hockeystick.accounting.account import AFFORDABLE
from hockeystick.accounting.compare import Compared
from hockeystick.analyses import METHODS
from hockeystick.errors import HockeystickError
from hockeystick.report.noise_curve import NoiseCurve, noise_around, noise_curve

__all__ = ["COSTLY", "CURVE_BUDGET", "drawn_methods", "method_curve", "winning_curve"]

# Operations for each number: a hundredth of what `account` may spend by default.
CURVE_BUDGET = 1e6
POINTS = 7
# Methods that take seconds for a number: only the ends of their curves are priced, the middle is
# known if they won.
COSTLY, COSTLY_POINTS = ("conditional", "gram"), 3


def drawn_methods(one: Compared) -> Iterator[str]:
    """Methods that apply to the plan, need no draws and can be drawn within the curves' budget.

    One that takes seconds is drawn only where "auto" asked it, because nothing else is exact.
    """
    asked = {analysis.method for analysis in one.calibration.guarantee.analyses}
    for name, method in METHODS.items():
        if method.objection(one.plan) is not None or (name in COSTLY and name not in asked):
            continue
        if method.cost(one.plan) <= AFFORDABLE * CURVE_BUDGET or name == one.answer.method:
            yield name


def method_curve(one: Compared, method: str) -> NoiseCurve | None:
    """The method's epsilon around the calibrated noise; None if it has no number there.

    Upper bounds at low accuracy and with a small budget, so they may be a few per cent above what
    the method would prove with more work; the calibrated point itself is as it was found.
    """
    found, answer = one.calibration, one.answer
    points = COSTLY_POINTS if method in COSTLY else POINTS
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
    """The curve of the method that gave the candidate its noise."""
    return method_curve(one, one.answer.method)
