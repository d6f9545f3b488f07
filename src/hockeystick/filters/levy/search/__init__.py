"""The Levy process that allows most of what is expected: heuristics, no part of any proof.

Charges and guarantee are computed from whatever comes out, by `levy/charge.py` and `levy/pair.py`;
a bad choice allows fewer steps.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from hockeystick._numerics.gaussian import quantile_of_tail
from hockeystick._numerics.law import FloatArray
from hockeystick.fdp.schedule import EqualSteps
from hockeystick.filters.levy.charge import (
    LARGEST_NOISE,
    beside_catalyst,
    block_of,
    block_variance,
    catalyst_for,
    curves_of,
)
from hockeystick.filters.levy.process import LevyProcess
from hockeystick.filters.levy.search.programme import (
    DEFAULT,
    CoveredBlock,
    Lattice,
    SearchSettings,
    Solution,
    solve,
)
from hockeystick.filters.renyi import best_order
from hockeystick.filters.renyi.divergence import budget_at_order, sampled_divergences

__all__ = ["ExpectedRun", "designed"]


class ExpectedRun(NamedTuple):
    """What the filter is for: steps of these settings, requested in blocks of one length."""

    expected: tuple[EqualSteps, ...]
    epsilon: float
    delta: float
    block: int = 1


class _GridPoint(NamedTuple):
    """A setting that stands for a part of the expected range, and how often it counts."""

    rate: float
    noise: float
    weight: float


class _RoughRun(NamedTuple):
    """An estimate of the whole run: the Renyi order that matters and the number of blocks."""

    order: float
    blocks: float


class _Candidate(NamedTuple):
    """A process, and how many expected blocks it allows."""

    blocks: float
    process: LevyProcess


# Where there is nothing to gain from jumps.
BROWNIAN_MOTION = LevyProcess(gaussian=1.0)


def designed(run: ExpectedRun, *, settings: SearchSettings = DEFAULT) -> LevyProcess:
    """The process, with its catalyst and its killing, that allows the most expected blocks.

    Full batches need no jumps: Brownian motion alone, exact. So it is for an epsilon so large that
    a lattice over it would have to be coarser than any jump. Otherwise a few catalysts are tried,
    and for each the jumps are found by linear programmes; some seconds in total.
    """
    points = _grid(run.expected, settings)
    coarsest = settings.span_of_epsilon * run.epsilon / settings.most_atoms
    if all(point.rate == 1.0 for point in points) or coarsest > settings.largest_jump:
        return BROWNIAN_MOTION
    return _Design(run, points, settings).best()


def _grid(expected: Sequence[EqualSteps], settings: SearchSettings) -> list[_GridPoint]:
    """A small grid over the ranges; each expected step counts for the nearest point."""
    steps = np.array([one.steps for one in expected], dtype=np.float64)
    rates = [max(one.rate, settings.smallest_rate) for one in expected]
    rate_nodes = _nodes(rates, steps, settings.rate_levels, settings)
    noises = [min(one.noise_multiplier, LARGEST_NOISE) for one in expected]
    # With several rates fewer noise levels have to do.
    levels = settings.noise_levels if len(rate_nodes) == 1 else settings.noise_levels - 1
    noise_nodes = _nodes(noises, steps, levels, settings)
    return [_GridPoint(q, s, u * w) for q, u in rate_nodes for s, w in noise_nodes]


def _nodes(
    values: Sequence[float], steps: FloatArray, count: int, settings: SearchSettings
) -> list[tuple[float, float]]:
    """Geometric nodes from the smallest value to the largest, with their weights."""
    logs = np.log(np.array(values))
    low, high = float(logs.min()), float(logs.max())
    if not high > low:
        return [(float(values[0]), 1.0)]
    nodes = np.linspace(low, high, count)
    nearest = np.abs(logs[:, None] - nodes).argmin(axis=1)
    counts = np.bincount(nearest, weights=steps / steps.sum(), minlength=count)
    points = np.exp(nodes)
    points[0], points[-1] = min(values), max(values)
    weights = np.maximum(counts, settings.unexpected_weight)
    return list(zip(points.tolist(), weights.tolist(), strict=True))


class _Design:
    """One search: the expected run, the grid of settings that stands for it, and the tunables."""

    def __init__(
        self, run: ExpectedRun, points: Sequence[_GridPoint], settings: SearchSettings
    ) -> None:
        self._run, self._points, self._settings = run, points, settings
        self._steps = run.block
        self._total = sum(point.weight for point in points)
        self._weights = np.array([point.weight for point in points]) / self._total
        self._variances = np.array([block_variance(p.rate, p.noise, self._steps) for p in points])
        self._variance = float(self._weights @ self._variances)

    def best(self) -> LevyProcess:
        """The best process of all catalysts; the first one settles the length of the run."""
        first, *others = self._settings.catalysts
        length, candidate = self._settled(first)
        candidates = [candidate, *(self._candidate(length, share) for share in others)]
        return max(candidates, key=lambda found: found.blocks).process

    def _settled(self, share: float) -> tuple[_RoughRun, _Candidate]:
        """The run as long as its own design allows: catalyst and killing depend on its length."""
        settings, length = self._settings, self._rough_run()
        for _ in range(settings.most_revisions):
            found = self._candidate(length, share)
            guess = length.blocks
            length = length._replace(blocks=max(found.blocks, settings.shortest_run))
            if 1 / settings.revised_by < length.blocks / guess < settings.revised_by:
                break
        return length, found

    def _rough_run(self) -> _RoughRun:
        """By the Renyi filter."""
        heaviest = max(self._points, key=lambda p: p.weight * block_variance(p.rate, p.noise, 1))
        epsilon, delta = self._run.epsilon, self._run.delta
        only = EqualSteps(heaviest.rate, heaviest.noise, 1)
        order = best_order(epsilon=epsilon, delta=delta, expected=[only])
        step = sum(
            p.weight
            / self._total
            * float(sampled_divergences(order, p.rate, np.array([p.noise**-2.0]))[0])
            for p in self._points
        )
        blocks = budget_at_order(order, epsilon, delta) / (step * self._steps)
        return _RoughRun(order, max(blocks, self._settings.shortest_run))

    def _candidate(self, length: _RoughRun, share: float) -> _Candidate:
        """The process for a catalyst, as a share of the variance of the run."""
        catalyst = share * length.blocks * self._variance
        floor = self._settings.reserve * self._run.delta / max(length.blocks, 1.0)
        blocks = [
            self._covered(point, weight, catalyst, floor * variance / self._variance)
            for point, variance, weight in zip(
                self._points, self._variances, self._weights, strict=True
            )
        ]
        if any(curve.height.max() <= one.floor for one in blocks for curve in one.curves):
            # There is nothing to cover: what is killed pays for all of it.
            return _Candidate(0.0, BROWNIAN_MOTION)
        lattice = self._lattice(floor, length.blocks * self._variance)
        found = solve(
            blocks,
            lattice,
            start=self._first_guess(lattice),
            order=length.order,
            settings=self._settings,
        )
        return self._finished(lattice, found, catalyst)

    def _covered(
        self, point: _GridPoint, weight: float, catalyst: float, floor: float
    ) -> CoveredBlock:
        variance = block_variance(point.rate, point.noise, self._steps)
        part = catalyst_for(catalyst, variance)
        block = block_of(point.rate, point.noise, self._steps)
        law = beside_catalyst(block, catalyst=part, variance=variance, tail=1e-2 * floor)
        return CoveredBlock(curves_of(law), variance, part, weight, floor)

    def _lattice(self, floor: float, variance: float) -> Lattice:
        """Geometric sizes up to the largest loss that a single step reaches above the floor.

        Jumps of x that carry a variance V come V/x^2 times, and the lattice has to hold them all:
        for a run of the given variance the unit may not be too small. What is smaller is left to
        the Gaussian part.
        """
        settings = self._settings
        rate, noise = max(p.rate for p in self._points), min(p.noise for p in self._points)
        mu = 1 / noise
        reach = mu * quantile_of_tail(min(floor / (self._steps * rate), 0.1)) + mu**2 / 2
        largest = math.log1p(rate * math.expm1(min(reach, settings.largest_jump)))
        span = settings.span_of_epsilon * self._run.epsilon + 20 * largest
        atoms = settings.most_atoms
        smallest = max(largest / settings.finest, span / atoms, math.sqrt(variance / atoms))
        finest = max(round(largest / smallest), 1)
        sizes = np.unique(np.round(np.geomspace(1, finest, settings.kinds_of_jumps)).astype(int))
        return Lattice(max(largest / finest, smallest), tuple(int(size) for size in sizes))

    def _first_guess(self, lattice: Lattice) -> FloatArray:
        """The jumps of the steps themselves, each counted at the nearest size, and some noise."""
        from scipy.special import ndtr

        point, jumps = self._points[0], lattice.jumps
        mu = 1 / point.noise
        inner = np.sqrt(jumps[1:] * jumps[:-1])
        edges = np.concatenate(([0.6 * jumps[0]], inner, [1.05 * jumps[-1]]))
        beyond = ndtr(-(np.log1p(np.expm1(edges) / point.rate) / mu + mu / 2))
        rates = self._steps * -np.diff(beyond)
        variance = block_variance(point.rate, point.noise, self._steps)
        return np.append(self._settings.first_gaussian * variance, rates)

    def _finished(self, lattice: Lattice, found: Solution, catalyst: float) -> _Candidate:
        """With few digits, and killed at the rate that the reserve of delta pays for."""
        used = found.parameters[1:] > 0
        process = LevyProcess(
            gaussian=self._short(found.parameters[0]),
            unit=lattice.unit,
            sizes=tuple(size for size, kept in zip(lattice.sizes, used, strict=True) if kept),
            rates=tuple(self._short(rate) for rate in found.parameters[1:][used]),
            catalyst=self._short(catalyst),
        )
        reserve, delta = self._settings.reserve, self._run.delta
        time = process.largest_time(epsilon=self._run.epsilon, delta=(1 - reserve) * delta)
        if not (time > 0 and math.isfinite(found.cost)):
            return _Candidate(0.0, BROWNIAN_MOTION)
        process = replace(process, killing=self._short(reserve * delta / time))
        return _Candidate(time / float(self._weights @ found.times), process)

    def _short(self, value: float) -> float:
        return float(f"{value:.{self._settings.digits}g}")
