"""Balls on a line of bins that attract each other: tables and draws; compiled.

A state before bin t holds how many balls lie in each of the slots of the bins before it, and how
many are left. Counts n_1, ..., n_m whose sum is at most `most` are numbered without gaps by
sum_i C(R_i + i, i) - C(R_i - n_i + i, i), R_i = most less all n_j with j > i. The last count is
that of the balls that are left.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit
from numpy.typing import NDArray

from hockeystick._numerics.law import FloatArray

__all__ = ["advance", "draw_balls", "fill_values", "log_weights_of", "number_of"]

IntArray = NDArray[np.int64]


@njit(cache=True, nogil=True)
def number_of(n: IntArray, size: int, most: int, ways: IntArray) -> int:
    """The number of a state whose first `size` counts add up to `most` at most."""
    left, number = most, 0
    for i in range(size, 0, -1):
        number += ways[left + i, i] - ways[left - n[i - 1] + i, i]
        left -= n[i - 1]
    return number


@njit(cache=True, nogil=True)
def advance(n: IntArray, size: int, most: int) -> None:
    """The next state: the first count that can grow does, those before it start again."""
    free = most
    for i in range(size):
        free -= n[i]
    i = 0
    while i < size:
        if free > 0:
            n[i] += 1
            return
        free += n[i]
        n[i] = 0
        i += 1


@njit(cache=True, nogil=True)
def _follow(n: IntArray, size: int, k: int, after: int, moves: IntArray, out: IntArray) -> None:
    """The state after k balls in this bin; moves[i] is the new slot of slot i, -1 for none."""
    out[: after + 1] = 0
    for i in range(size):
        if moves[i] >= 0:
            out[moves[i]] += n[i]
    if moves[size] >= 0:
        out[moves[size]] += k
    out[after] = n[size] - k


@njit(cache=True, nogil=True)
def fill_values(
    balls: int,
    sizes: IntArray,
    moves: IntArray,
    pulls: FloatArray,
    together: FloatArray,
    ways: IntArray,
    starts: IntArray,
    values: FloatArray,
) -> None:
    """values[starts[t] + s] is the total weight of bins t, t + 1, ... from state s.

    There are sizes[t] slots before bin t, whose balls attract one in bin t by pulls[t]; k balls in
    one bin have the weight together[k] of their own.
    """
    bins = sizes.size - 1
    width = moves.shape[1] + 1
    n, following = np.zeros(width, np.int64), np.zeros(width, np.int64)
    for s in range(starts[bins + 1] - starts[bins]):
        values[starts[bins] + s] = 1.0 if n[sizes[bins]] == 0 else 0.0
        advance(n, sizes[bins] + 1, balls)
    for t in range(bins - 1, -1, -1):
        n[:] = 0
        size, after = sizes[t], sizes[t + 1]
        for s in range(starts[t + 1] - starts[t]):
            field = 0.0
            for i in range(size):
                field += n[i] * pulls[t, i]
            total, factor, growth = 0.0, 1.0, math.exp(field)
            for k in range(n[size] + 1):
                _follow(n, size, k, after, moves[t], following)
                target = starts[t + 1] + number_of(following, after + 1, balls, ways)
                total += factor * together[k] * values[target]
                factor *= growth
            values[starts[t] + s] = total
            advance(n, size + 1, balls)


@njit(cache=True, nogil=True)
def draw_balls(
    rng: np.random.Generator,
    balls: int,
    sizes: IntArray,
    moves: IntArray,
    pulls: FloatArray,
    together: FloatArray,
    ways: IntArray,
    starts: IntArray,
    values: FloatArray,
    where: IntArray,
    times: IntArray,
    number: IntArray,
) -> None:
    """Rows of bins with the balls in them, in proportion to their weight on a line.

    The line begins at a bin that is drawn uniformly, on the ring.
    """
    bins, width = sizes.size - 1, moves.shape[1] + 1
    n, following = np.zeros(width, np.int64), np.zeros(width, np.int64)
    chosen = np.zeros(width, np.int64)
    for d in range(number.size):
        first, count = int(rng.random() * bins), 0
        n[:] = 0
        n[sizes[0]] = balls
        value = values[starts[0] + balls]
        for t in range(bins):
            size, after = sizes[t], sizes[t + 1]
            left = n[size]
            if left == 0:
                break
            field = 0.0
            for i in range(size):
                field += n[i] * pulls[t, i]
            # The value of a state is the sum over k of what is added up here.
            u, reached, factor, growth = rng.random() * value, 0.0, 1.0, math.exp(field)
            k, taken, after_value = -1, 0, 0.0
            while k < left and (k < 0 or u >= reached):
                k += 1
                _follow(n, size, k, after, moves[t], following)
                target = starts[t + 1] + number_of(following, after + 1, balls, ways)
                if values[target] > 0.0:
                    taken, after_value = k, values[target]
                    chosen[:] = following
                reached += factor * together[k] * values[target]
                factor *= growth
            if taken > 0:
                where[d, count], times[d, count] = (first + t) % bins, taken
                count += 1
            n[:] = chosen
            value = after_value
        number[d] = count


@njit(cache=True, nogil=True)
def log_weights_of(
    where: IntArray,
    times: IntArray,
    number: IntArray,
    attraction: FloatArray,
    gram: FloatArray,
    own: float,
    attractions: FloatArray,
    logs: FloatArray,
) -> None:
    """The true attraction of each row, and log of its weight over the sum over all lines.

    attraction[t, x] is that of balls in bins t and x < t of a line, gram that of bins on the ring.
    """
    bins = gram.shape[0]
    tables, place = np.empty(bins), np.empty(where.shape[1], np.int64)
    for d in range(number.size):
        true, within = 0.0, 0.0
        for i in range(number[d]):
            x, k = where[d, i], times[d, i]
            true += gram[x, x] * (k * (k - 1) / 2)
            within += own * (k * (k - 1) / 2)
            for j in range(i):
                true += k * times[d, j] * gram[x, where[d, j]]
        top = -np.inf
        for first in range(bins):
            for i in range(number[d]):
                place[i] = (where[d, i] - first) % bins
            total = within
            for i in range(number[d]):
                for j in range(i):
                    later, earlier = max(place[i], place[j]), min(place[i], place[j])
                    total += times[d, i] * times[d, j] * attraction[later, earlier]
            tables[first] = total
            top = max(top, total)
        lines = 0.0
        for first in range(bins):
            lines += math.exp(tables[first] - top)
        attractions[d] = true
        logs[d] = true - top - math.log(lines)
