"""Compiled inner loops; importing this module imports Numba, so it is imported on first use."""

from __future__ import annotations

import math

import numpy as np
from numba import njit
from numpy.typing import NDArray

from hockeystick._numerics.law import FloatArray

__all__ = ["lower_hull", "moments_of_average", "moments_of_mixture", "suffix_sums"]

# Around loss 0 values are known to about this, relatively; a corner within it is kept.
HULL_NOISE = 4e-16
# Beyond this e^x is not a number any more.
LARGEST_EXPONENT = 700.0


@njit(cache=True, nogil=True)
def moments_of_average(log_d: FloatArray, t: float) -> FloatArray:
    """log M_n, M_n = E[((W_1 + ... + W_t) / t)^n], from log_d[m] = log E[W^m], for n <= t + 1.

    (sum_m D_m z^m / m!)^t has the coefficients t^n M_n / n!. Miller's recurrence for powers of a
    series (Euler's identity f' g = t f g' for g = f^t), written for M_n itself, is

        M_n = sum_(j=1..n) (j (t + 1) - n) / n * C(n, j) * t^-j * D_j * M_(n-j).

    All terms are positive for n <= t + 1. The first one is (1 - (n - 1)/t) D_1 M_(n-1), close to
    one where privacy is high, so that nothing is lost where log M_n is tiny.
    """
    largest = log_d.size - 1
    log_m = np.zeros(largest + 1)
    terms = np.empty(largest + 1)
    log_t = math.log(t)
    for n in range(1, largest + 1):
        log_binomial = 0.0
        top = -np.inf
        for j in range(1, n + 1):
            if j == 1:
                weight = (t + 1.0 - n) / t
                term = math.log(weight) if weight > 0 else -np.inf
                log_binomial = math.log(n)
            else:
                log_binomial += math.log((n - j + 1.0) / j)
                term = math.log((j * (t + 1.0) - n) / n) + log_binomial - j * log_t
            term += log_d[j] + log_m[n - j]
            terms[j] = term
            top = max(top, term)
        if top == -np.inf:
            log_m[n] = -np.inf
            continue
        total = 0.0
        for j in range(1, n + 1):
            total += math.exp(terms[j] - top)
        log_m[n] = top + math.log(total)
    return log_m


@njit(cache=True, nogil=True)
def moments_of_mixture(log_x: FloatArray, log_y: FloatArray, weight: float) -> FloatArray:
    """log E[(w X + (1 - w) Y)^n] for independent X and Y, by the binomial theorem."""
    largest = log_x.size - 1
    log_m = np.zeros(largest + 1)
    terms = np.empty(largest + 1)
    log_w, log_rest = math.log(weight), math.log1p(-weight)
    for n in range(1, largest + 1):
        log_binomial = 0.0
        top = -np.inf
        for j in range(n + 1):
            if j > 0:
                log_binomial += math.log((n - j + 1.0) / j)
            terms[j] = log_binomial + j * log_w + (n - j) * log_rest + log_x[j] + log_y[n - j]
            top = max(top, terms[j])
        if top == -np.inf:
            log_m[n] = -np.inf
            continue
        total = 0.0
        for j in range(n + 1):
            total += math.exp(terms[j] - top)
        log_m[n] = top + math.log(total)
    return log_m


@njit(cache=True, nogil=True)
def suffix_sums(loss: FloatArray, p: FloatArray) -> tuple[FloatArray, FloatArray]:
    """For each atom k: sum of p_j (1 - e^(l_k - l_j)) and of p_j e^(l_k - l_j), over j >= k."""
    heights = np.zeros(loss.size)
    slopes = np.zeros(loss.size)
    slopes[-1] = p[-1]
    for k in range(loss.size - 2, -1, -1):
        shrink = math.exp(loss[k] - loss[k + 1])
        heights[k] = heights[k + 1] - slopes[k + 1] * math.expm1(loss[k] - loss[k + 1])
        slopes[k] = p[k] + slopes[k + 1] * shrink
    return heights, slopes


@njit(cache=True, nogil=True)
def lower_hull(loss: FloatArray, delta: FloatArray) -> NDArray[np.int64]:
    """Indices of the lower convex hull of a profile given by its deltas (see envelope.py)."""
    kept = np.empty(loss.size, np.int64)
    size = 0
    for k in range(loss.size):
        while size >= 2:
            i, j = kept[size - 2], kept[size - 1]
            if loss[i] >= 0:
                drop_before = (delta[i] - delta[j]) * math.expm1(min(loss[k] - loss[j], 700.0))
                drop_after = (delta[j] - delta[k]) * -math.expm1(loss[i] - loss[j])
            elif loss[k] <= 0:
                # The same test from the other end: in 1/x the order is k, j, i.
                drop_before = (delta[k] - delta[j]) * math.expm1(min(loss[j] - loss[i], 700.0))
                drop_after = (delta[j] - delta[i]) * -math.expm1(loss[j] - loss[k])
            else:
                # Around loss 0 through the function itself.
                c_i = math.exp(loss[i]) * delta[i] - math.expm1(loss[i])
                c_j = delta[j]
                if loss[j] < 0:
                    c_j = math.exp(loss[j]) * delta[j] - math.expm1(loss[j])
                # Differences of e^loss, all of them over the largest where that overflows.
                over = loss[k] if loss[k] > LARGEST_EXPONENT else 0.0
                x_i, x_j, x_k = (
                    math.expm1(loss[i] - over),
                    math.expm1(loss[j] - over),
                    math.expm1(loss[k] - over),
                )
                drop_before = (c_i - c_j) * (x_k - x_j)
                drop_after = (c_j - delta[k]) * (x_j - x_i) - HULL_NOISE * c_i * (x_k - x_i)
            if drop_before > drop_after:
                break
            size -= 1
        kept[size] = k
        size += 1
    return kept[:size]
