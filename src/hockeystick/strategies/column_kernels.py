"""Compiled sums over the columns of a strategy: participation patterns, errors of iterates.

The worst participation patterns are those of a matrix with a non-negative Gram matrix G. Where
learning rates eta change, A C^-1 is not Toeplitz and costs O(n^2): with the series g its entry
[i, k] is the sum of eta_s g_(s-k) over s = k, ..., i.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from hockeystick._numerics.law import FloatArray

__all__ = [
    "mean_with_gradient",
    "row_envelopes",
    "squared_rows",
    "toeplitz_envelopes",
    "worst_pattern",
]


@njit(cache=True, nogil=True)
def squared_rows(rates: FloatArray, g: FloatArray) -> FloatArray:
    """Squared length of each row: row i is row i - 1 plus eta_i times g, read backwards."""
    n = rates.size
    row = np.zeros(n)
    result = np.empty(n)
    for i in range(n):
        total = 0.0
        for k in range(i + 1):
            row[k] += rates[i] * g[i - k]
            total += row[k] * row[k]
        result[i] = total
    return result


@njit(cache=True, nogil=True)
def mean_with_gradient(
    rates: FloatArray, g: FloatArray, columns: NDArray[np.int64], weights: FloatArray
) -> tuple[float, FloatArray]:
    """The weighted sum of the squared lengths of the columns, over n, and its gradient in g.

    g_j enters column k from row k + j on, with factor eta_(k+j): the gradient is that factor times
    the sum of the column from there on.
    """
    n = rates.size
    column = np.empty(n)
    gradient = np.zeros(n)
    total = 0.0
    for index in range(columns.size):
        k, weight = columns[index], weights[index] / n
        value, squares = 0.0, 0.0
        for j in range(n - k):
            value += rates[k + j] * g[j]
            column[j] = value
            squares += value * value
        total += weight * squares
        rest = 0.0
        for j in range(n - k - 1, -1, -1):
            rest += column[j]
            gradient[j] += 2.0 * weight * rates[k + j] * rest
    return total, gradient


# Decisions that the dynamic programme stores, 200 MB; beyond it the number of participations is
# taken as unlimited, which is an upper bound as well.
MOST_CHOICES = 2 * 10**8


def toeplitz_envelopes(c: FloatArray, n: int, separation: int) -> FloatArray:
    """E[m, i] = the largest G(i, j) over j >= i + m s for m >= 1, and G(i, i) for m = 0.

    G(i, i + d) is the sum of c_s c_(s + d) over s < n - i - d. O(n * bands) time.
    """
    bands = c.size
    count = (bands - 1) // separation
    result = np.zeros((count + 1, n))
    result[0] = _partial_sums(c * c, n)[::-1]
    running = np.zeros(n)
    for d in range(bands - 1, separation - 1, -1):
        sums = _partial_sums(c[: bands - d] * c[d:], n - d)[::-1]
        np.maximum(running[: n - d], sums, out=running[: n - d])
        if d % separation == 0:
            result[d // separation] = running
    return result


def row_envelopes(gram: FloatArray, separation: int) -> FloatArray:
    """The same for a Gram matrix given in full, symmetric with non-negative entries."""
    n = gram.shape[0]
    count = (n - 1) // separation
    result = np.zeros((count + 1, n))
    result[0] = np.diagonal(gram)
    for i in range(n):
        largest = np.maximum.accumulate(gram[i, i:][::-1])[::-1][separation::separation]
        result[1 : largest.size + 1, i] = largest
    used = np.flatnonzero(result.any(axis=1))
    return result[: int(used[-1]) + 1]


def worst_pattern(
    envelopes: FloatArray, separation: int, participations: int
) -> tuple[float, NDArray[np.int64]]:
    """The bound on the squared sensitivity, and the pattern that maximises it."""
    n = envelopes.shape[1]
    # w[r, i]: the weight of a participation at i that at most r others follow.
    weights = envelopes.copy()
    weights[1:] *= 2.0
    weights = np.cumsum(weights, axis=0)
    if participations * separation >= n or participations * n > MOST_CHOICES:
        value, taken = _maximise_unlimited(weights[-1], separation)
    else:
        value, taken = _maximise(weights, separation, participations)
    return float(value), np.flatnonzero(taken)


def _partial_sums(terms: FloatArray, n: int) -> FloatArray:
    """Sums of the first 1, ..., n terms; there are no terms after the given ones."""
    sums = np.cumsum(terms[:n])
    return np.concatenate((sums, np.full(n - sums.size, sums[-1])))


@njit(cache=True, nogil=True)
def _maximise_unlimited(weights: FloatArray, separation: int) -> tuple[float, NDArray[np.bool_]]:
    """As many participations as fit. A weight counts all that could follow."""
    n = weights.size
    best = np.zeros(n + separation)
    for i in range(n - 1, -1, -1):
        best[i] = max(best[i + 1], weights[i] + best[i + separation])
    taken = np.zeros(n, np.bool_)
    i = 0
    while i < n:
        taken[i] = weights[i] + best[i + separation] >= best[i + 1]
        i += separation if taken[i] else 1
    return best[0], taken


@njit(cache=True, nogil=True)
def _maximise(
    weights: FloatArray, separation: int, participations: int
) -> tuple[float, NDArray[np.bool_]]:
    """At most `participations`: one layer for each number r of participations that may follow."""
    most, n = weights.shape[0] - 1, weights.shape[1]
    before = np.zeros(n + separation)
    here = np.zeros(n + separation)
    takes = np.zeros((participations, n), np.bool_)
    for r in range(participations):
        w = weights[min(r, most)]
        for i in range(n - 1, -1, -1):
            take = w[i] + before[i + separation]
            takes[r, i] = take >= here[i + 1]
            here[i] = take if takes[r, i] else here[i + 1]
        before, here = here, before
        here[:] = 0.0
    taken = np.zeros(n, np.bool_)
    r, i = participations - 1, 0
    while i < n and r >= 0:
        if takes[r, i]:
            taken[i] = True
            i += separation
            r -= 1
        else:
            i += 1
    return before[0], taken
