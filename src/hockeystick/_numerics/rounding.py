"""Rounding a law onto grid nodes in convex order, from the sums of each cell.

A cell is [x_k, x_(k+1)) in the likelihood ratio x. Its *main* mass is P-mass if x_k >= 1 and Q-mass
otherwise: whichever is the larger. The second number that is kept is how much of the main mass
belongs to the upper node in the split that keeps both P- and Q-mass; `upper_share` of one atom.

Upper: the mass is split so between the two nodes. That is a mean-preserving spread of x under Q:
the expectation of every convex function grows.
Lower: the mass is merged at its barycentre, and every such expectation shrinks.

Also laws from the masses of the cells of a continuous likelihood ratio, mixtures of laws, and
mean-preserving spreads.
"""

from __future__ import annotations

import numpy as np

from hockeystick._numerics.law import (
    BoolArray,
    FloatArray,
    Law,
    Side,
    from_losses,
    total_by_index,
    without_atoms,
)

__all__ = [
    "barycentre_offset",
    "law_from_cells",
    "mixture",
    "round_cells",
    "spread_outwards",
    "trim",
    "upper_share",
]

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
        pieces.insert(0, _merged(law, slice(0, first)))
    if last < law.p.size - 1:
        pieces.append(_merged(law, slice(last + 1, None)))
    loss, p, q = (np.concatenate([piece[i] for piece in pieces]) for i in range(3))
    return Law(loss, p, q, law.p_infinite, law.q_zero)


def _merged(law: Law, part: slice) -> Law:
    """All atoms of a slice merged into one: its loss is the log of the ratio of the totals."""
    loss, p, q = law.loss[part], law.p[part], law.q[part]
    main = np.where(loss >= 0, p, q)
    if not main.any():
        return Law(np.empty(0), np.empty(0), np.empty(0))
    with np.errstate(divide="ignore"):
        log_p = np.log(main) + np.minimum(loss, 0.0)
        log_q = np.log(main) - np.maximum(loss, 0.0)
    loss_merged = np.logaddexp.reduce(log_p) - np.logaddexp.reduce(log_q)
    loss_merged = min(max(loss_merged, loss[0]), loss[-1])
    return Law(np.array([loss_merged]), np.array([p.sum()]), np.array([q.sum()]))


def law_from_cells(nodes: FloatArray, log_p: FloatArray, log_q: FloatArray, side: Side) -> Law:
    """The law from log masses of (-inf, l_0), [l_0, l_1), ..., [l_last, inf), one more than nodes.

    Inner cells are rounded as above. Outer cells, upper: P-mass below the first node is
    put on it and the rest of the Q-mass on LR = 0; Q-mass above the last node stays on it and the
    rest of the P-mass goes to infinity. Outer cells, lower: one atom at the barycentre.
    """
    positive = nodes[:-1] >= 0
    width = np.diff(nodes)
    inner_p, inner_q = log_p[1:-1], log_q[1:-1]
    main = np.exp(np.where(positive, inner_p, inner_q))
    with np.errstate(invalid="ignore"):
        # The barycentre in the sense of the main mass: where one atom would have the same share.
        offset = inner_p - inner_q - nodes[:-1]
    offset = np.clip(np.where(main > 0, offset, 0.0), 0.0, width)
    up = main * upper_share(offset, width, positive)
    inner = round_cells(nodes, main, up, offset, side, 0.0, 0.0)
    return mixture([inner, *_outer(nodes, log_p, log_q, side)])


def _outer(nodes: FloatArray, log_p: FloatArray, log_q: FloatArray, side: Side) -> list[Law]:
    below = (log_p[0], log_q[0])
    above = (log_p[-1], log_q[-1])
    if side is Side.LOWER:
        return [_barycentre(p, q) for p, q in (below, above)]
    first, last = nodes[0], nodes[-1]
    laws = []
    if below[1] > -np.inf:
        atom = _atom(first, below[0], below[0] - first)
        rest = -np.exp(below[1]) * np.expm1(min(below[0] - first - below[1], 0.0))
        laws.append(atom._replace(q_zero=float(rest)))
    if above[0] > -np.inf:
        atom = _atom(last, above[1] + last, above[1])
        rest = -np.exp(above[0]) * np.expm1(min(above[1] + last - above[0], 0.0))
        laws.append(atom._replace(p_infinite=float(rest)))
    return laws


def _barycentre(log_p: float, log_q: float) -> Law:
    """One atom, or mass at infinity or zero where the other distribution has none."""
    if min(log_p, log_q) > -np.inf:
        return _atom(log_p - log_q, log_p, log_q)
    empty = np.empty(0)
    return Law(empty, empty, empty, float(np.exp(log_p)), float(np.exp(log_q)))


def _atom(loss: float, log_p: float, log_q: float) -> Law:
    main = np.exp([log_p if loss >= 0 else log_q])
    if not main[0] > 0:
        return Law(np.empty(0), np.empty(0), np.empty(0))
    return from_losses(np.array([loss]), main)


def mixture(laws: list[Law]) -> Law:
    """The sum of measures: all atoms together, equal losses joined."""
    loss, p, q = (np.concatenate([law[i] for law in laws]) for i in range(3))
    unique, inverse = np.unique(loss, return_inverse=True)
    return Law(
        unique,
        total_by_index(inverse, p, unique.size),
        total_by_index(inverse, q, unique.size),
        sum(law.p_infinite for law in laws),
        sum(law.q_zero for law in laws),
    )


def spread_outwards(law: Law, loss: FloatArray) -> Law:
    """The law with its atoms at the given losses, each on the same side of 0 and farther out.

    Moving an atom alone would change the mean of LR, and composition would multiply the change. So
    a share of it goes to loss 0 instead, such that Q-mass and P-mass stay what they are: a
    mean-preserving spread, which dominates. From |l| = a to b the share of the main mass is
    (e^-a - e^-b) / (1 - e^-b). A loss of -inf means LR = 0.
    """
    a, b = np.abs(law.loss), np.abs(loss)
    with np.errstate(invalid="ignore"):
        share = np.where(b > a, np.exp(-a) * np.expm1(a - b) / np.expm1(-b), 0.0)
    main = np.where(law.loss >= 0, law.p, law.q)
    rest = main * (1 - share)
    finite = np.isfinite(loss)
    moved = from_losses(
        loss[finite],
        rest[finite],
        p_infinite=law.p_infinite,
        q_zero=law.q_zero + float(rest[~finite].sum()),
    )
    returned = np.array([float((main * share).sum())])
    return mixture([moved, from_losses(np.zeros(1), returned)])
