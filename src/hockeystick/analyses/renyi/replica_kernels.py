"""Compiled walks over the ages of replicas; importing this module imports Numba.

A state holds n_1, ..., n_r: how many of `most` replicas took part 1, ..., r steps ago; the others
may join. With n_1 fastest, the states whose sum is at most `most` are numbered without gaps by
sum_i C(R_i + i, i) - C(R_i - n_i + i, i), R_i = most less all n_j with j > i. If k replicas join,
the next state is (k, n_1, ..., n_(r-1)): its number grows by one with k, so what a state can turn
into lies side by side in memory.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit
from numpy.typing import NDArray

from hockeystick._numerics.law import FloatArray

__all__ = ["backwards", "enumerate_states", "fill_weights"]

IntArray = NDArray[np.int64]

# What one weight may lose to floating point, for each unit of its exponents.
WEIGHT_ROUNDING = 2.0**-51
# Smaller weights, and values relative to that of the state in which all may join, are raised to it.
SMALLEST = 1e-290


@njit(cache=True, nogil=True)
def enumerate_states(most: int, ages: int, ways: IntArray) -> tuple[IntArray, IntArray, IntArray]:
    """Counts by state and age, the number of the next state if none joins, and the row starts."""
    states = ways[most + ages, ages]
    counts = np.zeros((states, ages), np.int64)
    following = np.zeros(states, np.int64)
    starts = np.zeros(states + 1, np.int64)
    n = np.zeros(ages, np.int64)
    for s in range(states):
        left = most
        number = 0
        for i in range(ages, 1, -1):  # the next state's n_i is this one's n_(i-1)
            moved = n[i - 2]
            number += ways[left + i, i] - ways[left - moved + i, i]
            left -= moved
        following[s] = number
        for i in range(ages):
            counts[s, i] = n[i]
        eligible = left - n[ages - 1]
        starts[s + 1] = starts[s] + eligible + 1
        i = 0
        while i < ages:  # the odometer: the first age that can grow does, those before it restart
            if eligible > 0:
                n[i] += 1
                break
            eligible += n[i]
            n[i] = 0
            i += 1
    return counts, following, starts


@njit(cache=True, nogil=True)
def fill_weights(
    weights: FloatArray, counts: IntArray, starts: IntArray, rate: float, pulls: FloatArray
) -> None:
    """The probability that k of the eligible replicas join, times e^(attraction), for every state.

    pulls[0] is what a pair that joins together gains, pulls[d] one that joins d steps apart.
    """
    log_rate, log_rest = math.log(rate), math.log1p(-rate) if rate < 1 else -np.inf
    for s in range(counts.shape[0]):
        gain = 0.0
        for d in range(counts.shape[1]):
            gain += pulls[d + 1] * counts[s, d]
        eligible = starts[s + 1] - starts[s] - 1
        for k in range(eligible + 1):
            if rate == 1 and k < eligible:
                weights[starts[s] + k] = 0.0
                continue
            pairs = k * gain + pulls[0] * (k * (k - 1) / 2)
            ways = (
                math.lgamma(eligible + 1.0) - math.lgamma(k + 1.0) - math.lgamma(eligible - k + 1.0)
            )
            log_chance = k * log_rate + ((eligible - k) * log_rest if k < eligible else 0.0)
            largest = pairs + 3 * math.lgamma(eligible + 1.0) - log_chance + 4
            log_weight = ways + log_chance + pairs + WEIGHT_ROUNDING * largest
            weights[starts[s] + k] = max(math.exp(log_weight), SMALLEST)


@njit(cache=True, nogil=True)
def backwards(
    weights: FloatArray, following: IntArray, starts: IntArray, value: FloatArray, steps: int
) -> tuple[float, int]:
    """Multiply `value` in place by the matrix of the weights `steps` times.

    The value of state 0 is kept at 1: the log of what it was divided by is returned, and how many
    multiplications were made. They end early where value and product are proportional: if T v <= g
    v then T^m v <= g^m v, as no entry of T is negative, and that is what is returned.
    """
    new = np.empty_like(value)
    log_scale = 0.0
    for made in range(1, steps + 1):
        low, high = np.inf, 0.0
        for s in range(value.size):
            total = 0.0
            begin, to = starts[s], following[s]
            for k in range(starts[s + 1] - begin):
                total += weights[begin + k] * value[to + k]
            new[s] = total
            ratio = total / value[s]
            low, high = min(low, ratio), max(high, ratio)
        if not high < np.inf:
            return np.inf, made
        scale = new[0]
        for s in range(value.size):
            value[s] = max(new[s] / scale, SMALLEST)
        log_scale += math.log(scale)
        growth = math.log(high)
        if growth - math.log(low) <= max(1e-9 * growth, 2.0**-51):
            return log_scale + (steps - made) * growth, made
    return log_scale, steps
