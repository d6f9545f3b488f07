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

# Indices without a sign are not checked for one, which halves the time of `spread`.
ZERO, ONE = np.uint64(0), np.uint64(1)
# So many columns of a few rows fit the nearest cache.
COLUMNS = 512


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
    last = np.uint64(nodes.size - 1)
    inverse = _inverse_lengths(nodes)
    for x in range(table.shape[0]):
        begin, end = _occupied(table[x])
        row, stop = table[x], np.uint64(end)
        for m in range(weights.size):
            step, chance, target = increments[x, m], weights[m], result[m if moves else x]
            # What the two nodes of cell k have got is kept in registers until the cell is left.
            j, low, high = np.uint64(begin), 0.0, 0.0
            k = _cell(nodes, sums[j] + step) if j < stop else ZERO
            left, right, share = nodes[k], nodes[min(k + ONE, last)], inverse[k]
            while j < stop:
                s = sums[j] + step
                if s >= right:
                    if s >= nodes[last]:
                        break
                    target[k] += low
                    low, high = high, 0.0
                    k += ONE
                    if nodes[k + ONE] <= s:
                        target[k] += low
                        low = 0.0
                        while nodes[k + ONE] <= s:
                            k += ONE
                    left, right, share = nodes[k], nodes[k + ONE], inverse[k]
                mass = row[j] * chance
                up = mass * min(max(s - left, 0.0) * share, 1.0)
                high += up
                low += mass - up
                j += ONE
            target[k] += low
            if high > 0.0:
                target[k + ONE] += high
            while j < stop:
                mass = row[j] * chance
                target[last] += mass
                excess += mass * (sums[j] + step - nodes[last])
                j += ONE
    return excess


@njit(cache=True, nogil=True)
def _inverse_lengths(nodes: FloatArray) -> FloatArray:
    """One over the length of each cell; nothing is shared out beyond the last node."""
    result = np.zeros(nodes.size)
    for k in range(nodes.size - 1):
        length = nodes[k + 1] - nodes[k]
        result[k] = 1.0 / length if length > 0 else np.inf
    return result


@njit(cache=True, nogil=True)
def _cell(nodes: FloatArray, s: float) -> np.uint64:
    """The last cell that begins at or below a sum, or the first one."""
    low, high = ZERO, np.uint64(nodes.size - 1)
    while low + ONE < high:
        middle = (low + high) >> ONE
        if nodes[middle] <= s:
            low = middle
        else:
            high = middle
    return low


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
    last = np.uint64(nodes.size - 1)
    for x in range(table.shape[0]):
        begin, end = _occupied(table[x])
        row, stop = table[x], np.uint64(end)
        for m in range(weights.size):
            step, chance, j = increments[x, m], weights[m], np.uint64(begin)
            k = _cell(nodes, sums[j] + step) if j < stop else ZERO
            while j < stop:
                s = sums[j] + step
                while k < last and nodes[k + ONE] <= s:
                    k += ONE
                result[k] += row[j] * chance
                j += ONE


@njit(cache=True, nogil=True, fastmath={"contract"})
def product(weights: FloatArray, first: IntArray, last: IntArray, table: FloatArray) -> FloatArray:
    """weights @ table, where row x of the weights is zero outside first[x] <= y < last[x].

    Blocks of four by four weights at a time, so that sums stay in registers, and columns that fit
    the nearest cache; columns without mass are passed over. In the interpreter's threads, unlike
    the products of a linear algebra library. Slices, because their indices need no check of signs.
    """
    rows, states = weights.shape
    whole = np.zeros((rows + -rows % 4, states + -states % 4))
    for x in range(rows):
        for y in range(states):
            whole[x, y] = weights[x, y]
    source = np.zeros((whole.shape[1], table.shape[1]))
    for y in range(states):
        for j in range(table.shape[1]):
            source[y, j] = table[y, j]
    result = np.zeros((whole.shape[0], table.shape[1]))
    begin, end = _columns(table)
    for start in range(begin, end, COLUMNS):
        stop = min(start + COLUMNS, end)
        for x in range(0, rows, 4):
            low, high = first[x : x + 4].min(), last[x : x + 4].max()
            for y in range(low - low % 4, high, 4):
                _add_block(
                    whole[x : x + 4, y : y + 4],
                    source[y : y + 4, start:stop],
                    result[x : x + 4, start:stop],
                )
    return result[:rows]


@njit(cache=True, nogil=True, fastmath={"contract"})
def _add_block(w: FloatArray, source: FloatArray, result: FloatArray) -> None:
    """result += w @ source, for four by four weights."""
    s0, s1, s2, s3 = source[0], source[1], source[2], source[3]
    r0, r1, r2, r3 = result[0], result[1], result[2], result[3]
    a0, a1, a2, a3 = w[0, 0], w[0, 1], w[0, 2], w[0, 3]
    b0, b1, b2, b3 = w[1, 0], w[1, 1], w[1, 2], w[1, 3]
    c0, c1, c2, c3 = w[2, 0], w[2, 1], w[2, 2], w[2, 3]
    d0, d1, d2, d3 = w[3, 0], w[3, 1], w[3, 2], w[3, 3]
    for j in range(s0.size):
        t, u, v, z = s0[j], s1[j], s2[j], s3[j]
        r0[j] += a0 * t + a1 * u + a2 * v + a3 * z
        r1[j] += b0 * t + b1 * u + b2 * v + b3 * z
        r2[j] += c0 * t + c1 * u + c2 * v + c3 * z
        r3[j] += d0 * t + d1 * u + d2 * v + d3 * z


@njit(cache=True, nogil=True)
def _columns(table: FloatArray) -> tuple[int, int]:
    """The columns that hold mass in any row."""
    begin, end = table.shape[1], 0
    for x in range(table.shape[0]):
        first, last = _occupied(table[x])
        if first < last:
            begin, end = min(begin, first), max(end, last)
    return begin, end
