"""A crowd: many members whose gradients point in one direction, where their number shows.

Canaries in directions of their own say how each of them takes part. How many of k members are in a
batch is told by a direction that they share: p = n + C^-1 s z with n_t of them in batch t, whose
variance is k times that of one participation, under the same noise. So k canaries tell as much
about the law of batches as k^2 of them would alone, as long as noise hides a single one.

Sums of k independent members are near the normal law, so the test for another way to draw batches
is the log likelihood ratio of two normal laws. What it is worth in a correct run is known from
draws of the plan itself: no p-value rests on normality.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from hockeystick._numerics.law import FloatArray
from hockeystick.audit.hypotheses import other_batches
from hockeystick.audit.tails import tails
from hockeystick.plan import Plan
from hockeystick.schemes import CyclicPoisson, Sampling

if TYPE_CHECKING:
    from scipy.sparse import csr_array

__all__ = ["Crowd", "CrowdFit", "crowd_fit", "crowd_possible"]

# Examples whose participations give mean and covariance of one member. They choose the statistic;
# no p-value rests on them.
POOL = 20_000
# Crowds of a correct run that are drawn for the law of the statistics: its spread to 1 %.
CROWDS, AT_ONCE = 8_000, 200
# Parts of them whose skewness is compared: its error, of which so many times is allowed for.
PARTS, ERRORS = 8, 2.0
# Steps whose covariance is worked on at once: 25 epochs of 20 steps, and matrices of 2 MB. What
# correlated noise takes from further back than that is left out of the statistic.
WINDOW = 500
# Of a batch whose size is fixed, the part of a crowd that is in it does not vary if the crowd is
# all of the data; a name for that law.
FIXED = "batches of one size"


@dataclass(frozen=True, eq=False)
class Crowd:
    """Members in one direction, and what was released along it.

    Attributes
    ----------
    size
        How many.
    projections
        One number for each step, in units of the clip norm.
    """

    size: int
    projections: FloatArray


class CrowdStatistics(NamedTuple):
    """Rows of statistics: log likelihoods of other batches, and how much the sizes vary."""

    gains: FloatArray
    spread: FloatArray


class Window(NamedTuple):
    """Mean of the plan's decorrelated outputs in some steps, and inverse covariances by law."""

    steps: slice
    rows: FloatArray
    mean: FloatArray
    inverses: tuple[FloatArray, ...]
    log_determinants: FloatArray


def crowd_possible(plan: Plan) -> bool:
    """Whether the members of a crowd are drawn independently of each other.

    Not where public groups, which go by the numbers of examples, take turns.
    """
    scheme = plan.sampling
    return not (isinstance(scheme, CyclicPoisson) and scheme.groups > 1 and not scheme.random_phase)


@dataclass(frozen=True)
class CrowdFit:
    """What a crowd says, and how probable something as far off is in a correct run.

    Attributes
    ----------
    size
        Of the crowd.
    names
        How batches may have been drawn instead.
    gains
        log likelihood of each of them over that of the plan.
    p_gains, p_spread
        Of each statistic alone.
    ratio
        The sum of squares of what was released, in units of the plan's law, over its expectation.
    """

    size: int
    names: tuple[str, ...]
    gains: FloatArray
    p_gains: FloatArray
    p_spread: FloatArray
    ratio: float


def crowd_fit(plan: Plan, noise_multiplier: float, crowd: Crowd, *, seed: int) -> CrowdFit:
    """The statistics of the crowd beside those of correct runs."""
    windows, drawn = crowd_law(plan, noise_multiplier, crowd.size, seed=seed)
    found = [_statistics(one, (one.rows @ crowd.projections)[None, :]) for one in windows]
    own = [one[0] for one in _added(found)]
    p_gains, p_spread = (
        _tails(value, draws, above=above)
        for value, draws, above in zip(own, drawn, (True, False), strict=True)
    )
    ratio = float(own[1][0] / drawn.spread.mean())
    names = tuple(name for name, _ in _laws(plan))
    return CrowdFit(crowd.size, names, own[0], p_gains, p_spread, ratio)


def _tails(value: FloatArray, draws: FloatArray, *, above: bool) -> FloatArray:
    """p-values by the moments of the draws; the worse one of a smaller and a larger skewness.

    Sums of few squares end near the place where their tail is read, and their skewness says where.
    """
    mean = draws.mean(axis=0)
    centred = draws - mean
    square, third = (centred**2).mean(axis=0), (centred**3).mean(axis=0)
    parts = np.stack([(one**3).mean(axis=0) for one in np.array_split(centred, PARTS)])
    error = ERRORS * parts.std(axis=0, ddof=1) / math.sqrt(PARTS)
    variance = square * (1 + 1 / len(draws))
    worse = [tails(value, mean, variance, third + e, above=above) for e in (-error, error)]
    return np.maximum(*worse)


def _laws(plan: Plan) -> Iterator[tuple[str, Sampling | None]]:
    if plan.sampling.participation_known and plan.sampling.least_gap == 1:
        return
    yield from other_batches(plan)
    yield FIXED, None


@lru_cache(maxsize=4)
def crowd_law(
    plan: Plan, noise_multiplier: float, size: int, *, seed: int
) -> tuple[tuple[Window, ...], CrowdStatistics]:
    """The windows of a plan, and the statistics of `CROWDS` correct runs."""
    rng = np.random.default_rng(seed)
    own = _pool(plan.sampling, plan.steps, rng)
    others = [None if s is None else _pool(s, plan.steps, rng) for _, s in _laws(plan)]
    matrix = None if plan.strategy.is_identity else plan.strategy.to_matrix()
    windows = []
    for start in range(0, plan.steps, WINDOW):
        steps = slice(start, min(start + WINDOW, plan.steps))
        rows = np.eye(plan.steps)[steps] if matrix is None else matrix[steps]
        windows.append(_window(steps, rows, [own, *others], size, noise_multiplier))
    drawn = []
    for _ in range(CROWDS // AT_ONCE):
        counts = _counts(plan, size, rng)
        found = []
        for window in windows:
            outputs = counts @ window.rows.T
            outputs += noise_multiplier * rng.standard_normal(outputs.shape)
            found.append(_statistics(window, outputs))
        drawn.append(_added(found))
    law = CrowdStatistics(*(np.concatenate(one) for one in zip(*drawn, strict=True)))
    return tuple(windows), law


def _counts(plan: Plan, size: int, rng: np.random.Generator) -> FloatArray:
    """How many members of each of `AT_ONCE` crowds are in each step, crowds in rows."""
    batches = plan.batches(examples=AT_ONCE * size, rng=rng)
    counts = [np.bincount(batch // size, minlength=AT_ONCE) for batch in batches]
    return np.array(counts, dtype=np.float64).T


def _added(parts: list[CrowdStatistics]) -> CrowdStatistics:
    return CrowdStatistics(*(np.sum(one, axis=0) for one in zip(*parts, strict=True)))


def _pool(scheme: Sampling, steps: int, rng: np.random.Generator) -> csr_array:
    """Who of `POOL` examples is in which step."""
    from scipy.sparse import csr_array

    batches = list(scheme.batches(examples=POOL, steps=steps, rng=rng))
    who = np.concatenate(batches)
    when = np.repeat(np.arange(steps), [batch.size for batch in batches])
    return csr_array((np.ones(who.size), (who, when)), shape=(POOL, steps))


def _window(
    steps: slice,
    rows: FloatArray,
    pools: list[csr_array | None],
    size: int,
    noise_multiplier: float,
) -> Window:
    """Normal laws of the sum of a crowd, with the plan's first; `None` varies not at all."""
    noise = noise_multiplier**2 * np.eye(len(rows))
    near = slice(max(0, steps.start - WINDOW), steps.stop)
    mean = np.zeros(len(rows))
    inverses: list[FloatArray] = []
    logs: list[float] = []
    for index, pool in enumerate(pools):
        covariance = noise
        if pool is not None:
            seen = pool[:, near]
            centre = np.asarray(seen.mean(axis=0)).ravel()
            of_one = (seen.T @ seen).toarray() / POOL - np.outer(centre, centre)
            covariance = noise + size * (rows[:, near] @ of_one @ rows[:, near].T)
            if index == 0:
                mean = size * (rows @ np.asarray(pool.mean(axis=0)).ravel())
        inverses.append(np.asarray(np.linalg.inv(covariance)))
        logs.append(float(np.linalg.slogdet(covariance)[1]))
    return Window(steps, rows, mean, tuple(inverses), np.array(logs))


def _statistics(window: Window, outputs: FloatArray) -> CrowdStatistics:
    centred = outputs - window.mean
    squares = [np.einsum("ij,ij->i", centred @ one, centred) for one in window.inverses]
    logs = window.log_determinants
    own = -(squares[0] + logs[0]) / 2
    gains = [-(s + log) / 2 - own for s, log in zip(squares[1:], logs[1:], strict=True)]
    stacked = np.stack(gains, axis=1) if gains else np.empty((len(outputs), 0))
    return CrowdStatistics(stacked, squares[0][:, None])
