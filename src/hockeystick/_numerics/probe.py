"""Coarse versions of products and averages, only used to place the grid of the real one."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hockeystick._numerics.law import FloatArray, Law

__all__ = ["probe_average", "probe_product"]

# Each operand is represented by this many atoms.
PROBE_ATOMS = 64


def probe_average(
    x_a: FloatArray, q_a: FloatArray, x_b: FloatArray, q_b: FloatArray, weight_a: float
) -> Law:
    """A coarse version of the average, only used to place its grid."""
    (x_a, q_a), (x_b, q_b) = _coarse(x_a, q_a), _coarse(x_b, q_b)
    x = np.add.outer(weight_a * x_a, (1 - weight_a) * x_b).ravel()
    q = np.multiply.outer(q_a, q_b).ravel()
    positive = x > 0
    return _sorted(np.log(x[positive]), x[positive] * q[positive], q[positive])


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


def _coarse(x: FloatArray, q: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Runs of neighbours at their barycentres."""
    starts = _runs(x.size)
    mass = np.add.reduceat(q, starts)
    sums = np.add.reduceat(q * x, starts)
    keep = mass > 0
    return sums[keep] / mass[keep], mass[keep]


def _coarse_losses(law: Law) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Runs of neighbours at the middle of the run."""
    starts = _runs(law.loss.size)
    ends = np.append(starts[1:], law.loss.size) - 1
    middle = (law.loss[starts] + law.loss[ends]) / 2
    return middle, np.add.reduceat(law.p, starts), np.add.reduceat(law.q, starts)
