"""Inner products of outputs and columns, prepared for a strategy and drawn in blocks.

A run's likelihood ratio needs, for each step i, the inner product of the outputs with column i of
C: noise z^T C / s + signal x^T C^T C / s^2. Strategies with few Toeplitz bands take O(bands) for
each step, others two products with matrices of steps by steps.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from hockeystick._numerics.law import FloatArray
from hockeystick.schemes.capabilities import Run
from hockeystick.strategies import Strategy

__all__ = ["MOST_DENSE_STEPS", "Columns", "DenseColumns", "Trajectories", "columns_of", "too_long"]

IntArray = npt.NDArray[np.int64]

# More bands than this are treated as a full matrix.
MOST_TAPS = 256
# Steps, and inner products of neighbouring columns, that are held in memory.
MOST_STEPS, MOST_PRODUCTS = 1_000_000, 20_000_000
# Full matrices of this many steps take half a gigabyte each.
MOST_DENSE_STEPS = 8_000


class Trajectories(NamedTuple):
    """In which steps the example takes part, one row for each draw, and with how many copies."""

    where: IntArray
    times: IntArray
    number: IntArray


class Columns(Protocol):
    """The columns of a strategy."""

    @property
    def squared_norms(self) -> FloatArray:
        """Squared length of each column."""

    def noise(self, rng: np.random.Generator, out: FloatArray) -> None:
        """Rows of z^T C with z standard normal."""

    def signal(self, trajectories: Trajectories, out: FloatArray) -> None:
        """Rows of x^T C^T C."""

    def products(self, weights: FloatArray) -> FloatArray:
        """C^T C times a vector."""

    def of_steps(self, products: FloatArray) -> FloatArray:
        """Inner products with these columns, from those with the columns of the strategy."""

    def overlaps(self, separation: int) -> FloatArray:
        """At least the sum of <c_i, c_j> over later participations j, for each step i.

        Participations are `separation` apart, so that each window of as many steps has one at most.
        Zero if columns that far apart do not overlap. The correction of [DongGanesh26, Lemma B.1]
        for the add direction; it needs C >= 0.
        """


class BandedColumns:
    """A Toeplitz strategy with few bands."""

    def __init__(self, coefficients: FloatArray, steps: int) -> None:
        from hockeystick.schemes.simulation.draw_kernels import TAPS, banded_gram

        self._gram = banded_gram(coefficients, steps)
        self._taps = np.zeros(-(-coefficients.size // TAPS) * TAPS)
        self._taps[: coefficients.size] = coefficients

    @property
    def squared_norms(self) -> FloatArray:
        """Squared length of each column, cut at the end of the run."""
        norms: FloatArray = self._gram[:, 0]
        return norms

    def noise(self, rng: np.random.Generator, out: FloatArray) -> None:
        """By correlation with the coefficients."""
        from hockeystick.schemes.simulation.draw_kernels import banded_noise

        banded_noise(rng, self._taps, out)

    def signal(self, trajectories: Trajectories, out: FloatArray) -> None:
        """From the bands of the Gram matrix."""
        from hockeystick.schemes.simulation.draw_kernels import banded_signal

        banded_signal(self._gram, *trajectories, out)

    def products(self, weights: FloatArray) -> FloatArray:
        """From the bands of the Gram matrix."""
        total = self._gram[:, 0] * weights
        for lag in range(1, min(self._gram.shape)):
            total[:-lag] += self._gram[:-lag, lag] * weights[lag:]
            total[lag:] += self._gram[:-lag, lag] * weights[:-lag]
        return total

    def of_steps(self, products: FloatArray) -> FloatArray:
        """They are the strategy's."""
        return products

    def overlaps(self, separation: int) -> FloatArray:
        """From the lags beyond the separation."""
        return _window_maxima(self._gram, separation)


class DenseColumns:
    """Any columns, as a matrix; only their inner products matter."""

    def __init__(self, matrix: FloatArray, gram: FloatArray) -> None:
        self._matrix = matrix
        self._gram = gram

    @property
    def squared_norms(self) -> FloatArray:
        """Squared length of each column."""
        return np.diagonal(self._gram)

    def noise(self, rng: np.random.Generator, out: FloatArray) -> None:
        """By a product with the matrix."""
        from hockeystick.schemes.simulation.draw_kernels import fill_normal

        z = np.empty(out.shape)
        fill_normal(rng, z)
        np.matmul(z, self._matrix, out=out)

    def signal(self, trajectories: Trajectories, out: FloatArray) -> None:
        """By a product with the Gram matrix."""
        where, times, number = trajectories
        taking_part = np.zeros((number.size, self._matrix.shape[0]))
        draw, entry = np.nonzero(np.arange(where.shape[1]) < number[:, None])
        taking_part[draw, where[draw, entry]] = times[draw, entry]
        np.matmul(taking_part, self._gram, out=out)

    def products(self, weights: FloatArray) -> FloatArray:
        """By the Gram matrix."""
        total: FloatArray = self._gram @ weights
        return total

    def of_steps(self, products: FloatArray) -> FloatArray:
        """They are the strategy's."""
        return products

    def overlaps(self, separation: int) -> FloatArray:
        """From the rows of the Gram matrix, to the right of the diagonal."""
        steps = self._gram.shape[0]
        lags = np.zeros((steps, steps))
        for i in range(steps):
            lags[i, : steps - i] = self._gram[i, i:]
        return _window_maxima(lags, separation)


def columns_of(run: Run) -> Columns:
    """The columns of a run's strategy."""
    return _prepared(run.strategy)


def too_long(run: Run) -> str | None:
    """Why the strategy's columns cannot be had in little memory, as a clause; None if they can."""
    strategy = run.strategy
    if not _is_banded(strategy) and run.steps > MOST_DENSE_STEPS:
        return (
            f"strategies that are not Toeplitz with at most {MOST_TAPS} bands are simulated for at "
            f"most {MOST_DENSE_STEPS:,} steps"
        )
    if _is_banded(strategy) and (
        run.steps > MOST_STEPS or run.steps * strategy.bands > MOST_PRODUCTS
    ):
        return (
            f"runs are simulated for at most {MOST_STEPS:,} steps, and steps times bands of at "
            f"most {MOST_PRODUCTS:,}"
        )
    return None


@lru_cache(maxsize=4)
def _prepared(strategy: Strategy) -> Columns:
    coefficients = strategy.coefficients
    if _is_banded(strategy) and coefficients is not None:
        return BandedColumns(np.ascontiguousarray(coefficients), strategy.steps)
    matrix = strategy.to_matrix()
    return DenseColumns(matrix, matrix.T @ matrix)


def _is_banded(strategy: Strategy) -> bool:
    return strategy.coefficients is not None and strategy.bands <= MOST_TAPS


def _window_maxima(lags: FloatArray, separation: int) -> FloatArray:
    """Sum over the windows beyond the separation of the largest entry in each."""
    beyond = lags[:, separation:]
    if beyond.shape[1] == 0:
        return np.zeros(lags.shape[0])
    edges = np.arange(0, beyond.shape[1], separation)
    total: FloatArray = np.maximum.reduceat(beyond, edges, axis=1).sum(axis=1)
    return total
