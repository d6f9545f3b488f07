"""Epsilon as a function of the noise multiplier."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hockeystick.accounting.account import DEFAULT_BUDGET, account
from hockeystick.errors import PrecisionError
from hockeystick.guarantee import Kind
from hockeystick.plan import Plan

__all__ = ["NoiseCurve", "noise_around", "noise_curve"]

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
