"""What Figures 2 and 3 of the sampling-free paper share: the noise that a wanted epsilon takes.

One curve for each proven method, and a Monte Carlo reference. The reference is an estimate and no
guarantee: `estimated_epsilon` simulates the run's likelihood ratio like `hs.estimate_delta`, but
tilts the noise towards large losses and weighs the draws, because delta = 1e-5 is a rare event.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

import hockeystick as hs
from curves import Curve, Drawing

__all__ = ["DELTA", "ESTIMATE", "Effort", "NoiseSearch", "estimated_epsilon", "noise_panel"]

DELTA = 1e-5
ESTIMATE = "Monte Carlo (estimate, ± 2 standard errors)"
# How far draws are tilted, in standard deviations; draws in memory at a time.
TILTS, BLOCK = (0.0, 2.0, 4.0), 5_000
MOST_EVALUATIONS = 30


class Estimate(NamedTuple):
    """An estimated epsilon, and two standard errors of it."""

    epsilon: float
    error: float


def estimated_epsilon(plan: hs.Plan, noise: float, *, delta: float, draws: int) -> Estimate:
    """epsilon(delta) of a balls-in-bins plan, the larger of both directions.

    The same draws for every noise, so that the estimate is a smooth function of it.
    """
    kernel = plan.strategy.gram(spacing=plan.sampling.bins) / noise**2
    rng = np.random.default_rng(20260116)
    sampled = (_weighted_losses(kernel, draws, rng, present=p) for p in (True, False))
    return max((_epsilon(*parts, delta) for parts in sampled), key=lambda e: e.epsilon)


def _weighted_losses(
    kernel: NDArray, draws: int, rng: np.random.Generator, *, present: bool
) -> tuple[NDArray, NDArray]:
    """Losses, and the true density of each draw over the one that it was drawn from.

    Drawn is a mixture over TILTS t: with the example x = m_i + t m_i/|m_i| + z for a random bin i,
    without it x = z - t m/|m|, m the mean of all m_i. `xi` are the inner products of x with m_i.
    """
    b = kernel.shape[0]
    values, vectors = np.linalg.eigh(kernel)
    root = (vectors * np.sqrt(np.maximum(values, 0.0))).T
    half, mean = np.diagonal(kernel) / 2, kernel.mean(axis=1)
    losses, weights = [], []
    for start in range(0, draws, BLOCK):
        count = min(BLOCK, draws - start)
        xi = rng.standard_normal((count, b)) @ root
        tilt = rng.choice(TILTS, size=count)
        if present:
            i = rng.integers(b, size=count)
            xi += (1 + tilt / np.sqrt(2 * half[i]))[:, None] * kernel[i]
            factors = [1 + t / np.sqrt(2 * half) for t in TILTS]
            loss = _log_mean(xi - half)
            drawn = np.stack([_log_mean(f * xi - f**2 * half) for f in factors], axis=1)
            weights.append(np.exp(loss - _log_mean(drawn)))
            losses.append(loss)
        else:
            length = math.sqrt(mean.mean())
            xi -= tilt[:, None] * mean / length
            along = xi.mean(axis=1) / length
            drawn = np.stack([-t * along - t**2 / 2 for t in TILTS], axis=1)
            weights.append(np.exp(-_log_mean(drawn)))
            losses.append(-_log_mean(xi - half))
    return np.concatenate(losses), np.concatenate(weights)


def _log_mean(logs: NDArray) -> NDArray:
    """log of the mean of e^logs, in each row."""
    top = logs.max(axis=1)
    return top + np.log(np.exp(logs - top[:, None]).mean(axis=1))


def _epsilon(loss: NDArray, weight: NDArray, delta: float) -> Estimate:
    """Where the mean of weight (1 - e^(epsilon - loss)), where positive, is delta."""

    def gains(epsilon: float) -> NDArray:
        return weight * np.maximum(-np.expm1(np.minimum(epsilon - loss, 0.0)), 0.0)

    low, high = 0.0, float(loss.max())
    if gains(low).mean() <= delta:
        return Estimate(0.0, 0.0)
    while high - low > 1e-7 * high:
        middle = (low + high) / 2
        low, high = (middle, high) if gains(middle).mean() > delta else (low, middle)
    fall = (weight * np.exp(np.minimum(high - loss, 0.0)) * (loss > high)).mean()
    return Estimate(high, 2 * gains(high).std() / math.sqrt(loss.size) / fall)


class NoiseSearch:
    """The noise at which a falling function of it reaches targets; earlier values are kept."""

    def __init__(self, epsilon_at: Callable[[float], float], *, start: float, tolerance: float):
        self._epsilon_at = epsilon_at
        self._start = start
        self._tolerance = tolerance
        self.known: dict[float, float] = {}

    def noise(self, target: float) -> float:
        """A noise whose epsilon is at most the target, and less by at most the tolerance."""
        wanted = self._start if not self.known else self._next(target)
        for _ in range(MOST_EVALUATIONS):
            if wanted not in self.known:
                self.known[wanted] = max(self._epsilon_at(wanted), 1e-9)
            holding = [noise for noise, epsilon in self.known.items() if epsilon <= target]
            if holding and self.known[min(holding)] >= target * (1 - self._tolerance):
                return min(holding)
            wanted = self._next(target)
        return min(holding, default=math.inf)

    def _next(self, target: float) -> float:
        """On the straight line between the neighbours, in logs; beyond the ends epsilon ~ 1/s."""
        aim = target * (1 - self._tolerance / 2)
        above = [noise for noise, epsilon in self.known.items() if epsilon > target]
        below = [noise for noise, epsilon in self.known.items() if epsilon <= target]
        if not above or not below:
            end = min(below, default=0.0) or max(above)
            return end * min(max(self.known[end] / aim, 0.25), 4.0)
        low, high = max(above), min(below)
        share = math.log(self.known[low] / aim) / math.log(self.known[low] / self.known[high])
        return low * (high / low) ** min(max(share, 0.05), 0.95)


class Effort(NamedTuple):
    """At which epsilons noises are searched, and with how many draws they are estimated."""

    epsilons: Sequence[float]
    conditional: Sequence[float]
    draws: int


def noise_panel(
    title: str, strategy: hs.strategies.Strategy, *, bins: int, effort: Effort
) -> Drawing:
    """A diagram with a curve for each method; `profile` exists for independent noise only."""
    plan = hs.Plan(sampling=hs.BallsInBins(bins=bins), steps=strategy.steps, strategy=strategy)
    curves = [_proven(plan, "renyi", effort.epsilons)]
    if effort.conditional:
        curves.append(_proven(plan, "conditional", effort.conditional))
    if strategy.is_identity:
        curves.append(_proven(plan, "profile", effort.epsilons))
    curves.append(_estimate(plan, curves[0], effort.draws))
    return Drawing(
        name=title,
        title=title,
        x_label="ε",
        y_label="noise multiplier",
        setting={"steps": strategy.steps, "bins": bins, "delta": DELTA, "draws": effort.draws},
        curves=curves,
    )


def _proven(plan: hs.Plan, method: str, epsilons: Sequence[float]) -> Curve:
    """The noise for each epsilon: to 0.2 %, and to 2 % where one noise takes seconds."""
    slow = method == "conditional"
    began = time.perf_counter()

    def epsilon_at(noise: float) -> float:
        guarantee = hs.account(
            plan, noise_multiplier=noise, method=method, accuracy=0.02 if slow else 1e-3
        )
        return guarantee.epsilon(DELTA)

    start = math.sqrt(np.diagonal(plan.strategy.gram(spacing=plan.sampling.bins)).max())
    search = NoiseSearch(
        epsilon_at, start=3 * start if slow else start, tolerance=0.02 if slow else 2e-3
    )
    noises = [round(search.noise(epsilon), 5) for epsilon in epsilons]
    return Curve(method, list(epsilons), noises, round(time.perf_counter() - began, 1))


def _estimate(plan: hs.Plan, proven: Curve, draws: int) -> Curve:
    """The estimated noise, found from the proven one; its error from that of epsilon."""
    began = time.perf_counter()
    estimates: dict[float, Estimate] = {}

    def epsilon_at(noise: float) -> float:
        estimates[noise] = estimated_epsilon(plan, noise, delta=DELTA, draws=draws)
        return estimates[noise].epsilon

    search = NoiseSearch(epsilon_at, start=0.9 * proven.y[0], tolerance=2e-3)
    noises = [search.noise(epsilon) for epsilon in proven.x]
    slopes = np.gradient(np.log(noises), np.log(proven.x))
    errors = [
        round(float(noise * abs(slope) * estimates[noise].error / estimates[noise].epsilon), 5)
        for noise, slope in zip(noises, slopes, strict=True)
    ]
    seconds = round(time.perf_counter() - began, 1)
    return Curve(ESTIMATE, proven.x, [round(noise, 5) for noise in noises], seconds, errors)
