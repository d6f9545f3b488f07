"""Coarse versions of products and averages, only used to place the grid of the real one."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hockeystick._numerics.law import FloatArray, Law

__all__ = ["probe_average", "probe_product"]

# Each operand is represented by this many atoms.
PROBE_ATOMS = 64


def probe_average(a: Law, b: Law, weight_a: float) -> Law:
    """A coarse version of the average, only used to place its grid; losses may be -inf."""
    (loss_a, p_a, q_a), (loss_b, p_b, q_b) = _coarse(a), _coarse(b)
    one = np.log(weight_a) + loss_a[:, None]
    other = np.log1p(-weight_a) + loss_b[None, :]
    loss = np.logaddexp(one, other).ravel()
    p = weight_a * np.multiply.outer(p_a, q_b) + (1 - weight_a) * np.multiply.outer(q_a, p_b)
    q = np.multiply.outer(q_a, q_b).ravel()
    finite = loss > -np.inf
    return _sorted(loss[finite], p.ravel()[finite], q[finite])


def probe_product(a: Law, b: Law) -> Law:
    """A coarse version of the product, only used to place its grid."""
    (loss_a, p_a, q_a), (loss_b, p_b, q_b) = _coarse_losses(a), _coarse_losses(b)
    return _sorted(
        np.add.outer(loss_a, loss_b).ravel(),
        np.multiply.outer(p_a, p_b).ravel(),
        np.multiply.outer(q_a, q_b).ravel(),
    )


def _sorted(loss: FloatArray, p: FloatArray, q: FloatArray) -> Law:
    order = np.argsort(loss)
    return Law(loss[order], p[order], q[order])


def _runs(size: int) -> NDArray[np.int64]:
    return np.unique(np.linspace(0, size, PROBE_ATOMS, endpoint=False).astype(np.int64))


def _coarse(law: Law) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Runs of neighbours at their barycentres, or at the start of the run if a mass underflows."""
    starts = _runs(law.loss.size)
    p, q = np.add.reduceat(law.p, starts), np.add.reduceat(law.q, starts)
    both = (p > 0) & (q > 0)
    ratio = np.log(np.where(both, p, 1.0)) - np.log(np.where(both, q, 1.0))
    return np.where(both, ratio, law.loss[starts]), p, q


def _coarse_losses(law: Law) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Runs of neighbours at the middle of the run."""
    starts = _runs(law.loss.size)
    ends = np.append(starts[1:], law.loss.size) - 1
    middle = (law.loss[starts] + law.loss[ends]) / 2
    return middle, np.add.reduceat(law.p, starts), np.add.reduceat(law.q, starts)
