"""Compiled inner loops; importing this module imports Numba, so it is imported on first use."""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from hockeystick._numerics.law import FloatArray

__all__ = [
    "accumulate_average",
    "accumulate_linear",
    "accumulate_log",
]

# Beyond this e^x is not a number any more.
LARGEST_EXPONENT = 700.0
# Averages of losses smaller than this are taken through LR - 1.
NARROW_RANGE = 0.5


@njit(cache=True, nogil=True)
def accumulate_linear(
    alpha: tuple[FloatArray, FloatArray],
    beta: FloatArray,
    q_a: FloatArray,
    v_b: tuple[FloatArray, FloatArray],
    q_b: FloatArray,
    nodes: tuple[FloatArray, FloatArray],
    switch: int,
    symmetric: bool,
    skip_first: bool,
) -> tuple[FloatArray, FloatArray]:
    """Cell sums of the pairs v = alpha_i + beta_i v_j with Q-mass q_i q_j.

    alpha, v_b and the nodes come twice: v is the likelihood ratio x in the cells before `switch`,
    and x - 1 in the others, so that its distance to a node is as accurate near 0 as near 1.
    Returns, for each cell [nodes_k, nodes_(k+1)), the Q-mass and the sum of q (v - nodes_k). v is
    increasing along rows and columns, so each cell is found by walking on from the previous one.
    `symmetric`: i and j may be exchanged, so only j >= i is visited. `skip_first`: the first pair
    is left out.
    """
    last = nodes[0].size - 1
    mass = np.zeros(last)
    excess = np.zeros(last)
    row_start = 0
    x_b, y_b = v_b
    x_nodes, y_nodes = nodes
    for i in range(beta.size):
        j = i if symmetric else 0
        a_x, a_y, b, weight = alpha[0][i], alpha[1][i], beta[i], q_a[i]
        row_start = _walk(a_x + b * x_b[j], x_nodes, row_start, min(switch, last - 1))
        row_start = _walk(a_y + b * y_b[j], y_nodes, row_start, last - 1, start=switch)
        k = row_start
        if symmetric or (skip_first and i == 0):
            # The diagonal counts once, every other pair twice.
            if not (skip_first and i == 0):
                q = weight * q_b[j]
                above = a_x + b * x_b[j] - x_nodes[k]
                if k >= switch:
                    above = a_y + b * y_b[j] - y_nodes[k]
                mass[k] += q
                excess[k] += q * above
            weight *= 2.0 if symmetric else 1.0
            j += 1
        while k < switch and j < q_b.size:
            x = a_x + b * x_b[j]
            while k < switch and k < last - 1 and x_nodes[k + 1] <= x:
                k += 1
            if k < switch:
                q = weight * q_b[j]
                mass[k] += q
                excess[k] += q * (x - x_nodes[k])
                j += 1
        for rest in range(j, q_b.size):
            y = a_y + b * y_b[rest]
            while k < last - 1 and y_nodes[k + 1] <= y:
                k += 1
            q = weight * q_b[rest]
            mass[k] += q
            excess[k] += q * (y - y_nodes[k])
    return mass, excess


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
    """Main mass, upper share and remaining mass (rounding.py), for losses of any size."""
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
