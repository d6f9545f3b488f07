"""Compiled shifts of partial sums; importing this module imports Numba.

Row x of a table holds the masses of the partial sums s while the chain is in state x. Adding a bin
moves s by an increment that depends on x, and rounds it onto new nodes: `spread` splits every mass
between two nodes so that the mean is kept, an upper bound in convex order; `gather` keeps the mass
and the first moment of every cell, that is merges at barycentres, a lower bound.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from hockeystick._numerics.law import FloatArray

__all__ = ["gather", "probe", "product", "prune", "spread"]

IntArray = NDArray[np.int64]


@njit(cache=True, nogil=True)
def prune(
    table: FloatArray, sums: FloatArray, worth: FloatArray, slope: float, tiny: float
) -> float:
    """Clear the ends of every row that are worth less than `tiny` each; their total is returned.

    A mass at the sum s in row x is worth mass * (worth[x] + slope * s).
    """
    total = 0.0
    size = sums.size
    for x in range(table.shape[0]):
        for ends in range(2):
            for k in range(size):
                j = k if ends == 0 else size - 1 - k
                if table[x, j] == 0.0:
                    continue
                value = table[x, j] * (worth[x] + slope * sums[j])
                if value > tiny:
                    break
                total += value
                table[x, j] = 0.0
    return total


@njit(cache=True, nogil=True)
def spread(
    table: FloatArray,
    sums: FloatArray,
    increments: FloatArray,
    weights: FloatArray,
    nodes: FloatArray,
    result: FloatArray,
    moves: bool,
) -> float:
    """Add to `result` what the masses become; the mean that lies above the last node is returned.

    Row x grows by increments[x, m] with the probability weights[m]. It stays row x of the result,
    or with `moves` it becomes row m. Both `sums` and `nodes` increase; no sum falls below nodes[0].
    """
    excess = 0.0
    last = nodes.size - 1
    inverse = 1.0 / np.diff(nodes)
    for x in range(table.shape[0]):
        begin, end = _occupied(table[x])
        for m in range(weights.size):
            step, row = increments[x, m], m if moves else x
            k = 0
            for j in range(begin, end):
                mass = table[x, j] * weights[m]
                s = sums[j] + step
                if s >= nodes[last]:
                    result[row, last] += mass
                    excess += mass * (s - nodes[last])
                    continue
                while nodes[k + 1] <= s:
                    k += 1
                up = mass * min(max(s - nodes[k], 0.0) * inverse[k], 1.0)
                result[row, k + 1] += up
                result[row, k] += mass - up
    return excess


@njit(cache=True, nogil=True)
def _occupied(row: FloatArray) -> tuple[int, int]:
    """The first index with mass, and the one after the last."""
    begin, end = 0, row.size
    while begin < end and row[begin] == 0.0:
        begin += 1
    while end > begin and row[end - 1] == 0.0:
        end -= 1
    return begin, end


@njit(cache=True, nogil=True)
def gather(
    table: FloatArray,
    moment: FloatArray,
    increments: FloatArray,
    weights: FloatArray,
    nodes: FloatArray,
    result: FloatArray,
    result_moment: FloatArray,
    moves: bool,
) -> None:
    """The same for masses and first moments of cells; the last cell has no upper end."""
    last = nodes.size - 1
    for x in range(table.shape[0]):
        begin, end = _occupied(table[x])
        for m in range(weights.size):
            step, row = increments[x, m], m if moves else x
            k = 0
            for j in range(begin, end):
                mass = table[x, j]
                if mass == 0.0:
                    continue
                s = moment[x, j] / mass + step
                while k > 0 and nodes[k] > s:
                    k -= 1
                while k < last and nodes[k + 1] <= s:
                    k += 1
                result[row, k] += mass * weights[m]
                result_moment[row, k] += weights[m] * (moment[x, j] + mass * step)


@njit(cache=True, nogil=True)
def probe(
    table: FloatArray,
    sums: FloatArray,
    increments: FloatArray,
    weights: FloatArray,
    nodes: FloatArray,
    result: FloatArray,
) -> None:
    """Where the masses of all rows would go, to the node below; only used to place a grid."""
    last = nodes.size - 1
    for x in range(table.shape[0]):
        begin, end = _occupied(table[x])
        for m in range(weights.size):
            k = 0
            for j in range(begin, end):
                s = sums[j] + increments[x, m]
                while k < last and nodes[k + 1] <= s:
                    k += 1
                result[k] += table[x, j] * weights[m]


@njit(cache=True, nogil=True)
def product(weights: FloatArray, first: IntArray, last: IntArray, table: FloatArray) -> FloatArray:
    """weights @ table, where row x of the weights is zero outside first[x] <= y < last[x].

    Four rows of the table at a time, so that sums stay in registers; columns without mass are
    passed over. In the interpreter's threads, unlike the products of a linear algebra library.
    """
    rows, size = weights.shape[0], table.shape[1]
    result = np.zeros((rows, size))
    begin, end = _columns(table)
    for x in range(rows):
        y = first[x]
        target = result[x]
        while y + 3 < last[x]:
            a, b, c, d = weights[x, y], weights[x, y + 1], weights[x, y + 2], weights[x, y + 3]
            for j in range(begin, end):
                target[j] += (
                    a * table[y, j]
                    + b * table[y + 1, j]
                    + c * table[y + 2, j]
                    + d * table[y + 3, j]
                )
            y += 4
        while y < last[x]:
            a = weights[x, y]
            for j in range(begin, end):
                target[j] += a * table[y, j]
            y += 1
    return result


@njit(cache=True, nogil=True)
def _columns(table: FloatArray) -> tuple[int, int]:
    """The columns that hold mass in any row."""
    begin, end = table.shape[1], 0
    for x in range(table.shape[0]):
        first, last = _occupied(table[x])
        if first < last:
            begin, end = min(begin, first), max(end, last)
    return begin, end
