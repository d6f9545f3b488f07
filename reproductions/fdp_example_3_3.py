"""The counterexample to the natural f-DP filter with subsampled Gaussians.

[Tran26, Example 3.3]: three Poisson-subsampled Gaussians with rate 1/2 and noise 1. The first
has sensitivity 1.3; the other two are (2.25, 2.25) on one side of y = 0.65 and (0.1, 10) on the
other. The profile of (2.25, 2.25) is the larger one below the calibration point g0, and
g0 q(y)/p(y) <= g0 for y >= 0.65: the worst rule takes (2.25, 2.25) above the threshold. As printed,
the branches are exchanged, and the rule stays within the budget.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from hockeystick._numerics.law import FloatArray
from hockeystick.fdp.adaptive import FirstStage, adaptive_height
from hockeystick.fdp.gaussian import gaussian_height

__all__ = [
    "BRANCHES",
    "CORRECTED",
    "PRINTED",
    "Example",
    "budget_height",
    "calibration_point",
    "example",
    "first_stage",
    "rule",
    "second_heights",
    "subsampled_height",
    "subsampled_stage",
]

RATE, FIRST_MU, THRESHOLD = 0.5, 1.3, 0.65
# Sensitivities of the second and the third step; the index is the choice.
BRANCHES = ((2.25, 2.25), (0.1, 10.0))
# The choice at or below the threshold, and above it.
PRINTED, CORRECTED = (0, 1), (1, 0)
# Of a Gaussian 1e-19 lies beyond this many standard deviations.
REACH = 9.0


class Example(NamedTuple):
    """The numbers of the example, at the calibration point of the two branches."""

    gamma: float
    budget: float
    corrected: float
    printed: float


def subsampled_height(gamma: Any, *, rate: float, mu: float) -> FloatArray:
    """H of ((1 - q) N(0, 1) + q N(mu, 1)) against N(0, 1): q H_mu(1 + (g - 1)/q), or 1 - g."""
    orders = np.asarray(gamma, dtype=np.float64)
    inner = 1.0 + (orders - 1.0) / rate
    heights: FloatArray = np.where(
        inner > 0, rate * gaussian_height(mu, np.maximum(inner, 0.0)), 1.0 - orders
    )
    return heights


def subsampled_stage(mu: float, *, cells: int = 60, nodes: int = 20) -> FirstStage:
    """One subsampled Gaussian as a first stage, by quadrature with an edge at mu/2."""
    left = np.linspace(-REACH, mu / 2, cells // 2 + 1)
    right = np.linspace(mu / 2, mu + REACH, cells // 2 + 1)
    return FirstStage.from_densities(
        lambda y: (1 - RATE) * _normal(y) + RATE * _normal(y - mu),
        _normal,
        edges=np.union1d(left, right),
        nodes=nodes,
    )


def first_stage() -> FirstStage:
    """The first mechanism; its threshold 0.65 is half of its sensitivity, and an edge."""
    return subsampled_stage(FIRST_MU)


def second_heights() -> tuple[Callable[[FloatArray], FloatArray], ...]:
    """The profiles of the second and third step together, one for each branch."""
    return tuple(_product(second, third) for second, third in BRANCHES)


def rule(outcome: FloatArray, sides: tuple[int, int]) -> FloatArray:
    """The choice after each first output."""
    choice: FloatArray = np.where(outcome <= THRESHOLD, *sides).astype(np.float64)
    return choice


def budget_height(gamma: Any) -> FloatArray:
    """H_B,tight: the larger one of the two compositions without adaptivity."""
    stage, seconds = first_stage(), second_heights()
    fixed = [
        adaptive_height(stage, seconds, choice=np.full(stage.p.size, k), gamma=gamma)
        for k in range(len(seconds))
    ]
    heights: FloatArray = np.maximum(*fixed)
    return heights


@cache
def calibration_point() -> float:
    """The order at which the profiles of the two branches cross."""
    from scipy.optimize import brentq

    one, other = second_heights()

    def gap(gamma: float) -> float:
        return float(one(np.array([gamma]))[0] - other(np.array([gamma]))[0])

    return float(brentq(gap, 1.1, 2.0, xtol=1e-12))


@cache
def example() -> Example:
    """gamma_0 and the heights there; accurate to about 1e-9 (quadrature)."""
    gamma = calibration_point()
    stage, seconds = first_stage(), second_heights()
    adapted = [
        adaptive_height(stage, seconds, choice=rule(stage.outcome, sides), gamma=gamma)
        for sides in (CORRECTED, PRINTED)
    ]
    return Example(gamma, float(budget_height(gamma)), *adapted)


def _product(second: float, third: float) -> Callable[[FloatArray], FloatArray]:
    """H of two subsampled Gaussians: the closed form of one, averaged over the other."""
    narrow, wide = sorted((second, third))
    stage = subsampled_stage(narrow)

    def heights(gamma: FloatArray) -> FloatArray:
        found: FloatArray = adaptive_height(
            stage,
            [lambda orders: subsampled_height(orders, rate=RATE, mu=wide)],
            choice=np.zeros(stage.p.size),
            gamma=np.atleast_1d(gamma),
        )
        return found

    return heights


def _normal(x: FloatArray) -> FloatArray:
    density: FloatArray = np.exp(-(x**2) / 2) / np.sqrt(2 * np.pi)
    return density
