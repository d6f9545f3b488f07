"""A few steps of the noise recurrences at a time, block by block so that sums stay in the cache.

`memory` holds, a row each, what the recurrence remembers and fresh independent noise, and the
correlated noise on return; which is where is said below. Sums are taken in double precision in a
fixed order, so that a step gives the same bits whenever it is repeated.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from hockeystick._numerics.law import FloatArray

__all__ = ["autoregressive", "buffered", "buffered_adjoint", "buffered_divide", "moving_average"]

Rows = NDArray[Any]
# Doubles that are summed at a time: 8 kilobytes.
BLOCK = 1024


@njit(cache=True, nogil=True)
def autoregressive(memory: Rows, c: FloatArray, scale: float, step: int) -> None:
    """y_t = (scale z_t - c_1 y_(t-1) - c_2 y_(t-2) - ...) / c_0, with a row of c for each step.

    Memory is a ring: row t of y, and of z before, is at t modulo its size.
    """
    size, width = memory.shape
    total = np.empty(BLOCK)
    factors = -c / c[:, :1]
    for start in range(0, width, BLOCK):
        count = min(BLOCK, width - start)
        for k in range(c.shape[0]):
            t = step + k
            row, fresh = memory[t % size, start : start + count], scale / c[k, 0]
            for i in range(count):
                total[i] = fresh * row[i]
            _add_past(total, memory, factors[k], (min(t, c.shape[1] - 1), t, start, count))
            for i in range(count):
                row[i] = total[i]


@njit(cache=True, nogil=True)
def moving_average(memory: Rows, d: FloatArray, scale: float, step: int, together: int) -> None:
    """y_t = scale (d_0 z_t + d_1 z_(t-1) + ...) for one step, or for several `together`.

    Memory is a ring of d.size - 1 more rows than are made together: row t of z is at t modulo its
    size, and row t of y takes the place of the oldest z, which no later step needs.
    """
    size, width = memory.shape
    total = np.empty(BLOCK)
    factors = scale * d
    for start in range(0, width, BLOCK):
        count = min(BLOCK, width - start)
        for t in range(step, step + together):
            row = memory[t % size, start : start + count]
            for i in range(count):
                total[i] = factors[0] * row[i]
            _add_past(total, memory, factors, (min(t, d.size - 1), t, start, count))
            row = memory[(t - d.size + 1) % size, start : start + count]
            for i in range(count):
                row[i] = total[i]


@njit(cache=True, nogil=True)
def _add_past(
    total: FloatArray, memory: Rows, factors: FloatArray, where: tuple[int, int, int, int]
) -> None:
    """Add factors_j times the row of j steps ago, four rows at a time: sums stay in registers."""
    lags, step, start, count = where
    size = memory.shape[0]
    j = 1
    while j + 3 <= lags:
        a = memory[(step - j) % size, start : start + count]
        b = memory[(step - j - 1) % size, start : start + count]
        c = memory[(step - j - 2) % size, start : start + count]
        d = memory[(step - j - 3) % size, start : start + count]
        fa, fb, fc, fd = factors[j], factors[j + 1], factors[j + 2], factors[j + 3]
        for k in range(count):
            total[k] = total[k] + fa * a[k] + fb * b[k] + fc * c[k] + fd * d[k]
        j += 4
    while j <= lags:
        a = memory[(step - j) % size, start : start + count]
        fa = factors[j]
        for k in range(count):
            total[k] += fa * a[k]
        j += 1


@njit(cache=True, nogil=True)
def buffered(memory: Rows, decays: FloatArray, weights: FloatArray, scale: float) -> None:
    """y = scale z - sum_i w_i s_i, then s_i <- decay_i s_i + y; the last row is z, then y."""
    width = memory.shape[1]
    total = np.empty(BLOCK)
    for start in range(0, width, BLOCK):
        count = min(BLOCK, width - start)
        row = memory[decays.size, start : start + count]
        for k in range(count):
            total[k] = scale * row[k]
        for i in range(decays.size):
            buffer, factor = memory[i, start : start + count], weights[i]
            for k in range(count):
                total[k] -= factor * buffer[k]
        for k in range(count):
            row[k] = total[k]
        for i in range(decays.size):
            buffer, factor = memory[i, start : start + count], decays[i]
            for k in range(count):
                buffer[k] = factor * buffer[k] + row[k]


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
