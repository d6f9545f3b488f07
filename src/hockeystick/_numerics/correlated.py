"""One step of the noise recurrences, block by block so that sums stay in the cache.

`row` holds fresh independent noise on entry and the correlated noise on return; `memory` holds what
the recurrence remembers. Sums are taken in double precision in a fixed order, so that a step gives
the same bits whenever it is repeated.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from hockeystick._numerics.law import FloatArray

__all__ = ["autoregressive", "buffered", "buffered_adjoint", "buffered_divide", "moving_average"]

Rows = NDArray[Any]
# Doubles that are summed at a time: 16 kilobytes.
BLOCK = 2048


@njit(cache=True, nogil=True)
def autoregressive(row: Rows, memory: Rows, c: FloatArray, scale: float, step: int) -> None:
    """y_t = (scale z_t - c_1 y_(t-1) - c_2 y_(t-2) - ...) / c_0; memory is a ring of past y."""
    size = memory.shape[0]
    lags = min(size, step, c.size - 1)
    total = np.empty(BLOCK)
    for start in range(0, row.size, BLOCK):
        stop = min(start + BLOCK, row.size)
        for k in range(start, stop):
            total[k - start] = scale * row[k]
        for j in range(1, lags + 1):
            past = memory[(step - j) % size]
            factor = c[j]
            for k in range(start, stop):
                total[k - start] -= factor * past[k]
        for k in range(start, stop):
            row[k] = total[k - start] / c[0]
    if size > 0:
        memory[step % size] = row


@njit(cache=True, nogil=True)
def moving_average(row: Rows, memory: Rows, d: FloatArray, scale: float, step: int) -> None:
    """y_t = scale (d_0 z_t + d_1 z_(t-1) + ...); memory is a ring of past z."""
    size = memory.shape[0]
    lags = min(size, step, d.size - 1)
    total = np.empty(BLOCK)
    newest = step % max(size, 1)
    for start in range(0, row.size, BLOCK):
        stop = min(start + BLOCK, row.size)
        for k in range(start, stop):
            total[k - start] = d[0] * row[k]
        # The oldest z is read before the newest one takes its place.
        for j in range(1, lags + 1):
            past = memory[(step - j) % size]
            factor = d[j]
            for k in range(start, stop):
                total[k - start] += factor * past[k]
        if size > 0:
            memory[newest, start:stop] = row[start:stop]
        for k in range(start, stop):
            row[k] = scale * total[k - start]


@njit(cache=True, nogil=True)
def buffered(
    row: Rows, memory: Rows, decays: FloatArray, weights: FloatArray, scale: float
) -> None:
    """y = scale z - sum_i w_i s_i, then s_i <- decay_i s_i + y; memory holds the buffers s_i."""
    total = np.empty(BLOCK)
    for start in range(0, row.size, BLOCK):
        stop = min(start + BLOCK, row.size)
        for k in range(start, stop):
            total[k - start] = scale * row[k]
        for i in range(decays.size):
            factor = weights[i]
            for k in range(start, stop):
                total[k - start] -= factor * memory[i, k]
        for k in range(start, stop):
            row[k] = total[k - start]
        for i in range(decays.size):
            factor = decays[i]
            for k in range(start, stop):
                memory[i, k] = factor * memory[i, k] + row[k]


@njit(cache=True, nogil=True)
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
    result: FloatArray = buffered_divide(x[::-1], decays, weights)[::-1]
    return result
