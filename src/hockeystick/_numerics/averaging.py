"""Averages of independent likelihood ratios, rounded in convex order."""

from __future__ import annotations

from typing import Any

import numpy as np

from hockeystick._numerics import convolution
from hockeystick._numerics.grid import matched_grid
from hockeystick._numerics.law import Law, Resolution, Side, from_losses, joined, smallest_loss
from hockeystick._numerics.linear_sums import kernels, linear_sums, normalised
from hockeystick._numerics.probe import probe_average
from hockeystick._numerics.rounding import barycentre_offset, round_cells, trim

__all__ = ["average"]

# Averages of losses smaller than this are taken through LR - 1.
NARROW_RANGE = 0.5
# Beyond this size losses are averaged in logarithms, which is slower.
LARGEST_LINEAR_LOSS = 500.0


def average(a: Law, b: Law, weight_a: float, resolution: Resolution, side: Side) -> Law:
    """The law of weight_a LR_a + (1 - weight_a) LR_b for independent LR_a, LR_b."""
    weight_b = 1.0 - weight_a
    symmetric = a is b and weight_a == 0.5
    p_infinite = weight_a * a.p_infinite + weight_b * b.p_infinite
    q_zero = a.q_zero * b.q_zero
    a, b = _with_zero(a), _with_zero(b)
    if a.loss.size * b.loss.size <= convolution.EXACT_ATOMS:
        return _exact(a, b, weight_a, p_infinite, q_zero)
    low = _log_average(a.loss[0], b.loss[0], weight_a)
    both_zero = not low > -np.inf
    if both_zero:
        apart = (a.loss[1], -np.inf), (-np.inf, b.loss[1])
        low = min(_log_average(one, other, weight_a) for one, other in apart)
    high = _log_average(a.loss[-1], b.loss[-1], weight_a)
    nodes = matched_grid(probe_average(a, b, weight_a), low, high, resolution)
    if max(_largest(a), _largest(b)) > LARGEST_LINEAR_LOSS:
        main, up, remaining = kernels().accumulate_average(
            tuple(a[:3]), tuple(b[:3]), weight_a, nodes, both_zero
        )
        offset = barycentre_offset(nodes, main, up, remaining)
    else:
        alpha = weight_a * np.exp(a.loss), weight_a * np.expm1(a.loss)
        beta = np.full(a.loss.size, weight_b)
        main, up, offset = linear_sums(
            alpha, beta, a, b, nodes, symmetric=symmetric, skip_first=both_zero
        )
    law = normalised(round_cells(nodes, main, up, offset, side, p_infinite, q_zero))
    return trim(law, resolution.tail, side)


def _exact(a: Law, b: Law, weight_a: float, p_infinite: float, q_zero: float) -> Law:
    """Every pair of atoms. P-masses from those of one factor: Q-masses alone may underflow."""
    loss = _log_average(a.loss[:, None], b.loss[None, :], weight_a).ravel()
    q = np.multiply.outer(a.q, b.q).ravel()
    p = weight_a * np.multiply.outer(a.p, b.q) + (1.0 - weight_a) * np.multiply.outer(a.q, b.p)
    finite = loss > -np.inf
    scale = smallest_loss(a, b)
    return joined(loss[finite], p.ravel()[finite], q[finite], p_infinite, q_zero, scale=scale)


def _log_average(loss_a: Any, loss_b: Any, weight_a: float) -> Any:
    """Loss of weight_a e^loss_a + (1 - weight_a) e^loss_b, accurate for small and large losses."""
    near = np.maximum(np.abs(loss_a), np.abs(loss_b)) < NARROW_RANGE
    y = weight_a * np.expm1(np.where(near, loss_a, 0)) + (1 - weight_a) * np.expm1(
        np.where(near, loss_b, 0)
    )
    far = np.logaddexp(np.log(weight_a) + loss_a, np.log1p(-weight_a) + loss_b)
    return np.where(near, np.log1p(y), far)


def _with_zero(law: Law) -> Law:
    """The law with its atom at LR = 0 among the others, at the loss -inf."""
    loss, main = law.loss, np.where(law.loss >= 0, law.p, law.q)
    if law.q_zero > 0:
        loss, main = np.concatenate(([-np.inf], loss)), np.concatenate(([law.q_zero], main))
    return from_losses(loss, main)


def _largest(law: Law) -> float:
    """The largest size of a finite loss."""
    sizes = np.abs(law.loss)
    return float(np.max(sizes[np.isfinite(sizes)], initial=0.0))
