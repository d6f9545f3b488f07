"""Whether projections fit the plan: sums over canaries beside what draws of the plan give.

What is expected of a correct run is known from draws of the plan itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from hockeystick._numerics.law import FloatArray
from hockeystick.audit.crowd import Crowd, CrowdFit, crowd_fit
from hockeystick.audit.hypotheses import Hypothesis, alternatives, decorrelated
from hockeystick.audit.tails import tails
from hockeystick.plan import Plan

__all__ = [
    "Cumulants",
    "Fit",
    "Statistics",
    "expected_of",
    "fit_of",
    "statistics_of",
]

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


# Of the probability of a wrong verdict, the part of the crowd's test of other ways to draw batches.
SHARE_OF_CROWD = 0.5
# Statistics that count if they are large: likelihoods of alternatives, and of noise begun anew.
ABOVE = (0, 5)


@dataclass(frozen=True)
class Fit:
    """What was found, and how probable something as far off is in a correct run.

    Attributes
    ----------
    alternatives
        What the plan was tested against.
    gains
        log likelihood of each alternative over that of the plan.
    p_gains, p_squares, p_products, p_means, p_total, p_restarts
        Of each statistic alone.
    ratios
        The sum of squares in each step over its expectation.
    noise_factor
        How many times the planned noise explains the sum of all squares.
    crowd
        What a crowd says, if there is one.
    """

    alternatives: tuple[Hypothesis, ...]
    gains: FloatArray
    p_gains: FloatArray
    p_squares: FloatArray
    p_products: FloatArray
    p_means: FloatArray
    p_total: FloatArray
    p_restarts: FloatArray
    ratios: FloatArray
    noise_factor: float
    crowd: CrowdFit | None = None

    @property
    def p_value(self) -> float:
        """The smallest of all, over its share of one: Bonferroni's bound, family by family."""
        families = (
            self.p_gains,
            self.p_squares,
            self.p_products,
            self.p_means,
            self.p_total,
            self.p_restarts,
        )
        used = [family for family in families if family.size]
        if self.crowd is None:
            return min(1.0, len(used) * _least(used))
        # How batches are drawn is what is hardest to see, and a crowd sees it best.
        crowd = self.crowd
        rest = (len(used) + 1) / (1 - SHARE_OF_CROWD) * _least([*used, crowd.p_spread])
        if not crowd.p_gains.size:
            return min(1.0, rest)
        return min(1.0, rest, _least([crowd.p_gains]) / SHARE_OF_CROWD)


def _least(families: list[FloatArray]) -> float:
    """The smallest p-value, times the size of its family."""
    return min(float(family.min()) * family.size for family in families)


def fit_of(
    plan: Plan,
    noise_multiplier: float,
    projections: FloatArray,
    members: NDArray[np.bool_],
    *,
    crowd: Crowd | None = None,
    seed: int,
) -> Fit:
    """Every statistic is a sum over independent canaries, whose law has the moments of the draws.

    Its tail is that of the gamma law with the same mean, variance and third moment: exact for
    squares of Gaussians, and an approximation whose error falls with the number of canaries
    elsewhere.
    """
    tested = tuple(alternatives(plan, noise_multiplier))
    totals, parts = _nothing(), []
    for group in (True, False):
        rows = projections[members == group]
        if len(rows):
            found = statistics_of(plan, noise_multiplier, tested, rows, members=group)
            totals = [total + one.sum(axis=0) for total, one in zip(totals, found, strict=True)]
            law = expected_of(plan, noise_multiplier, members=group, seed=seed)
            parts.append((len(rows), law))
    means, variances, thirds = (_combined(parts, which) for which in range(3))
    p = [
        tails(*one, above=index in ABOVE)
        for index, one in enumerate(zip(totals, means, variances, thirds, strict=True))
    ]
    planned = len(projections) * plan.steps
    excess = float((totals[4] - means[4])[0])
    factor = float(np.sqrt(max(0.0, 1 + excess / planned)))
    gains, squares, products, by_step, total, restarts = p
    return Fit(
        alternatives=tested,
        gains=np.asarray(totals[0]),
        p_gains=gains,
        p_squares=squares,
        p_products=products,
        p_means=by_step,
        p_total=total,
        p_restarts=restarts,
        ratios=totals[1] / means[1],
        noise_factor=factor,
        crowd=None if crowd is None else crowd_fit(plan, noise_multiplier, crowd, seed=seed),
    )


def _nothing() -> list[FloatArray]:
    return [np.zeros(1)] * 6


def _combined(parts: list[tuple[int, Cumulants]], which: int) -> list[FloatArray]:
    """Cumulants of the sums; that the mean was drawn adds its own variance."""
    total = _nothing()
    for count, law in parts:
        one: Statistics = (law.mean, law.variance, law.third)[which]
        scale = count * (1 + count / law.draws) if which == 1 else float(count)
        total = [a + scale * b for a, b in zip(total, one, strict=True)]
    return total
