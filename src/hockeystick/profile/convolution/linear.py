"""Cell sums over pairs of atoms in linear space, compiled (`_numerics/machine_code.py`).

Sums are cheapest in linear space. Masses are Q-masses, which far to the right are tiny beside the
P-masses that they stand for, and the product of two tinier still. So both factors are scaled up by
2^500: what a pair of atoms loses to underflow then is below 5e-324 2^-1000 e^l, which for losses l
up to 670 is below 1e-330.
"""

from __future__ import annotations

import numpy as np

from hockeystick._numerics.law import FloatArray, Law
from hockeystick._numerics.machine_code import MachineCode

__all__ = ["accumulate_linear", "linear_sums"]

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
    mass, excess = np.zeros(last), np.zeros(last)
    sizes = (beta.size, q_b.size, last, switch, int(symmetric), int(skip_first))
    rows = (alpha[0], alpha[1], beta, q_a)
    arrays = (np.ascontiguousarray(one) for one in (*rows, *v_b, q_b, *nodes))
    _CELL_SUMS(*sizes, *arrays, mass, excess)
    return mass, excess


def _cell_sums(  # noqa: C901 - a part of it would have to be compiled on its own
    rows: int,
    columns: int,
    last: int,
    switch: int,
    symmetric: int,
    skip_first: int,
    alpha_x: FloatArray,
    alpha_y: FloatArray,
    beta: FloatArray,
    q_a: FloatArray,
    x_b: FloatArray,
    y_b: FloatArray,
    q_b: FloatArray,
    x_nodes: FloatArray,
    y_nodes: FloatArray,
    mass: FloatArray,
    excess: FloatArray,
) -> None:
    """The loop of `accumulate_linear`; the last two are written."""
    row_start = 0
    for i in range(rows):
        j = i if symmetric else 0
        a_x, a_y, b, weight = alpha_x[i], alpha_y[i], beta[i], q_a[i]
        x, y = a_x + b * x_b[j], a_y + b * y_b[j]
        while row_start < min(switch, last - 1) and x_nodes[row_start + 1] <= x:
            row_start += 1
        while switch <= row_start < last - 1 and y_nodes[row_start + 1] <= y:
            row_start += 1
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
        while k < switch and j < columns:
            x = a_x + b * x_b[j]
            while k < switch and k < last - 1 and x_nodes[k + 1] <= x:
                k += 1
            if k < switch:
                q = weight * q_b[j]
                mass[k] += q
                excess[k] += q * (x - x_nodes[k])
                j += 1
        for rest in range(j, columns):
            y = a_y + b * y_b[rest]
            while k < last - 1 and y_nodes[k + 1] <= y:
                k += 1
            q = weight * q_b[rest]
            mass[k] += q
            excess[k] += q * (y - y_nodes[k])


_CELL_SUMS = MachineCode(_cell_sums, "i" * 6 + "p" * 11)
