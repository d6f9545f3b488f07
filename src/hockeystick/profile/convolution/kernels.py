"""Cell sums over pairs of atoms for losses of any size, compiled; `linear.py` has the usual case.

Importing Numba takes a third of a second, so this module is imported on first use.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from hockeystick._numerics.law import FloatArray

__all__ = [
    "accumulate_average",
    "accumulate_log",
]

# Beyond this e^x is not a number any more.
LARGEST_EXPONENT = 700.0
# Averages of losses smaller than this are taken through LR - 1.
NARROW_RANGE = 0.5


@njit(cache=True, nogil=True)
def _walk(v: float, nodes: FloatArray, k: int, end: int, start: int = 0) -> int:
    """The cell that holds v, from cell k on and not beyond `end`; k itself if before `start`."""
    while start <= k < end and nodes[k + 1] <= v:
        k += 1
    return k


@njit(cache=True, nogil=True)
def accumulate_log(
    loss_a: FloatArray,
    p_a: FloatArray,
    q_a: FloatArray,
    loss_b: FloatArray,
    p_b: FloatArray,
    q_b: FloatArray,
    nodes: FloatArray,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Main mass, upper share and remaining mass (_numerics/rounding.py), for losses of any size."""
    last = nodes.size - 1
    main = np.zeros(last)
    up = np.zeros(last)
    remaining = np.zeros(last)
    row_start = 0
    for i in range(loss_a.size):
        x = loss_a[i] + loss_b[0]
        while row_start < last - 1 and nodes[row_start + 1] <= x:
            row_start += 1
        k = row_start
        for j in range(loss_b.size):
            x = loss_a[i] + loss_b[j]
            while k < last - 1 and nodes[k + 1] <= x:
                k += 1
            share = math.expm1(nodes[k] - x)
            if nodes[k] >= 0:
                mass = p_a[i] * p_b[j]
                remaining[k] += mass * math.exp(nodes[k] - x)
            else:
                mass = q_a[i] * q_b[j]
                share *= math.exp(x - nodes[k + 1])
            main[k] += mass
            up[k] += mass * share
    for k in range(last):
        up[k] /= math.expm1(nodes[k] - nodes[k + 1])
    return main, up, remaining


@njit(cache=True, nogil=True)
def accumulate_average(
    a: tuple[FloatArray, FloatArray, FloatArray],
    b: tuple[FloatArray, FloatArray, FloatArray],
    weight: float,
    nodes: FloatArray,
    skip_first: bool,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """As `accumulate_log`, for the losses of weight e^a + (1 - weight) e^b instead of their sums.

    Each law is its losses, P-masses and Q-masses; a first loss may be -inf. `skip_first`: the first
    pair is left out.
    """
    last = nodes.size - 1
    main = np.zeros(last)
    up = np.zeros(last)
    remaining = np.zeros(last)
    rest = 1.0 - weight
    log_weight, log_rest = math.log(weight), math.log1p(-weight)
    row_start = 0
    for i in range(a[0].size):
        k = row_start
        for j in range(b[0].size):
            if skip_first and i == 0 and j == 0:
                continue
            loss_a, loss_b = a[0][i], b[0][j]
            if abs(loss_a) < NARROW_RANGE and abs(loss_b) < NARROW_RANGE:
                x = math.log1p(weight * math.expm1(loss_a) + rest * math.expm1(loss_b))
            else:
                one, other = log_weight + loss_a, log_rest + loss_b
                x = max(one, other) + math.log1p(math.exp(-abs(one - other)))
            k = _walk(x, nodes, k, last - 1)
            if j == 0:
                row_start = k
            share = math.expm1(nodes[k] - x)
            if nodes[k] >= 0:
                mass = weight * a[1][i] * b[2][j] + rest * a[2][i] * b[1][j]
                remaining[k] += mass * math.exp(nodes[k] - x)
            else:
                mass = a[2][i] * b[2][j]
                share *= math.exp(x - nodes[k + 1])
            main[k] += mass
            up[k] += mass * share
    for k in range(last):
        up[k] /= math.expm1(nodes[k] - nodes[k + 1])
    return main, up, remaining
