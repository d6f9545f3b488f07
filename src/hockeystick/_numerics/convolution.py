"""Products of independent likelihood ratios, rounded in convex order."""

from __future__ import annotations

import numpy as np

from hockeystick._numerics.grid import matched_grid
from hockeystick._numerics.law import (
    FloatArray,
    Law,
    Resolution,
    Side,
    joined,
    smallest_loss,
    total_by_index,
)
from hockeystick._numerics.linear_sums import kernels, linear_sums, normalised
from hockeystick._numerics.probe import probe_product
from hockeystick._numerics.rounding import barycentre_offset, round_cells, trim, upper_share

__all__ = ["EXACT_ATOMS", "compress", "product", "regrid"]

# Up to this size results are exact: every pair of atoms is kept.
EXACT_ATOMS = 1024
# Linear space is used while every q = p e^-l that matters stays above e^-LINEAR_RANGE.
LINEAR_RANGE = 670.0


def compress(law: Law, resolution: Resolution, side: Side) -> Law:
    """The law on a grid of its own, with at most the allowed tail trimmed on each side."""
    law = trim(law, resolution.tail, side)
    nodes = matched_grid(law, law.loss[0], law.loss[-1], resolution)
    return law if nodes.size >= law.loss.size else regrid(law, nodes, side)


def regrid(law: Law, nodes: FloatArray, side: Side) -> Law:
    """The law rounded to nodes that cover its losses."""
    cell = np.clip(np.searchsorted(nodes, law.loss, side="right") - 1, 0, nodes.size - 2)
    positive = nodes[cell] >= 0
    main = np.where(positive, law.p, law.q)
    above = law.loss - nodes[cell]
    up = main * upper_share(above, np.diff(nodes)[cell], positive)
    size = nodes.size - 1
    main, up, remaining = (
        total_by_index(cell, part, size) for part in (main, up, main * np.exp(-above))
    )
    offset = barycentre_offset(nodes, main, up, remaining)
    return round_cells(nodes, main, up, offset, side, law.p_infinite, law.q_zero)


def product(a: Law, b: Law, resolution: Resolution, side: Side) -> Law:
    """The law of the tensor product: likelihood ratios multiply, losses add."""
    p_infinite = a.p_infinite + b.p_infinite - a.p_infinite * b.p_infinite
    q_zero = a.q_zero + b.q_zero - a.q_zero * b.q_zero
    if a.loss.size * b.loss.size <= EXACT_ATOMS:
        loss = np.add.outer(a.loss, b.loss).ravel()
        p, q = np.multiply.outer(a.p, b.p).ravel(), np.multiply.outer(a.q, b.q).ravel()
        return joined(loss, p, q, p_infinite, q_zero, scale=smallest_loss(a, b))
    low, high = a.loss[0] + b.loss[0], a.loss[-1] + b.loss[-1]
    nodes = matched_grid(probe_product(a, b), low, high, resolution)
    if max(-low, high - np.log(resolution.tail)) > LINEAR_RANGE:
        main, up, remaining = kernels().accumulate_log(*a[:3], *b[:3], nodes)
        offset = barycentre_offset(nodes, main, up, remaining)
    else:
        # x_a x_b, and (1 + y_a)(1 + y_b) - 1 = y_a + x_a y_b.
        alpha = np.zeros(a.loss.size), np.expm1(a.loss)
        main, up, offset = linear_sums(
            alpha, np.exp(a.loss), a, b, nodes, symmetric=a is b, skip_first=False
        )
    law = normalised(round_cells(nodes, main, up, offset, side, p_infinite, q_zero))
    return trim(law, resolution.tail, side)
