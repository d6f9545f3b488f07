"""Random plans of every registered scheme that is accounted, with every factorization."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

import hockeystick as hs

__all__ = ["SAMPLINGS", "Target", "random_target"]

Rng = np.random.Generator


class Target(NamedTuple):
    """A plan, and what it is calibrated to."""

    plan: hs.Plan
    epsilon: float
    delta: float


def _rate(rng: Rng, smallest: float = 0.003, largest: float = 0.6) -> float:
    return float(np.exp(rng.uniform(np.log(smallest), np.log(largest))))


def _users(rng: Rng) -> dict[str, object]:
    return {
        "rate": _rate(rng, 0.02, 0.3),
        "separation": int(rng.integers(2, 6)),
        "examples_per_user": int(rng.integers(2, 4)),
    }


def _allocation(rng: Rng) -> tuple[hs.schemes.Sampling, int]:
    out_of = int(rng.integers(3, 20))
    picks = int(rng.integers(1, 3))
    return hs.RandomAllocation(picks=picks, out_of=out_of), out_of * int(rng.integers(1, 4))


SAMPLINGS: dict[str, Callable[[Rng], tuple[hs.schemes.Sampling, int]]] = {
    "full-batch": lambda rng: (hs.FullBatch(), int(rng.integers(1, 200))),
    "poisson": lambda rng: (hs.Poisson(rate=_rate(rng)), int(rng.integers(1, 300))),
    "cyclic-poisson": lambda rng: (
        hs.CyclicPoisson(rate=_rate(rng, 0.02, 1.0), groups=int(rng.integers(2, 9))),
        int(rng.integers(9, 80)),
    ),
    "balls-in-bins": lambda rng: (
        hs.BallsInBins(bins=int(rng.integers(2, 5))),
        int(rng.integers(5, 13)),
    ),
    "random-allocation": _allocation,
    "min-sep": lambda rng: (
        hs.MinSep(rate=_rate(rng, 0.02, 0.4), separation=int(rng.integers(2, 5))),
        int(rng.integers(5, 17)),
    ),
    "user-min-sep": lambda rng: (hs.UserMinSep(**_users(rng)), int(rng.integers(5, 17))),
    "conjectured-user-min-sep": lambda rng: (
        hs.ConjecturedUserMinSep(**_users(rng)),
        int(rng.integers(5, 17)),
    ),
    "formed-batches": lambda rng: (
        hs.FormedBatches(batch_size=int(rng.integers(1, 20)), separation=int(rng.integers(1, 6))),
        int(rng.integers(5, 17)),
    ),
}
"""A scheme and a number of steps, by the name of the scheme."""


def _matrix(steps: int, rng: Rng) -> hs.strategies.Strategy:
    diagonal = rng.uniform(0.7, 1.5, steps)
    return hs.strategies.from_matrix(np.diag(diagonal) + np.diag(0.4 * diagonal[1:], -1))


STRATEGIES: tuple[Callable[[int, Rng], hs.strategies.Strategy], ...] = (
    lambda steps, rng: hs.strategies.bsr(steps, bands=min(steps, int(rng.integers(2, 6)))),
    lambda steps, rng: hs.strategies.bisr(steps, bands=min(steps, int(rng.integers(2, 6)))),
    lambda steps, rng: hs.strategies.band_mf(steps, bands=min(steps, int(rng.integers(2, 6)))),
    lambda steps, rng: hs.strategies.band_inv_mf(steps, bands=min(steps, int(rng.integers(2, 6)))),
    lambda steps, rng: hs.strategies.blt(steps, buffers=2),
    lambda steps, rng: hs.strategies.from_coefficients([1.0, 0.6, 0.3][:steps], steps),
    _matrix,
)


def random_target(scheme: str, rng: Rng) -> Target:
    """A plan of the scheme: in half of the cases with correlated noise, where that is accounted."""
    sampling, steps = SAMPLINGS[scheme](rng)
    plan = hs.Plan(sampling=sampling, steps=steps)
    epsilon = float(np.exp(rng.uniform(np.log(0.1), np.log(10.0))))
    delta = float(10.0 ** rng.uniform(-9, -4))
    if rng.random() < 0.5 and steps > 2:
        strategy = STRATEGIES[int(rng.integers(len(STRATEGIES)))](steps, rng)
        correlated = hs.Plan(sampling=sampling, steps=steps, strategy=strategy)
        if "proven" in hs.methods(correlated).values():
            plan = correlated
    return Target(plan, epsilon, delta)
