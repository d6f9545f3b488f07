"""One step of the noise recurrences, block by block so that sums stay in the cache.

`row` holds fresh independent noise on entry and the correlated noise on return; `memory` holds what
the recurrence remembers, in the columns from `first` on: the whole array, because loops over parts
of its rows are computed for several numbers at a time only if the rows are known to be contiguous.
Sums are taken in double precision in a fixed order, so that a step gives the same bits whenever it
is repeated.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from hockeystick._numerics.chacha import Words
from hockeystick._numerics.law import FloatArray
from hockeystick.strategies.normals import fill_row

__all__ = [
    "autoregressive",
    "autoregressive_ahead",
    "buffered",
    "buffered_adjoint",
    "buffered_divide",
    "moving_average",
]

Rows = NDArray[Any]
# Doubles that are summed at a time: 64 kilobytes of a second-level cache. Long enough for a
# processor to fetch the rows of the memory ahead, which are far apart.
BLOCK = 8192
# Columns of which several rows are computed while they are in a second-level cache: with 63 rows of
# memory half a megabyte in single precision. A multiple of the tiles of `normals`.
AHEAD_BLOCK = 2048


@njit(cache=True, nogil=True, error_model="numpy")
def autoregressive(
    row: Rows, memory: Rows, first: int, c: FloatArray, scale: float, step: int
) -> None:
    """y_t = (scale z_t - c_1 y_(t-1) - c_2 y_(t-2) - ...) / c_0; memory is a ring of past y."""
    size = memory.shape[0]
    lags = min(size, step, c.size - 1)
    if size == 0:
        for k in range(row.size):
            row[k] = scale * row[k] / c[0]
        return
    total = np.empty(BLOCK)
    for start in range(0, row.size, BLOCK):
        block = row[start : start + BLOCK]
        for k in range(block.size):
            total[k] = scale * block[k]
        _add_past(total, memory, -c, lags, step, first + start, block.size)
        if c[0] == 1.0:
            for k in range(block.size):
                block[k] = total[k]
        else:
            for k in range(block.size):
                block[k] = total[k] / c[0]
        # The oldest row is no longer needed in this block.
        newest = memory[step % size, first + start : first + start + block.size]
        for k in range(block.size):
            newest[k] = block[k]


@njit(cache=True, nogil=True, error_model="numpy")
def autoregressive_ahead(
    memory: Rows,
    first: int,
    count: int,
    start: int,
    head: Words,
    rounds: int,
    c: FloatArray,
    scale: float,
    step: int,
) -> None:
    """Rows of y from `step` on, one for each row of c, into the ring of past y; Z is drawn here.

    For `count` columns from `first` on, whose coordinates begin at `start`. The same numbers as
    those of `autoregressive` row by row, but the memory, which is larger than a cache, is read once
    for all of them. At most as many rows as the ring has.
    """
    fresh = np.empty(AHEAD_BLOCK, memory.dtype)
    done = 0
    while done < count:
        # Up to the next multiple, so that no tile of `normals` is drawn twice.
        length = min(AHEAD_BLOCK - (start + done) % AHEAD_BLOCK, count - done)
        block = fresh[:length]
        for i in range(len(c)):
            fill_row(block, start + done, head, step + i, rounds)
            autoregressive(block, memory, first + done, c[i], scale, step + i)
        done += length


@njit(cache=True, nogil=True, error_model="numpy")
def moving_average(
    row: Rows, memory: Rows, first: int, d: FloatArray, scale: float, step: int
) -> None:
    """y_t = scale (d_0 z_t + d_1 z_(t-1) + ...); memory is a ring of past z."""
    size = memory.shape[0]
    lags = min(size, step, d.size - 1)
    total = np.empty(BLOCK)
    for start in range(0, row.size, BLOCK):
        block = row[start : start + BLOCK]
        for k in range(block.size):
            total[k] = d[0] * block[k]
        _add_past(total, memory, d, lags, step, first + start, block.size)
        if size > 0:
            newest = memory[step % size, first + start : first + start + block.size]
            for k in range(block.size):
                newest[k] = block[k]
        for k in range(block.size):
            block[k] = scale * total[k]


@njit(cache=True, nogil=True, error_model="numpy")
def _add_past(
    total: FloatArray,
    memory: Rows,
    factors: FloatArray,
    lags: int,
    step: int,
    start: int,
    count: int,
) -> None:
    """Add factors_j times the row of j steps ago, several rows at a time: sums stay in registers.

    In the order of j, so that it is the same sum however many rows are taken at a time.
    """
    size = memory.shape[0]
    j = 1
    while j + 7 <= lags:
        a = memory[(step - j) % size, start : start + count]
        b = memory[(step - j - 1) % size, start : start + count]
        c = memory[(step - j - 2) % size, start : start + count]
        d = memory[(step - j - 3) % size, start : start + count]
        e = memory[(step - j - 4) % size, start : start + count]
        f = memory[(step - j - 5) % size, start : start + count]
        g = memory[(step - j - 6) % size, start : start + count]
        h = memory[(step - j - 7) % size, start : start + count]
        fa, fb, fc, fd = factors[j], factors[j + 1], factors[j + 2], factors[j + 3]
        fe, ff, fg, fh = factors[j + 4], factors[j + 5], factors[j + 6], factors[j + 7]
        for k in range(count):
            near = total[k] + fa * a[k] + fb * b[k] + fc * c[k] + fd * d[k]
            total[k] = near + fe * e[k] + ff * f[k] + fg * g[k] + fh * h[k]
        j += 8
    while j + 3 <= lags:
        a = memory[(step - j) % size, start : start + count]
        b = memory[(step - j - 1) % size, start : start + count]
        c = memory[(step - j - 2) % size, start : start + count]
        d = memory[(step - j - 3) % size, start : start + count]
        fa, fb, fc, fd = factors[j], factors[j + 1], factors[j + 2], factors[j + 3]
        for k in range(count):
            total[k] = total[k] + fa * a[k] + fb * b[k] + fc * c[k] + fd * d[k]
        j += 4
    while j + 1 <= lags:
        a = memory[(step - j) % size, start : start + count]
        b = memory[(step - j - 1) % size, start : start + count]
        fa, fb = factors[j], factors[j + 1]
        for k in range(count):
            total[k] = total[k] + fa * a[k] + fb * b[k]
        j += 2
    while j <= lags:
        a = memory[(step - j) % size, start : start + count]
        fa = factors[j]
        for k in range(count):
            total[k] += fa * a[k]
        j += 1


@njit(cache=True, nogil=True, error_model="numpy")
def buffered(
    row: Rows, memory: Rows, first: int, decays: FloatArray, weights: FloatArray, scale: float
) -> None:
    """y = scale z - sum_i w_i s_i, then s_i <- decay_i s_i + y; memory holds the buffers s_i."""
    total = np.empty(BLOCK)
    for start in range(0, row.size, BLOCK):
        block = row[start : start + BLOCK]
        for k in range(block.size):
            total[k] = scale * block[k]
        for i in range(decays.size):
            buffer, factor = memory[i, first + start : first + start + block.size], weights[i]
            for k in range(block.size):
                total[k] -= factor * buffer[k]
        for k in range(block.size):
            block[k] = total[k]
        for i in range(decays.size):
            buffer, factor = memory[i, first + start : first + start + block.size], decays[i]
            for k in range(block.size):
                buffer[k] = factor * buffer[k] + block[k]


@njit(cache=True, nogil=True, error_model="numpy")
def buffered_divide(x: FloatArray, decays: FloatArray, weights: FloatArray) -> FloatArray:
    """The series x / C for C = 1 + sum_i w_i z / (1 - decay_i z), in O(n * buffers)."""
    buffers = np.zeros(decays.size)
    y = np.empty(x.size)
    for t in range(x.size):
        value = x[t]
        for i in range(decays.size):
            value -= weights[i] * buffers[i]
        y[t] = value
        for i in range(decays.size):
            buffers[i] = decays[i] * buffers[i] + value
    return y


def buffered_adjoint(x: FloatArray, decays: FloatArray, weights: FloatArray) -> FloatArray:
    """The transposed inverse matrix applied to x: the same recursion, run backwards."""
    backwards = np.ascontiguousarray(x[::-1])
    result: FloatArray = buffered_divide(backwards, decays, weights)[::-1]
    return result
