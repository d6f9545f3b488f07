"""Stationary Gaussian Markov chains on a line and on a ring, as recursions."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hockeystick._numerics.law import FloatArray

__all__ = ["Chain", "correlations", "line", "mirrored", "mirrored_covariance", "pinned_ring"]


class Chain(NamedTuple):
    """B_1 ~ N(0, variance_1), B_(i+1) = pull_i B_i + N(0, fresh_i).

    `start[i]` is the factor with which a common start value enters at i: 0 on a line. All pulls are
    between 0 and 1. A state with its start has the variance variance_i + start_i^2.
    """

    variance: FloatArray
    pull: FloatArray
    fresh: FloatArray
    start: FloatArray


def correlations(rho: float, bins: int, *, ring: bool) -> FloatArray:
    """Of unit variables at distance 0, 1, ..., bins - 1."""
    d = np.arange(bins, dtype=np.float64)
    if not ring:
        return np.power(rho, d, dtype=np.float64)
    periodic: FloatArray = (rho**d + rho ** (bins - d)) / (1 + rho**bins)
    return periodic


def line(rho: float, bins: int) -> Chain:
    """Correlation rho^d at distance d."""
    ones = np.ones(bins)
    return Chain(ones, rho * ones[1:], (1 - rho * rho) * ones[1:], 0 * ones)


def pinned_ring(rho: float, bins: int) -> Chain:
    """The periodic chain X less its regression on X_1: X_i = start_i X_1 + B_i, with B_1 = 0.

    Given X_1 the ring is cut open: B is a Markov chain that comes back towards 0 at the end.
    """
    r = correlations(rho, bins, ring=True)
    variance = (1 - r) * (1 + r)
    neighbours = r[1] - r[:-1] * r[1:]
    pull = np.zeros(bins - 1)
    np.divide(neighbours, variance[:-1], out=pull, where=variance[:-1] > 0)
    pull = np.clip(pull, 0.0, 1.0)
    fresh = np.maximum(variance[1:] - pull * pull * variance[:-1], 0.0)
    return Chain(variance, pull, fresh, r)


def mirrored(rho: float, bins: int) -> Chain:
    """A chain on a line that dominates the periodic one: both ends are mirrors.

    Its covariance is `mirrored_covariance`, for i <= j a product of a function of i and one of j.
    """
    _, far = _sides(rho, bins)
    variance = np.diagonal(mirrored_covariance(rho, bins)).copy()
    pull = np.clip(rho * far[1:] / far[:-1], 0.0, 1.0)
    fresh = np.maximum(variance[1:] - pull * pull * variance[:-1], 0.0)
    return Chain(variance, pull, fresh, np.zeros(bins))


def mirrored_covariance(rho: float, bins: int) -> FloatArray:
    """(rho^(j-i) + rho^(i+j-1) + rho^(2b+1-i-j) + rho^(2b+i-j)) / (1 + rho^b) for i <= j.

    The periodic correlations and (y - z)(y - z)^T with y_i = rho^(i-1/2) and z_i = rho^(b-i+1/2),
    and what is left has no negative entry: it dominates them, with hardly more in total.
    """
    near, far = _sides(rho, bins)
    i = np.arange(bins)
    low, high = np.minimum(i[:, None], i), np.maximum(i[:, None], i)
    steps = np.power(rho, (high - low).astype(np.float64))
    result: FloatArray = near[low] * far[high] * steps / (1 + rho**bins)
    return result


def _sides(rho: float, bins: int) -> tuple[FloatArray, FloatArray]:
    """1 + rho^(2i-1) and 1 + rho^(2b+1-2j): what the mirrors add, as seen from bins i and j."""
    i = np.arange(1.0, bins + 1)
    return 1 + np.power(rho, 2 * i - 1), 1 + np.power(rho, 2 * bins + 1 - 2 * i)
