"""Compiled sums over the jumps of a Levy path; importing this module imports Numba."""

from __future__ import annotations

import math

import numpy as np
from numba import njit
from numpy.typing import NDArray

from hockeystick._numerics.law import FloatArray

__all__ = ["gaussian_calls", "panjer"]

SQRT_HALF, INVERSE_SQRT_2_PI = math.sqrt(0.5), 1 / math.sqrt(2 * math.pi)
# Beyond this many standard deviations a normal tail is below 1e-315: it is left out.
REACH = 38.0
# Beyond this threshold e^gap may overflow in a product: H is bounded without it.
LARGEST_GAP = 600.0
# Relative error of a value of the normal distribution function at a, over 1 + a^2; of a loss.
NORMAL_ERROR, LOSS_ERROR = 2e-15, 1e-15
# Masses are scaled down by SCALE whenever they grow beyond LARGE.
LARGE, SCALE = 1e250, 1e-250


@njit(cache=True, nogil=True)
def panjer(sizes: NDArray[np.int64], rates: FloatArray, count: int) -> tuple[FloatArray, int]:
    """Masses of a sum of jumps on 0, 1, ..., count - 1: Poisson(rates[j]) jumps of sizes[j].

    k g_k = sum_j sizes_j rates_j g_(k - sizes_j) [Panjer81]. All terms are positive, so every
    mass keeps its relative accuracy. Returned without the factor e^-sum(rates) and with the number
    of times that 1e-250 was multiplied in; what that lets underflow is below 1e-290 of the largest.
    """
    mass = np.zeros(count)
    mass[0] = 1.0
    scaled = 0
    for k in range(1, count):
        total = 0.0
        for j in range(sizes.size):
            if sizes[j] <= k:
                total += sizes[j] * rates[j] * mass[k - sizes[j]]
        mass[k] = total / k
        if mass[k] > LARGE:
            for i in range(k + 1):
                mass[i] *= SCALE
            scaled += 1
    return mass, scaled


@njit(cache=True, nogil=True)
def gaussian_calls(
    loss: FloatArray, mu: float, offset: FloatArray, weight: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Sums over atoms of weight times numbers of a Gaussian pair, at thresholds loss - offset.

    With e = loss - offset and a = mu/2 - e/mu, for each loss:
    call: H = Phi(a) - e^e Phi(a - mu); error: a bound on its rounding error;
    other: e^e Phi(a - mu), which is minus the slope of the call in e^loss, times e^loss;
    vega: phi(a) / (2 mu), the derivative of the call in mu^2.
    """
    calls, errors = np.zeros(loss.size), np.zeros(loss.size)
    others, vegas = np.zeros(loss.size), np.zeros(loss.size)
    for i in range(loss.size):
        for k in range(offset.size):
            gap = loss[i] - offset[k]
            a = mu / 2 - gap / mu
            if a < -REACH:
                continue
            first = 0.5 * math.erfc(-a * SQRT_HALF)
            if gap > LARGEST_GAP:
                # H lies between 0 and Phi(a), and so does the other term.
                errors[i] += weight[k] * first
                others[i] += weight[k] * first
                continue
            other = math.exp(gap) * 0.5 * math.erfc((mu - a) * SQRT_HALF)
            calls[i] += weight[k] * max(first - other, 0.0)
            noise = NORMAL_ERROR * (1.0 + a * a) + LOSS_ERROR * (abs(loss[i]) + abs(offset[k]))
            errors[i] += weight[k] * noise * (first + other)
            others[i] += weight[k] * other
            vegas[i] += weight[k] * math.exp(-a * a / 2) * INVERSE_SQRT_2_PI / (2 * mu)
    return calls, errors, others, vegas
