"""Balls-in-bins with any noise: a uniform mixture of Gaussians, known by its Gram matrix.

An example in bin i adds m_i = sum of the columns i, i + bins, i + 2 bins, ... of C, times its
clipped gradients, to C G + Z. All entries of C are non-negative, so gradients that all point the
same way are the worst: the run is dominated by (P, Q) with Q = N(0, s^2 I) and P the average over
the bins of N(m_i, s^2 I), for a removed example, and by (Q, P) for an added one (Choquette-Choo et
al. 2025, "Near exact privacy amplification for matrix mechanisms", Lemma 3.2, whose directions are
exchanged in print; sampling_free_matrix_allocation, Lemma 2.8). Only the inner products of the m_i
matter: under Q, LR = sum_i e^(xi_i - K_ii/2) / bins with xi ~ N(0, K), K = Gram(m) / s^2.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import cast

import numpy as np

from hockeystick._numerics.law import FloatArray
from hockeystick._numerics.mixed_ratio import rate_of_counts
from hockeystick.errors import PrecisionError
from hockeystick.plan import Plan
from hockeystick.schemes import BallsInBins
from hockeystick.strategies import Strategy

__all__ = ["BinMixture", "bin_mixture", "finite_kernel", "missing_mixture"]

# A Gram matrix of this many bins takes half a gigabyte.
MOST_BINS = 8_000


@dataclass(frozen=True, eq=False)
class BinMixture:
    """The mixture over the bins that take part; the example is in one of them with `share`."""

    plan: Plan
    noise_multiplier: float

    @property
    def bins(self) -> int:
        """All bins, also those beyond the end of the run."""
        return cast("BallsInBins", self.plan.sampling).bins

    @property
    def used(self) -> int:
        """Bins that take part at least once."""
        return min(self.bins, self.plan.steps)

    @property
    def share(self) -> float:
        """The probability that the example takes part at all."""
        return rate_of_counts(self.used, self.bins)

    @cached_property
    def kernel(self) -> FloatArray:
        """Inner products of the means, over the variance of the noise."""
        return finite_kernel(
            self.plan.strategy, spacing=self.bins, noise_multiplier=self.noise_multiplier
        )

    @cached_property
    def levels(self) -> FloatArray:
        """Row t holds the coordinate t of every mean, over the standard deviation of the noise."""
        with np.errstate(all="ignore"):
            columns = self.plan.strategy.summed_columns(spacing=self.bins)
            levels = columns / self.noise_multiplier
            _finite(levels * levels, self.noise_multiplier)
            return levels


def finite_kernel(strategy: Strategy, *, spacing: int, noise_multiplier: float) -> FloatArray:
    """Inner products of the summed columns, over the variance of the noise."""
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


def missing_mixture(plan: Plan) -> str | None:
    """Why the plan is not such a mixture, in one clause; None if it is one."""
    if not isinstance(plan.sampling, BallsInBins):
        return f"it is an analysis of {BallsInBins.name}, not of {plan.sampling.name}"
    if min(plan.sampling.bins, plan.steps) > MOST_BINS:
        return f"it needs the Gram matrix of all bins, of which there may be at most {MOST_BINS:,}"
    return None if plan.mechanism is None else "it needs the Gaussian mechanism"


def bin_mixture(plan: Plan, noise_multiplier: float | None) -> BinMixture:
    """The mixture of a plan for which `missing_mixture` is None."""
    assert noise_multiplier is not None
    return BinMixture(plan, noise_multiplier)
