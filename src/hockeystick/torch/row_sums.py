"""Squared norms of rows and weighted sums of rows, in double precision whatever the rows are in.

Products and additions round. The sum of n products, in any order, has an error of at most
(n + 1) * 1.12e-16 times the sum of their absolute values.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from hockeystick._numerics.law import FloatArray

__all__ = ["add_squares", "add_weighted_rows"]

# Columns whose sums (16 kB) fit into the smallest cache.
BLOCK = 2048


@njit(cache=True, nogil=True, fastmath={"contract", "reassoc"})
def add_squares(rows: FloatArray, squares: FloatArray) -> None:
    """Add the sum of squares of each row to `squares`."""
    for i in range(len(rows)):
        row, total = rows[i], 0.0
        for k in range(row.size):
            total += np.float64(row[k]) * np.float64(row[k])
        squares[i] += total


@njit(cache=True, nogil=True)
def add_weighted_rows(
    rows: FloatArray, weights: FloatArray, total: FloatArray, first: int, last: int
) -> None:
    """Add columns first to last of the rows, each row times its weight, to `total`.

    Block by block of columns, and four rows at a time: what is summed stays in the cache.
    """
    count = len(rows)
    for start in range(first, last, BLOCK):
        end = min(start + BLOCK, last)
        sums = total[start:end]
        for i in range(0, count - 3, 4):
            a, b, c, d = weights[i], weights[i + 1], weights[i + 2], weights[i + 3]
            p, q = rows[i, start:end], rows[i + 1, start:end]
            r, s = rows[i + 2, start:end], rows[i + 3, start:end]
            for k in range(end - start):
                sums[k] += (a * np.float64(p[k]) + b * np.float64(q[k])) + (
                    c * np.float64(r[k]) + d * np.float64(s[k])
                )
        for i in range(count - count % 4, count):
            a, p = weights[i], rows[i, start:end]
            for k in range(end - start):
                sums[k] += a * np.float64(p[k])
