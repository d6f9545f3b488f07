"""Cell sums over pairs of atoms, compiled; importing Numba takes a third of a second.

So this module is imported on first use. Sums are cheapest in linear space. Masses are Q-masses,
which far to the right are tiny beside the P-masses that they stand for, and the product of two
tinier still. So both factors are scaled up by 2^500: what a pair of atoms loses to underflow then
is below 5e-324 2^-1000 e^l, which for losses l up to 670 is below 1e-330.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from hockeystick._numerics.law import FloatArray, Law

__all__ = [
    "accumulate_average",
    "accumulate_linear",
    "accumulate_log",
    "linear_sums",
]

# Beyond this e^x is not a number any more.
LARGEST_EXPONENT = 700.0
# Averages of losses smaller than this are taken through LR - 1.
NARROW_RANGE = 0.5
# Cells that start above this loss are summed through LR - 1.
SWITCH_LOSS = -0.5
# Both factors are scaled by this.
LOG_SCALE = 500 * np.log(2.0)
SCALE, UNSCALE = 2.0**500, 2.0**-1000


def linear_sums(
    alpha: tuple[FloatArray, FloatArray],
    beta: FloatArray,
    a: Law,
    b: Law,
    nodes: FloatArray,
    *,
    symmetric: bool,
    skip_first: bool,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Main mass, upper share and barycentre for LR = alpha_i + beta_i LR_j.

    They are those of _numerics/rounding.py. The first of `alpha` is for LR itself, the second for
    LR - 1. A loss of -inf is LR = 0.
    """
    v_b = np.exp(b.loss), np.expm1(b.loss)
    v_nodes = np.exp(nodes), np.expm1(nodes)
    switch = int(np.searchsorted(nodes, SWITCH_LOSS))
    mass, sums = accumulate_linear(
        alpha, beta, _scaled(a), v_b, _scaled(b), v_nodes, switch, symmetric, skip_first
    )
    return _rounded(nodes, mass, np.maximum(sums, 0.0))


def _scaled(law: Law) -> FloatArray:
    """Q-masses, scaled, from whichever mass is the main one: the other may have underflowed."""
    positive = law.loss >= 0
    small = law.p * np.exp(LOG_SCALE - np.where(positive, law.loss, 0.0))
    return np.where(positive, small, law.q * SCALE)


def _rounded(
    nodes: FloatArray, mass: FloatArray, sums: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """From scaled sums of q and of q (v - v_k)."""
    x = np.exp(nodes)
    width = x[:-1] * np.expm1(np.diff(nodes))
    up = sums / np.where(width > 0, width, 1.0)
    start = mass * x[:-1]
    # Where a mass underflows the barycentre falls short, which only lowers a lower bound.
    offset = np.log1p(sums / np.where(start > 0, start, np.inf))
    # By the loss, not by x: a loss of -1e-17 has x = 1, and both must count in the same unit.
    positive = nodes[:-1] >= 0
    main = np.where(positive, start + sums, mass)
    return main * UNSCALE, np.where(positive, up * x[1:], up) * UNSCALE, offset


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
