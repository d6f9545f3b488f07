"""What is expected of the statistics of a correct run, by draws of the plan itself."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from hockeystick._numerics.law import FloatArray
from hockeystick.audit.hypotheses import Hypothesis, alternatives, decorrelated
from hockeystick.plan import Plan

__all__ = ["Cumulants", "Statistics", "expected_of", "statistics_of"]

# Numbers that are drawn for the expectation of a correct run: about five seconds, and with 1,000
# canaries in 500 steps its error is a fifth of the spread of one run, which the test allows for.
DRAWN = 10_000_000
# Canaries that are drawn for short runs.
MOST_DRAWN = 40_000
# Rows that are worked on at once.
ROWS = 2_000
# Products of outputs this many steps apart are tested: longer correlations than most strategies
# have bands, and few enough to leave the test its power.
MOST_LAGS = 64


@dataclass(frozen=True)
class Statistics:
    """Sums over canaries, as arrays: one entry for each alternative, lag and step.

    Attributes
    ----------
    gains
        log density under each alternative over that of the plan.
    squares
        Squares of the decorrelated outputs in each step.
    products
        Products of decorrelated outputs, by their distance.
    means
        Decorrelated outputs in each step.
    total
        The sum of all squares: how large the noise is.
    restarts
        log density of each output without what earlier noise adds to it, over that of the plan:
        noise that begins anew there; nothing for independent noise.
    """

    gains: FloatArray
    squares: FloatArray
    products: FloatArray
    means: FloatArray
    total: FloatArray
    restarts: FloatArray

    def __iter__(self) -> Iterator[FloatArray]:
        return iter(
            (self.gains, self.squares, self.products, self.means, self.total, self.restarts)
        )


@dataclass(frozen=True)
class Cumulants:
    """Mean, variance and third central moment of one canary's statistics; how many were drawn."""

    mean: Statistics
    variance: Statistics
    third: Statistics
    draws: int


def statistics_of(
    plan: Plan,
    noise_multiplier: float,
    tested: tuple[Hypothesis, ...],
    projections: FloatArray,
    *,
    members: bool,
) -> Statistics:
    """The statistics of each canary, in rows."""
    planned = Hypothesis("the plan", plan, noise_multiplier).log_densities(
        projections, members=members
    )
    gains = [one.log_densities(projections, members=members) - planned for one in tested]
    outputs = decorrelated(plan.strategy, projections) / noise_multiplier
    squares = outputs * outputs
    lags = range(1, min(MOST_LAGS, plan.steps - 1) + 1)
    products = [np.einsum("ij,ij->i", outputs[:, k:], outputs[:, :-k]) for k in lags]
    restarts = empty = np.empty((len(projections), 0))
    if not plan.strategy.is_identity:
        # What earlier rows of the noise add to an output, if the noise goes on as planned.
        own = np.diagonal(plan.strategy.to_matrix()) / noise_multiplier
        earlier = outputs - projections * own
        restarts = (outputs * earlier - earlier * earlier / 2)[:, 1:]
    return Statistics(
        np.stack(gains, axis=1),
        squares,
        np.stack(products, axis=1) if products else empty,
        outputs,
        squares.sum(axis=1, keepdims=True),
        restarts,
    )


@lru_cache(maxsize=8)
def expected_of(plan: Plan, noise_multiplier: float, *, members: bool, seed: int) -> Cumulants:
    """The first three moments for one canary of a correct run, by draws."""
    tested = tuple(alternatives(plan, noise_multiplier))
    rng = np.random.default_rng(seed)
    blocks = max(2, min(MOST_DRAWN // ROWS, -(-DRAWN // (plan.steps * ROWS))))
    sums: list[list[FloatArray]] = []
    for _ in range(blocks):
        rows = _drawn(plan, noise_multiplier, members=members, rng=rng)
        found = statistics_of(plan, noise_multiplier, tested, rows, members=members)
        sums.append([_power_sums(one) for one in found])
    count = blocks * ROWS
    raw = [np.sum([block[i] for block in sums], axis=0) / count for i in range(6)]
    means = [r[0] for r in raw]
    variances = [r[1] - r[0] ** 2 for r in raw]
    thirds = [r[2] - 3 * r[0] * r[1] + 2 * r[0] ** 3 for r in raw]
    return Cumulants(Statistics(*means), Statistics(*variances), Statistics(*thirds), count)


def _power_sums(values: FloatArray) -> FloatArray:
    squares = values * values
    return np.stack([values.sum(axis=0), squares.sum(axis=0), (squares * values).sum(axis=0)])


def _drawn(
    plan: Plan, noise_multiplier: float, *, members: bool, rng: np.random.Generator
) -> FloatArray:
    """Projections of a correct run of the plan."""
    noise: FloatArray = rng.standard_normal((ROWS, plan.steps)) * noise_multiplier
    if not plan.strategy.is_identity:
        noise = np.linalg.solve(plan.strategy.to_matrix(), noise.T).T.astype(np.float64)
    if members:
        for step, batch in enumerate(plan.batches(examples=ROWS, rng=rng)):
            noise[batch, step] += 1.0
    return noise
