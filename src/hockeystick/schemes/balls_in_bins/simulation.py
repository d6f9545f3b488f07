"""Losses of balls-in-bins with any noise, through inner products.

The outputs enter the likelihood ratio through their inner products with the means m_i of the bins,
which are jointly Gaussian: one number for each bin instead of one for each step, with the Gram
matrix of the means as covariance. The bins take the place of the steps in
simulation/participation_run.py, and an example joins exactly one of them, or none if some lie
beyond the end of the run.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Self

import numpy as np

from hockeystick._numerics.law import FloatArray
from hockeystick.schemes.balls_in_bins.tuples import BinTupleSource
from hockeystick.schemes.mixtures import UniformMixture
from hockeystick.schemes.simulation.columns import DenseColumns, Trajectories
from hockeystick.schemes.simulation.participation_run import ParticipationRun
from hockeystick.schemes.simulation.run import Simulation
from hockeystick.strategies import Strategy

__all__ = ["bin_run"]


class BinColumns(DenseColumns):
    """The means of the bins in place of the columns of a strategy, by a root of their products."""

    def __init__(self, gram: FloatArray, bins: int) -> None:
        self._bins = bins
        values, vectors = np.linalg.eigh(gram)
        root = np.ascontiguousarray((vectors * np.sqrt(np.maximum(values, 0.0))).T)
        super().__init__(root, gram)

    def signal(self, trajectories: Trajectories, out: FloatArray) -> None:
        """The row of the bin that was joined, or nothing; the sum over all balls of a tuple."""
        if trajectories.where.shape[1] > 1:
            super().signal(trajectories, out)
            return
        np.take(self._gram, trajectories.where[:, 0], axis=0, out=out)
        out[trajectories.number == 0] = 0.0

    def of_steps(self, products: FloatArray) -> FloatArray:
        """Sums over the steps of each bin."""
        bins = self._gram.shape[0]
        steps = np.arange(0, products.shape[1], self._bins)
        padded = np.zeros((products.shape[0], steps.size * self._bins))
        padded[:, : products.shape[1]] = products
        summed = padded.reshape(products.shape[0], steps.size, self._bins).sum(axis=1)
        return np.ascontiguousarray(summed[:, :bins])

    def overlaps(self, separation: int) -> FloatArray:
        """None: an example joins one bin."""
        return np.zeros(self._gram.shape[0])


@dataclass(frozen=True, eq=False)
class OneBin:
    """One of the bins, or none; `weights` are the probabilities with which bins are drawn."""

    bins: int
    weights: FloatArray
    log_staying_out: float = 0.0

    @property
    def expected(self) -> FloatArray:
        """The same for every bin."""
        return np.full(self.weights.size, 1 / self.bins)

    @property
    def expected_squares(self) -> FloatArray:
        """A bin is joined once or not at all."""
        return self.expected

    def trajectories(self, draws: int, rng: np.random.Generator) -> Trajectories:
        """By the inverse of the cumulative weights."""
        chosen = np.searchsorted(np.cumsum(self.weights), rng.random(draws), side="right")
        inside = chosen < self.weights.size
        where = np.where(inside, chosen, 0)[:, None]
        return Trajectories(where, np.ones_like(where), inside.astype(np.int64))

    def plain(self, factors: FloatArray, half: FloatArray) -> FloatArray:
        """log of the average of the factors over all bins; those out of the run have 1."""
        idle = self.bins - self.weights.size
        losses: FloatArray = np.log((factors.sum(axis=1) + idle) / self.bins)
        return losses

    def logarithmic(self, exponents: FloatArray, half: FloatArray) -> FloatArray:
        """The same from the exponents."""
        idle = self.bins - self.weights.size
        top = np.maximum(exponents.max(axis=1), 0.0)
        total = np.exp(exponents - top[:, None]).sum(axis=1) + idle * np.exp(-top)
        losses: FloatArray = top + np.log(total / self.bins)
        return losses

    def weighted(self, log_weights: FloatArray) -> tuple[Self, float]:
        """Bins with their probabilities multiplied."""
        idle = self.bins - self.weights.size
        logs = np.append(log_weights, math.log(idle) if idle else -math.inf)
        total = float(np.logaddexp.reduce(logs))
        law = replace(self, weights=np.exp(log_weights - total))
        return law, total - math.log(self.bins)


def bin_run(run: Simulation, strategy: Strategy, bins: int) -> ParticipationRun:
    """log LR, O(bins^2) for each draw and O(bins) for each noise level.

    Tuples of replicas where every bin takes part.
    """
    whole = run.present and run.plan.steps >= bins > 1
    tuples = BinTupleSource(strategy, bins) if whole else None
    return ParticipationRun(run, *_ingredients(strategy, bins), tuples=tuples)


@lru_cache(maxsize=4)
def _ingredients(strategy: Strategy, bins: int) -> tuple[BinColumns, OneBin]:
    mixture = UniformMixture(strategy, bins)
    return BinColumns(mixture.kernel, bins), OneBin(bins, np.full(mixture.used, 1 / bins))
