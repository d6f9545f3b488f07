"""Laws from the masses of cells of a likelihood ratio; mixtures, and mean-preserving spreads."""

from __future__ import annotations

import numpy as np

from hockeystick._numerics.law import FloatArray, Law, Side, from_losses, total_by_index
from hockeystick._numerics.rounding import round_cells, upper_share

__all__ = ["law_from_cells", "mixture", "spread_outwards"]


def law_from_cells(nodes: FloatArray, log_p: FloatArray, log_q: FloatArray, side: Side) -> Law:
    """The law from log masses of (-inf, l_0), [l_0, l_1), ..., [l_last, inf), one more than nodes.

    Inner cells are rounded as in rounding.py. Outer cells, upper: P-mass below the first node is
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
