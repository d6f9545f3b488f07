"""Rounding a law onto grid nodes in convex order, from the sums of each cell.

A cell is [x_k, x_(k+1)) in the likelihood ratio x. Its *main* mass is P-mass if x_k >= 1 and Q-mass
otherwise: whichever is the larger. The second number that is kept is how much of the main mass
belongs to the upper node in the split that keeps both P- and Q-mass; `upper_share` of one atom.

Upper: the mass is split so between the two nodes. That is a mean-preserving spread of x under Q:
the expectation of every convex function grows.
Lower: the mass is merged at its barycentre, and every such expectation shrinks.
"""

from __future__ import annotations

import numpy as np

from hockeystick._numerics.law import BoolArray, FloatArray, Law, Side, from_losses, without_atoms

__all__ = ["barycentre_offset", "round_cells", "trim", "upper_share"]

# Smaller sums may have lost digits, or all of them.
UNDERFLOW = 1e-290


def upper_share(offset: FloatArray, width: FloatArray, positive: BoolArray) -> FloatArray:
    """Share of an atom's main mass that the upper node gets, `offset` above the cell's start.

    In Q-mass (e^offset - 1) / (e^width - 1), in P-mass (1 - e^-offset) / (1 - e^-width), written so
    that no exponent is positive: cells may be as wide as the law is.
    """
    share = np.expm1(-offset) / np.expm1(-width)
    result: FloatArray = np.where(positive, share, share * np.exp(offset - width))
    return result


def round_cells(
    nodes: FloatArray,
    main: FloatArray,
    up: FloatArray,
    offset: FloatArray,
    side: Side,
    p_infinite: float,
    q_zero: float,
) -> Law:
    """The law rounded to `nodes` (upper) or to the barycentres of the cells (lower).

    `offset` is how far the barycentre of each cell lies above its start.
    """
    if not main.any():
        return without_atoms(p_infinite, q_zero)
    up = np.clip(up, 0.0, main)
    if side is Side.UPPER:
        loss, mass = _split(nodes, main, up)
    else:
        loss, mass = _merge(nodes, main, offset)
    return from_losses(loss, mass, p_infinite=p_infinite, q_zero=q_zero)


def _split(nodes: FloatArray, main: FloatArray, up: FloatArray) -> tuple[FloatArray, FloatArray]:
    mass = np.zeros(nodes.size)
    mass[:-1] += main - up
    # `up` is in the unit of its own cell; the node above may count in the other unit.
    crosses = (nodes[:-1] < 0) & (nodes[1:] >= 0)
    mass[1:] += np.where(crosses, up * np.exp(np.where(crosses, nodes[1:], 0.0)), up)
    keep = mass > 0
    return nodes[keep], mass[keep]


def _merge(
    nodes: FloatArray, main: FloatArray, offset: FloatArray
) -> tuple[FloatArray, FloatArray]:
    keep = main > 0
    start, width, main = nodes[:-1][keep], np.diff(nodes)[keep], main[keep]
    loss = np.maximum.accumulate(start + np.clip(offset[keep], 0.0, width))
    # A merged atom of a cell that starts below 0 may lie above it, where P-mass is counted.
    crosses = (start < 0) & (loss >= 0)
    return loss, np.where(crosses, main * np.exp(np.where(crosses, loss, 0.0)), main)


def barycentre_offset(
    nodes: FloatArray, main: FloatArray, up: FloatArray, remaining: FloatArray
) -> FloatArray:
    """How far the barycentre of each cell lies above its start.

    The inverse of `upper_share`. In a cell of P-mass `remaining` is the sum of p e^-offset, which
    decides where 1 - e^-offset is too close to 1; in a cell of Q-mass it is not needed. Sums that
    may have underflowed are replaced by UNDERFLOW, which moves the barycentre towards 0: the side
    that only lowers a lower bound.
    """
    width = np.diff(nodes)
    log_main = np.log(np.where(main > 0, main, 1.0))
    share = np.where(main > 0, np.minimum(up, main) / np.where(main > 0, main, 1.0), 0.0)
    span = -np.expm1(-width)
    far = log_main - np.log(np.maximum(remaining, UNDERFLOW))
    below = np.logaddexp(0.0, np.log(np.maximum(up, UNDERFLOW)) - log_main + width + np.log(span))
    near = -np.log1p(-np.minimum(share, 0.5) * span)
    offset: FloatArray = np.where(nodes[:-1] < 0, below, np.where(share > 0.5, far, near))
    return offset


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
    kept = slice(first, last + 1)
    loss, p, q = law.loss[kept], law.p[kept].copy(), law.q[kept].copy()
    beyond_p, beyond_q = law.p[last + 1 :], law.q[last + 1 :]
    below_p, below_q = law.p[:first], law.q[:first]
    # Differences such as p - q e^l are taken through expm1: losses may be tiny.
    lost_p = -float(beyond_p @ np.expm1(loss[-1] - law.loss[last + 1 :]))
    lost_q = -float(below_q @ np.expm1(law.loss[:first] - loss[0]))
    p[-1] += float(beyond_p.sum()) - lost_p
    q[-1] += float(beyond_q.sum())
    p[0] += float(below_p.sum())
    q[0] += float(below_q.sum()) - lost_q
    return Law(loss, p, q, law.p_infinite + lost_p, law.q_zero + lost_q)


def _trim_lower(law: Law, first: int, last: int) -> Law:
    pieces = [Law(law.loss[first : last + 1], law.p[first : last + 1], law.q[first : last + 1])]
    if first > 0:
        pieces.insert(0, _barycentre(law, slice(0, first)))
    if last < law.p.size - 1:
        pieces.append(_barycentre(law, slice(last + 1, None)))
    loss, p, q = (np.concatenate([piece[i] for piece in pieces]) for i in range(3))
    return Law(loss, p, q, law.p_infinite, law.q_zero)


def _barycentre(law: Law, part: slice) -> Law:
    """All atoms of a slice merged into one: its loss is the log of the ratio of the totals."""
    loss, p, q = law.loss[part], law.p[part], law.q[part]
    main = np.where(loss >= 0, p, q)
    if not main.any():
        return Law(np.empty(0), np.empty(0), np.empty(0))
    with np.errstate(divide="ignore"):
        log_p = np.log(main) + np.minimum(loss, 0.0)
        log_q = np.log(main) - np.maximum(loss, 0.0)
    merged = np.logaddexp.reduce(log_p) - np.logaddexp.reduce(log_q)
    merged = min(max(merged, loss[0]), loss[-1])
    return Law(np.array([merged]), np.array([p.sum()]), np.array([q.sum()]))
