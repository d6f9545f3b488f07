"""Direct simulation of a run: an estimate, for checks. It is no guarantee."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from hockeystick import _validate as check
from hockeystick._numerics.search import bracket
from hockeystick.errors import InvalidParameter, UnsupportedPlan
from hockeystick.plan import Plan
from hockeystick.randomness import RandomSource, generator
from hockeystick.simulation import missing_simulation, simulation

__all__ = ["Estimate", "estimate_delta"]


class Estimate(NamedTuple):
    """A mean of simulated draws, and an interval that misses the truth with the stated chance."""

    value: float
    low: float
    high: float
    miss: float
    draws: int


def estimate_delta(
    plan: Plan,
    *,
    noise_multiplier: float,
    epsilon: float,
    direction: str = "remove",
    draws: int = 100_000,
    miss: float = 1e-3,
    rng: RandomSource = None,
) -> Estimate:
    """delta(epsilon) of a run with Gaussian noise in one direction, by simulation.

    Each draw is a variable in [0, 1]: 1 - e^epsilon/LR under P for "remove", 1 - e^epsilon LR under
    Q for "add", where positive. The interval is Hoeffding's, in its relative-entropy form. A draw
    costs O(steps * picks) for random allocation and O(bins^2) for balls-in-bins; memory does not
    grow with the draws.
    """
    reason = missing_simulation(plan)
    if reason is not None:
        raise UnsupportedPlan(reason)
    noise = check.positive("noise_multiplier", noise_multiplier)
    epsilon = check.at_least("epsilon", epsilon, 0.0)
    draws = check.positive_integer("draws", draws)
    miss = check.small_probability("miss", miss)
    if direction not in ("remove", "add"):
        raise InvalidParameter("direction", "'remove' or 'add'", direction)
    run = simulation(plan, noise_multiplier=noise, present=direction == "remove")
    total = 0.0
    for loss in run.losses(draws, generator(rng)):
        gain = -np.expm1(epsilon - loss if run.present else epsilon + loss)
        total += float(np.maximum(gain, 0.0).sum())
    mean = total / draws
    budget = math.log(2 / miss) / draws
    low, high = 1 - _upper_edge(1 - mean, budget), _upper_edge(mean, budget)
    return Estimate(mean, low, high, miss, draws)


def _upper_edge(mean: float, budget: float) -> float:
    """The smallest mean above the one seen that is not compatible: KL(mean || edge) > budget."""
    return bracket(lambda edge: _relative_entropy(mean, edge) > budget, mean, 1.0)[1]


def _relative_entropy(a: float, b: float) -> float:
    """KL of two coins."""
    first = 0.0 if a == 0 else (math.inf if b == 0 else a * math.log(a / b))
    second = 0.0 if a == 1 else (math.inf if b == 1 else (1 - a) * math.log((1 - a) / (1 - b)))
    return first + second
