"""Moments of 1/LR for a uniform Gaussian mixture, by a lower bound on log LR.

With K = Gram(m) / s^2 and xi ~ N(0, K) under Q, LR = sum_i e^(xi_i - K_ii/2) / b. For any weights w
on the bins (Jensen's inequality, Gibbs' variational principle),

    log LR >= sum_i w_i (xi_i - K_ii/2) - KL(w || uniform),

which is a Gaussian variable, so

    log E_Q[LR^(1-a)] / (a - 1) <= sum_i w_i K_ii/2 + KL(w || uniform) + (a - 1)/2 w^T K w.

Sampling_free_matrix_allocation, Lemma 3.4, is the case of uniform weights. The right-hand side is
convex in w; every w gives a valid bound, so the search for the best need not converge.
"""

from __future__ import annotations

import numpy as np

from hockeystick._numerics.law import FloatArray
from hockeystick._numerics.moments import PowerMoments, rounded_up

__all__ = ["reversed_moments"]

# The search for weights ends after so many steps, or when one of them gains less than this.
MOST_STEPS, SMALLEST_GAIN = 40, 1e-9
# Products with K that all orders together may take.
MOST_PRODUCTS = 1e9


def reversed_moments(kernel: FloatArray, largest: int) -> PowerMoments:
    """log E_Q[LR^(1-a)] at index a, for a = 0, ..., largest, from the best weights found."""
    b = kernel.shape[0]
    log = np.zeros(largest + 1)
    weights = np.full(b, 1 / b)
    steps = int(min(MOST_STEPS, MOST_PRODUCTS / (b**2 * max(largest, 1))))
    for a in range(2, largest + 1):
        weights, value = _best_weights(kernel, a - 1.0, weights, steps)
        log[a] = (a - 1) * value
    return PowerMoments(rounded_up(log))


def _best_weights(
    kernel: FloatArray, factor: float, weights: FloatArray, steps: int
) -> tuple[FloatArray, float]:
    """Mirror descent: at the optimum log w_i = -K_ii/2 - factor (K w)_i, up to a constant."""
    half_diagonal = np.diagonal(kernel) / 2
    pull = kernel @ weights
    value = _bound(half_diagonal, pull, factor, weights)
    stride = 1.0
    for _ in range(steps):
        with np.errstate(divide="ignore"):
            wanted = -half_diagonal - factor * pull
            moved = (1 - stride) * np.log(weights) + stride * wanted
        candidate = np.exp(moved - moved.max())
        candidate /= candidate.sum()
        candidate_pull = kernel @ candidate
        candidate_value = _bound(half_diagonal, candidate_pull, factor, candidate)
        gain = value - candidate_value
        if gain > 0:
            weights, pull, value = candidate, candidate_pull, candidate_value
            if gain < SMALLEST_GAIN * value:
                break
        else:
            stride /= 2
    return weights, value


def _bound(
    half_diagonal: FloatArray, pull: FloatArray, factor: float, weights: FloatArray
) -> float:
    positive = weights > 0
    relative = float(weights[positive] @ np.log(weights[positive] * weights.size))
    return float(weights @ half_diagonal) + relative + factor / 2 * float(weights @ pull)
