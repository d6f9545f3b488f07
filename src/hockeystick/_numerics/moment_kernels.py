"""Compiled recurrences for moments; importing this module imports Numba."""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from hockeystick._numerics.law import FloatArray

__all__ = ["moments_of_average", "moments_of_mixture"]


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
