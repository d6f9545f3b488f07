"""Uniform mixtures of Gaussians, known by the Gram matrix of their means.

Who takes part in one of several equally likely ways adds m_i = the sum of the columns i,
i + spacing, i + 2 spacing, ... of C, times clipped gradients, to C G + Z. All entries of C are
non-negative, so gradients that all point the same way are the worst: the run is dominated by (P, Q)
with Q = N(0, s^2 I) and P the average of N(m_i, s^2 I) for a removed example, and by (Q, P) for an
added one ([ChoquetteChoo25, Lemma 3.2], whose directions are exchanged in print;
[SchuchardtKalinin26, Lemma 2.8]). Only the inner products of the m_i matter: under Q,
LR = sum_i e^(xi_i - K_ii/2) / n with xi ~ N(0, K), K = Gram(m) / s^2.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from hockeystick._numerics.law import FloatArray
from hockeystick._numerics.mixed_ratio import rate_of_counts
from hockeystick._validate import storable
from hockeystick.errors import PrecisionError
from hockeystick.strategies import Strategy
from hockeystick.strategies.columns import toeplitz_products

__all__ = ["MixtureBlocks", "UniformMixture"]


@dataclass(frozen=True, eq=False)
class UniformMixture:
    """One of `bins` sets of columns, drawn once for the whole run: columns i, i + bins, ...

    Bins beyond the last step have no column; the example is in one of the others with probability
    `share`.
    """

    strategy: Strategy
    bins: int
    noise_multiplier: float = 1.0

    def with_noise(self, noise_multiplier: float | None) -> UniformMixture:
        """The same means, with noise of this standard deviation."""
        assert noise_multiplier is not None
        return replace(self, noise_multiplier=noise_multiplier)

    @property
    def used(self) -> int:
        """Bins that take part at least once."""
        return min(self.bins, self.strategy.steps)

    @property
    def share(self) -> float:
        """The probability that the example takes part at all."""
        return rate_of_counts(self.used, self.bins)

    @cached_property
    def kernel(self) -> FloatArray:
        """K, the inner products of the means over the variance of the noise."""
        return _kernel(self.strategy, self.bins, self.noise_multiplier)

    @cached_property
    def levels(self) -> FloatArray:
        """Row t holds the coordinate t of every mean, over the standard deviation of the noise."""
        with np.errstate(all="ignore"):
            levels = self.strategy.summed_columns(spacing=self.bins) / self.noise_multiplier
            _finite(levels * levels, self.noise_multiplier)
            return levels

    @property
    def as_blocks(self) -> MixtureBlocks:
        """The mixture as a single block."""
        return MixtureBlocks(self.strategy, spacing=self.bins, length=self.bins)


@dataclass(frozen=True, eq=False)
class MixtureBlocks:
    """Means m_0, m_1, ... in blocks of `length`; from each block one is drawn uniformly and added.

    There are min(spacing, steps) of them. A last block that the end of the run cuts short is drawn
    as if it were whole; the same holds for a single block.
    """

    strategy: Strategy
    spacing: int
    length: int

    @property
    def means(self) -> int:
        """How many means there are."""
        return min(self.spacing, self.strategy.steps)

    @property
    def terms(self) -> int:
        """The number of Gaussians in the mixture of a block."""
        return min(self.length, self.means)

    @property
    def single(self) -> bool:
        """Whether all means are in one block."""
        return self.means <= self.length

    @property
    def share(self) -> float:
        """The probability that what is drawn from the first block is in the run."""
        return rate_of_counts(self.terms, self.length)

    def kernel(self, noise_multiplier: float) -> FloatArray:
        """K, the inner products of all means over the variance of the noise."""
        return _kernel(self.strategy, self.spacing, noise_multiplier)

    def by_distance(self, noise_multiplier: float) -> FloatArray:
        """Bounds on the entries of K by their distance from the diagonal.

        For a Toeplitz strategy in O(steps log steps), without a matrix.
        """
        c, steps = self.strategy.coefficients, self.strategy.steps
        with np.errstate(all="ignore"):
            if c is not None:
                products = toeplitz_products(c, storable("steps", steps), self.spacing)
            else:
                gram = self.strategy.gram(spacing=self.spacing)
                products = np.array([np.diagonal(gram, d).max() for d in range(len(gram))])
            return _finite(products / noise_multiplier / noise_multiplier, noise_multiplier)


def _kernel(strategy: Strategy, spacing: int, noise_multiplier: float) -> FloatArray:
    with np.errstate(all="ignore"):
        gram = strategy.gram(spacing=spacing)
        return _finite(gram / noise_multiplier / noise_multiplier, noise_multiplier)


def _finite(array: FloatArray, noise_multiplier: float) -> FloatArray:
    if np.isfinite(array).all():
        return array
    raise PrecisionError(
        f"Noise multiplier {noise_multiplier:g} is too small beside the strategy for "
        "floating point: no bound was computed.",
        lower=0.0,
        upper=math.inf,
    )
