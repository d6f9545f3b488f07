"""Losses of balls-in-bins with any noise, through inner products.

The outputs enter the likelihood ratio through their inner products with the means m_i of the bins,
which are jointly Gaussian: xi ~ N(0, K) without the example, N(K e_i, K) with it in bin i, where
K = Gram / variance. That is one number for each bin instead of one for each step.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from hockeystick._numerics.law import FloatArray
from hockeystick.pairs.mixtures import bin_mixture
from hockeystick.sampling import BallsInBins
from hockeystick.simulation.registry import BLOCK, Simulation, simulates

__all__ = ["balls_in_bins"]


@simulates(BallsInBins)
def balls_in_bins(run: Simulation, draws: int, rng: np.random.Generator) -> Iterator[FloatArray]:
    """log LR, O(bins^2) for each draw."""
    mixture = bin_mixture(run.plan, run.noise_multiplier)
    kernel, used = mixture.kernel, mixture.used
    values, vectors = np.linalg.eigh(kernel)
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    half = np.diagonal(kernel) / 2
    size = max(1, BLOCK // used)
    for start in range(0, draws, size):
        count = min(size, draws - start)
        xi = rng.standard_normal((count, used)) @ root.T
        if run.present:
            chosen = rng.integers(mixture.bins, size=count)
            inside = np.flatnonzero(chosen < used)
            xi[inside] += kernel[chosen[inside]]
        xi -= half
        top = np.maximum(xi.max(axis=1), 0.0)
        idle = (mixture.bins - used) * np.exp(-top)
        total = np.exp(xi - top[:, None]).sum(axis=1) + idle
        yield top + np.log(total / mixture.bins)
