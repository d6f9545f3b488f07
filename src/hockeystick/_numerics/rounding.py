"""Rounding a law onto grid nodes in convex order, from the sums of each cell.

A cell is [x_k, x_(k+1)) in the likelihood ratio x. Two sums describe what falls into it; with
u = log(x / x_k) they are

    x_k >= 1:   main = sum of p,   excess = sum of p (1 - e^-u)
    x_k <  1:   main = sum of q,   excess = sum of q (e^u - 1)

Upper: the mass is split between the two nodes so that P- and Q-mass are both kept. That is a
mean-preserving spread of x under Q: the expectation of every convex function grows.
Lower: the mass is merged at its barycentre, and every such expectation shrinks.
"""

from __future__ import annotations

import numpy as np

from hockeystick._numerics.law import FloatArray, Law, Side, from_losses

__all__ = ["round_cells", "trim"]


def round_cells(
    nodes: FloatArray,
    main: FloatArray,
    excess: FloatArray,
    side: Side,
    p_infinite: float,
    q_zero: float,
) -> Law:
    """The law rounded to `nodes` (upper) or to the barycentres of the cells (lower)."""
    if side is Side.UPPER:
        return _split(nodes, main, excess, p_infinite, q_zero)
    return _merge(nodes, main, excess, p_infinite, q_zero)


def _split(
    nodes: FloatArray, main: FloatArray, excess: FloatArray, p_infinite: float, q_zero: float
) -> Law:
    width = np.diff(nodes)
    positive = nodes[:-1] >= 0
    # The share of the main mass that goes to the upper node, exact for both orientations.
    full = np.where(positive, -np.expm1(-width), np.expm1(width))
    up = np.clip(excess / full, 0.0, main)
    down = main - up
    mass = np.zeros(nodes.size)
    mass[:-1] += down
    # `up` is in the unit of its own cell; the node above may count in the other unit.
    crosses = ~positive & (nodes[1:] >= 0)
    mass[1:] += np.where(crosses, up * np.exp(np.where(crosses, nodes[1:], 0.0)), up)
    keep = mass > 0
    return from_losses(nodes[keep], mass[keep], p_infinite=p_infinite, q_zero=q_zero)


def _merge(
    nodes: FloatArray, main: FloatArray, excess: FloatArray, p_infinite: float, q_zero: float
) -> Law:
    keep = main > 0
    start, width, main, excess = nodes[:-1][keep], np.diff(nodes)[keep], main[keep], excess[keep]
    positive = start >= 0
    full = np.where(positive, -np.expm1(-width), np.expm1(width))
    ratio = np.clip(excess / main, 0.0, full)
    # Where the cell is so wide that 1 - e^-u rounds to 1 the offset is the width itself.
    negated = np.minimum(ratio, 1 - 2.0**-53)
    offset = np.where(positive, -np.log1p(-negated), np.log1p(ratio))
    offset = np.minimum(offset, width)
    loss = start + offset
    # A merged atom of a cell that starts below 0 may lie above it; from_losses counts P-mass there.
    crosses = ~positive & (loss >= 0)
    main = np.where(crosses, main * np.exp(np.where(crosses, loss, 0.0)), main)
    order = np.concatenate(([True], np.diff(loss) > 0))
    if not order.all():
        loss = np.maximum.accumulate(loss)
    return from_losses(loss, main, p_infinite=p_infinite, q_zero=q_zero)


def trim(law: Law, tail: float, side: Side) -> Law:
    """Drop the far atoms, charging them: at most `tail` of P on the right and of Q on the left.

    Upper: mass beyond the last kept atom is spread between that atom and infinity (likewise zero).
    Lower: it is merged into one atom at its barycentre.
    """
    right = law.p.size - int(np.searchsorted(np.cumsum(law.p[::-1]), tail, side="right"))
    left = int(np.searchsorted(np.cumsum(law.q), tail, side="right"))
    last = min(max(right - 1, left), law.p.size - 1)
    first = min(left, last)
    if first == 0 and last == law.p.size - 1:
        return law
    if side is Side.UPPER:
        return _trim_upper(law, first, last)
    return _trim_lower(law, first, last)


def _trim_upper(law: Law, first: int, last: int) -> Law:
    loss, p, q = (
        law.loss[first : last + 1],
        law.p[first : last + 1].copy(),
        law.q[first : last + 1].copy(),
    )
    beyond_q = float(law.q[last + 1 :].sum())
    below_p = float(law.p[:first].sum())
    kept_p = float((law.p[last + 1 :] * np.exp(loss[-1] - law.loss[last + 1 :])).sum())
    kept_q = float((law.q[:first] * np.exp(law.loss[:first] - loss[0])).sum())
    p[-1] += kept_p
    q[-1] += beyond_q
    p[0] += below_p
    q[0] += kept_q
    p_infinite = law.p_infinite + max(float(law.p[last + 1 :].sum()) - kept_p, 0.0)
    q_zero = law.q_zero + max(float(law.q[:first].sum()) - kept_q, 0.0)
    return Law(loss, p, q, p_infinite, q_zero)


def _trim_lower(law: Law, first: int, last: int) -> Law:
    pieces = [Law(law.loss[first : last + 1], law.p[first : last + 1], law.q[first : last + 1])]
    if first > 0:
        pieces.insert(0, _barycentre(law, slice(0, first)))
    if last < law.p.size - 1:
        pieces.append(_barycentre(law, slice(last + 1, None)))
    loss, p, q = (np.concatenate([piece[i] for piece in pieces]) for i in range(3))
    return Law(loss, p, q, law.p_infinite, law.q_zero)


def _barycentre(law: Law, part: slice) -> Law:
    """All atoms of a slice merged into one; computed relative to the slice's first loss."""
    loss, p, q = law.loss[part], law.p[part], law.q[part]
    start = loss[0]
    if start >= 0:
        merged = start - np.log((p * np.exp(start - loss)).sum() / p.sum())
    else:
        merged = start + np.log((q * np.exp(loss - start)).sum() / q.sum())
    merged = min(max(merged, start), loss[-1])
    return Law(np.array([merged]), np.array([p.sum()]), np.array([q.sum()]))
