"""Direct simulation of a run: an estimate, for checks. It is no guarantee.

Random_allocation, Lemma D.1, and its counterpart for several picks and blocks: the likelihood ratio
of a block is the average over all sets of `picks` steps of the product of their likelihood ratios.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from hockeystick import _validate as check
from hockeystick._numerics.law import FloatArray
from hockeystick._numerics.search import bracket
from hockeystick.errors import InvalidParameter, UnsupportedPlan
from hockeystick.plan import Plan
from hockeystick.randomness import RandomSource, generator
from hockeystick.sampling import RandomAllocation

__all__ = ["Estimate", "estimate_delta"]

# Normal numbers in memory at a time.
BLOCK = 2_000_000


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
    """delta(epsilon) of a random allocation with Gaussian noise in one direction, by simulation.

    Each draw is a variable in [0, 1]: 1 - e^epsilon/LR under P for "remove", 1 - e^epsilon LR under
    Q for "add", where positive. The interval is Hoeffding's, in its relative-entropy form. O(steps)
    per draw for one pick, O(steps * picks) for more; memory does not grow with the draws.
    """
    if not isinstance(plan.sampling, RandomAllocation):
        raise UnsupportedPlan(
            f"Only random-allocation sampling is simulated, not {plan.sampling.name}."
        )
    if plan.correlated or plan.mechanism is not None:
        raise UnsupportedPlan("Only the Gaussian mechanism with independent noise is simulated.")
    noise = check.positive("noise_multiplier", noise_multiplier)
    epsilon = check.at_least("epsilon", epsilon, 0.0)
    draws = check.positive_integer("draws", draws)
    miss = check.small_probability("miss", miss)
    if direction not in ("remove", "add"):
        raise InvalidParameter("direction", "'remove' or 'add'", direction)
    run = _Run(plan.sampling, plan.steps, noise, present=direction == "remove")
    total = 0.0
    for loss in run.losses(draws, generator(rng)):
        gain = -np.expm1(epsilon - loss if run.present else epsilon + loss)
        total += float(np.maximum(gain, 0.0).sum())
    mean = total / draws
    budget = math.log(2 / miss) / draws
    low, high = 1 - _upper_edge(1 - mean, budget), _upper_edge(mean, budget)
    return Estimate(mean, low, high, miss, draws)


@dataclass(frozen=True)
class _Run:
    """What is simulated: a run with or without the example."""

    scheme: RandomAllocation
    steps: int
    noise: float
    present: bool

    def losses(self, draws: int, rng: np.random.Generator) -> Iterator[FloatArray]:
        """log LR of whole runs, in groups of draws that fit into memory."""
        out_of = self.scheme.out_of
        size = max(1, BLOCK // out_of)
        for start in range(0, draws, size):
            count = min(size, draws - start)
            loss = np.zeros(count)
            for begin in range(0, self.steps, out_of):
                loss += self._block(min(out_of, self.steps - begin), count, rng)
            yield loss

    def _block(self, length: int, count: int, rng: np.random.Generator) -> FloatArray:
        """log LR of the first `length` steps of one block."""
        picks, out_of = self.scheme.picks, self.scheme.out_of
        y = rng.standard_normal((count, length))
        if self.present:
            order = rng.random((count, out_of)).argsort(axis=1)[:, :length]
            y += (order < picks) / self.noise
        return _log_mean_of_products(y / self.noise - 0.5 / self.noise**2, picks, out_of)


def _log_mean_of_products(losses: FloatArray, picks: int, out_of: int) -> FloatArray:
    """log of the average over all sets of `picks` out of `out_of` of the product of e^loss.

    Row by row: each step is taken with the chance that is right given how many are still needed;
    `state[k]` is log of the average over the ways to have taken k. Steps beyond the row have e^0.
    """
    count, length = losses.shape
    state = np.full((picks + 1, count), -np.inf)
    state[0] = 0.0
    taken = np.arange(picks + 1)
    with np.errstate(divide="ignore"):
        for j in range(length):
            chance = np.clip((picks - taken) / (out_of - j), 0.0, 1.0)[:, None]
            stay = state + np.log1p(-chance)
            go = state[:-1] + np.log(chance[:-1]) + losses[:, j]
            state = stay
            state[1:] = np.logaddexp(stay[1:], go)
    result: FloatArray = np.logaddexp.reduce(state, axis=0)
    return result


def _upper_edge(mean: float, budget: float) -> float:
    """The smallest mean above the one seen that is not compatible: KL(mean || edge) > budget."""
    return bracket(lambda edge: _relative_entropy(mean, edge) > budget, mean, 1.0)[1]


def _relative_entropy(a: float, b: float) -> float:
    """KL of two coins."""
    first = 0.0 if a == 0 else (math.inf if b == 0 else a * math.log(a / b))
    second = 0.0 if a == 1 else (math.inf if b == 1 else (1 - a) * math.log((1 - a) / (1 - b)))
    return first + second
