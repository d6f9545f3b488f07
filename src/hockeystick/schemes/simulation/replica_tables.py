"""Tables for tuples of replicas: states, weights of moves, values by steps left; compiled.

A state holds n_1, ..., n_r: how many replicas took part 1, ..., r = separation - 1 steps ago and
rest; the others may join. Where a participation may have several copies of an example, every age
has a count for each number of copies, the smallest first. At most `most` of them are followed.
States are numbered as in balls_in_bins/tuple_kernels.py. If more would rest, the oldest are let go:
they count as those who may join, and the move is charged with what that leaves out (`fill_moves`).
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit
from numpy.typing import NDArray

from hockeystick._numerics.law import FloatArray
from hockeystick.schemes.balls_in_bins.tuple_kernels import advance, number_of

__all__ = [
    "IntArray",
    "cumulative_moves",
    "fill_moves",
    "first_values",
    "row_starts",
    "settled_values",
    "values_by_steps_left",
]

IntArray = NDArray[np.int64]

# What one weight may lose to floating point, for each unit of its exponents.
WEIGHT_ROUNDING = 2.0**-50


@njit(cache=True, nogil=True)
def row_starts(
    order: int, most: int, slots: int, copies: int, states: int, ways: IntArray
) -> IntArray:
    """Where the moves of each state begin: one for all numbers that may join, by their copies."""
    starts = np.zeros(states + 1, np.int64)
    n = np.zeros(slots, np.int64)
    for s in range(states):
        resting = n.sum()
        starts[s + 1] = starts[s] + ways[order - resting + copies, copies]
        advance(n, n.size, most)
    return starts


@njit(cache=True, nogil=True)
def _let_go(
    n: IntArray, over: int, others: int, copies: int, most_pull: FloatArray, log_miss: float
) -> float:
    """Take the `over` oldest out of a state; the sum of their charges.

    `others` are neither followed nor let go here. Those let go who are older than another one rest
    no longer than it and may join while it still would, with all copies.
    """
    total, i = 0.0, n.size - 1
    while over > 0:
        if n[i] > 0:
            age, held = i // copies + 1, i % copies + 1
            total += others * held * copies * most_pull[age]
            total -= (n.size // copies - age + 1) * log_miss
            n[i] -= 1
            over -= 1
            others += 1
        else:
            i -= 1
    return total


@njit(cache=True, nogil=True)
def fill_moves(
    order: int,
    most: int,
    ways: IntArray,
    log_rates: FloatArray,
    log_miss: float,
    pulls: FloatArray,
    starts: IntArray,
    weights: FloatArray,
    targets: NDArray[np.int32],
    charges: FloatArray,
    joined: NDArray[np.int16],
) -> None:
    """For every state and numbers that join: the weight, the next state, the charge.

    `joined` are the numbers of replicas that join with 1, 2, ... copies, with e^log_rates as their
    probabilities. The weight is the probability of these numbers among the eligible, times
    e^(attraction): pulls[0] for a pair that joins together, pulls[d] for one that joins d steps
    apart, each times the copies of both. A replica of age d that is let go would have been excluded
    for another r - d + 1 steps, in which it now misses each with e^log_miss; and it would have
    attracted those who may join until then. Those still followed are younger and rest longer, so
    that these are the others at most, and older ones that are let go with it; each joins once at
    most. The charge is the logarithm of what makes up for both.
    """
    ages, copies = pulls.size - 1, log_rates.size
    most_pull = np.zeros(ages + 2)
    for d in range(ages, 0, -1):
        most_pull[d] = max(most_pull[d + 1], pulls[d])
    n, following = np.zeros(ages * copies, np.int64), np.zeros(ages * copies, np.int64)
    k = np.zeros(copies, np.int64)
    for s in range(starts.size - 1):
        resting, gain = n.sum(), 0.0
        for i in range(n.size):
            gain += pulls[i // copies + 1] * (n[i] * (i % copies + 1))
        eligible = order - resting
        k[:] = 0
        for move in range(starts[s], starts[s + 1]):
            number, held, squares, chance, ways_to = 0, 0, 0, 0.0, math.lgamma(eligible + 1.0)
            for c in range(copies):
                number += k[c]
                held += k[c] * (c + 1)
                squares += k[c] * (c + 1) ** 2
                chance += k[c] * log_rates[c]
                ways_to -= math.lgamma(k[c] + 1.0)
                joined[move, c] = k[c]
            ways_to -= math.lgamma(eligible - number + 1.0)
            chance += (eligible - number) * log_miss
            charge = 0.0
            if ages > 0:
                following[copies:] = n[: n.size - copies]
                following[:copies] = k
                over = following.sum() - most
                if over > 0:
                    others = order - most - over
                    charge = _let_go(following, over, others, copies, most_pull, log_miss)
            pairs = held * gain + pulls[0] * ((held * held - squares) / 2)
            size = pairs + charge + 3 * math.lgamma(eligible + 1.0) + abs(chance) + 4 * copies
            weights[move] = math.exp(ways_to + chance + pairs + charge + WEIGHT_ROUNDING * size)
            targets[move] = number_of(following, following.size, most, ways)
            charges[move] = charge
            advance(k, copies, eligible)
        advance(n, n.size, most)


@njit(cache=True, nogil=True)
def _step_back(
    starts: IntArray,
    weights: FloatArray,
    targets: NDArray[np.int32],
    value: FloatArray,
    new: FloatArray,
) -> tuple[float, float]:
    """new = weights times value; the smallest and the largest ratio of the two."""
    low, high = np.inf, 0.0
    for s in range(value.size):
        total = 0.0
        for move in range(starts[s], starts[s + 1]):
            total += weights[move] * value[targets[move]]
        new[s] = total
        ratio = total / value[s]
        low, high = min(low, ratio), max(high, ratio)
    return low, high


@njit(cache=True, nogil=True)
def values_by_steps_left(
    starts: IntArray, weights: FloatArray, targets: NDArray[np.int32], tables: FloatArray
) -> float:
    """tables[j] is the total weight of j steps from each state, relative to that of state 0.

    Returns the logarithm of what the last row was divided by.
    """
    log = 0.0
    tables[0] = 1.0
    for j in range(1, tables.shape[0]):
        _step_back(starts, weights, targets, tables[j - 1], tables[j])
        scale = tables[j, 0]
        for s in range(tables.shape[1]):
            tables[j, s] /= scale
        log += math.log(scale)
    return log


@njit(cache=True, nogil=True)
def first_values(
    starts: IntArray,
    weights: FloatArray,
    targets: NDArray[np.int32],
    number: IntArray,
    joined: FloatArray,
    missed: FloatArray,
    tables: FloatArray,
) -> float:
    """Fill tables[t], the values at step t, from the last row, which is given.

    number[move] replicas join in a move. In step t a replica joins with joined[t] times the usual
    probability, and misses it with missed[t] times. Returns the logarithm of what the first row was
    divided by.
    """
    log = 0.0
    for t in range(tables.shape[0] - 2, -1, -1):
        value, new = tables[t + 1], tables[t]
        for s in range(value.size):
            # The last move is that of all who are eligible.
            total, eligible = 0.0, number[starts[s + 1] - 1]
            for move in range(starts[s], starts[s + 1]):
                k = number[move]
                factor = joined[t] ** k * missed[t] ** (eligible - k)
                total += factor * weights[move] * value[targets[move]]
            new[s] = total
        scale = new[0]
        for s in range(new.size):
            new[s] /= scale
        log += math.log(scale)
    return log


@njit(cache=True, nogil=True)
def settled_values(
    starts: IntArray,
    weights: FloatArray,
    targets: NDArray[np.int32],
    first: FloatArray,
    tolerance: float,
    most: int,
) -> tuple[FloatArray, float, float]:
    """A positive v with low v <= T v <= high v, T the weights; log low and log high.

    By powers, until the two are within the tolerance or `most` steps are made.
    """
    value, new = first.copy(), np.empty_like(first)
    low, high = 0.0, np.inf
    for _ in range(most):
        low, high = _step_back(starts, weights, targets, value, new)
        if not (low > 0 and high < np.inf) or math.log(high) - math.log(low) <= tolerance:
            break
        for s in range(value.size):
            value[s] = new[s] / new[0]
    return value, math.log(low) if low > 0 else -np.inf, math.log(high)


@njit(cache=True, nogil=True)
def cumulative_moves(
    starts: IntArray, weights: FloatArray, targets: NDArray[np.int32], value: FloatArray
) -> FloatArray:
    """For every state the cumulative probabilities of its moves, as weight * value."""
    cumulative = np.empty(weights.size)
    for s in range(value.size):
        total = 0.0
        for move in range(starts[s], starts[s + 1]):
            total += weights[move] * value[targets[move]]
            cumulative[move] = total
        for move in range(starts[s], starts[s + 1]):
            cumulative[move] /= total
    return cumulative
