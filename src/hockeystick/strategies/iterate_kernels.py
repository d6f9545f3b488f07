"""Errors of iterates whose learning rates change: A C^-1 is not Toeplitz, and costs O(n^2).

With rates eta and the series g the entry [i, k] is the sum of eta_s g_(s-k) over s = k, ..., i.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from hockeystick._numerics.law import FloatArray

__all__ = ["mean_with_gradient", "squared_rows"]


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
