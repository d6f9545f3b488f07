"""The hockey-stick divergence of a mixture of two Gaussians, by integration in the plane."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["two_bins_delta"]

Array = Any
REACH, POINTS = 9.0, 1201


def two_bins_delta(
    kernel: Array, epsilon: float, direction: str, *, share: float = 1.0, runs: int = 1
) -> float:
    """delta(epsilon) of P = (N(m_1) + N(m_2))/2 against N(0), given the inner products of the m_i.

    With probability 1 - share the example takes part in neither. Two runs side by side are
    integrated on a coarser grid, as the product of their likelihood ratios.
    """
    values, vectors = np.linalg.eigh(kernel)
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    far = REACH + float(np.sqrt(np.diagonal(kernel).max()))
    z = np.linspace(-far, far, POINTS)
    mass = np.exp(-(z**2) / 2)
    mass /= mass.sum()
    first, second = (
        np.exp(root[i, 0] * z[:, None] + root[i, 1] * z[None, :] - kernel[i, i] / 2) for i in (0, 1)
    )
    ratio = 1 - share + share * (first + second) / 2
    q = np.multiply.outer(mass, mass)
    if runs == 1:
        return float((q * _gain(ratio, epsilon, direction)).sum())
    # The law of one run as a fine histogram of losses, then the product of two of them.
    loss, weight = np.log(ratio).ravel(), q.ravel()
    width = 2e-3
    index = np.round(loss / width).astype(int)
    low = index.min()
    histogram = np.bincount(index - low, weights=weight)
    both = np.convolve(histogram, histogram)
    at = np.exp(width * (2 * low + np.arange(both.size)))
    return float((both * _gain(at, epsilon, direction)).sum())


def _gain(ratio: Array, epsilon: float, direction: str) -> Array:
    gamma = np.exp(epsilon)
    return np.maximum(ratio - gamma if direction == "remove" else 1 - gamma * ratio, 0.0)
