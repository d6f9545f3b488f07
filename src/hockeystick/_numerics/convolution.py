"""Products and averages of independent likelihood ratios, rounded in convex order."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np

from hockeystick._numerics.grid import matched_grid
from hockeystick._numerics.law import (
    FloatArray,
    Law,
    Resolution,
    Side,
    joined,
    total_by_index,
    without_atoms,
)
from hockeystick._numerics.probe import probe_average, probe_product
from hockeystick._numerics.rounding import (
    barycentre_offset,
    round_cells,
    trim,
    upper_share,
)

__all__ = ["average", "compress", "product", "regrid"]

# Up to this size results are exact: every pair of atoms is kept.
EXACT_ATOMS = 1024
# Linear space is used while every q = p e^-l that matters stays above e^-LINEAR_RANGE.
LINEAR_RANGE = 670.0
# Laws whose losses are all smaller than this are handled through LR - 1.
NARROW_RANGE = 0.5
# An average adds likelihood ratios themselves; losses beyond this size are cut, and charged.
LARGEST_AVERAGED_LOSS = 500.0
# Smaller masses could underflow in a product of two.
SMALLEST_MASS = 1e-290
# Floating point moves the total by less than this in one operation.
LARGEST_DRIFT = 1e-9


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
        return joined(loss, p, q, p_infinite, q_zero)
    low, high = a.loss[0] + b.loss[0], a.loss[-1] + b.loss[-1]
    nodes = matched_grid(probe_product(a, b), low, high, resolution)
    if max(-low, high - np.log(resolution.tail)) > LINEAR_RANGE:
        main, up, remaining = _kernels().accumulate_log(*a[:3], *b[:3], nodes)
        offset = barycentre_offset(nodes, main, up, remaining)
    else:
        narrow = _narrow(a.loss, b.loss)
        v_a, v_b, v_nodes = _linear((a.loss, b.loss, nodes), narrow=narrow)
        # x_a x_b, or (1 + y_a)(1 + y_b) - 1 = y_a + x_a y_b.
        alpha = v_a if narrow else np.zeros(v_a.size)
        mass, sums = _kernels().accumulate_linear(
            alpha, np.exp(a.loss), a.q, v_b, b.q, v_nodes, a is b, False
        )
        main, up, offset = _from_linear(nodes, v_nodes, mass, sums)
    law = _normalised(round_cells(nodes, main, up, offset, side, p_infinite, q_zero))
    return trim(law, resolution.tail, side)


def average(a: Law, b: Law, weight_a: float, resolution: Resolution, side: Side) -> Law:
    """The law of weight_a LR_a + (1 - weight_a) LR_b for independent LR_a, LR_b."""
    weight_b = 1.0 - weight_a
    symmetric = a is b and weight_a == 0.5
    a, b = _cap(a, side), _cap(b, side)
    (loss_a, q_a), (loss_b, q_b) = _with_zero(a), _with_zero(b)
    p_infinite = weight_a * a.p_infinite + weight_b * b.p_infinite
    q_zero = a.q_zero * b.q_zero
    x_a, x_b = np.exp(loss_a), np.exp(loss_b)
    if x_a.size * x_b.size <= EXACT_ATOMS:
        loss = _log_average(loss_a[:, None], loss_b[None, :], weight_a).ravel()
        q = np.multiply.outer(q_a, q_b).ravel()[loss > -np.inf]
        loss = loss[loss > -np.inf]
        return joined(loss, q * np.exp(loss), q, p_infinite, q_zero)
    low = _log_average(loss_a[0], loss_b[0], weight_a)
    if not low > -np.inf:
        apart = (loss_a[1], -np.inf), (-np.inf, loss_b[1])
        low = min(_log_average(one, other, weight_a) for one, other in apart)
    high = _log_average(loss_a[-1], loss_b[-1], weight_a)
    nodes = matched_grid(probe_average(x_a, q_a, x_b, q_b, weight_a), low, high, resolution)
    v_a, v_b, v_nodes = _linear((loss_a, loss_b, nodes), narrow=_narrow(loss_a, loss_b))
    mass, sums = _kernels().accumulate_linear(
        weight_a * v_a,
        np.full(v_a.size, weight_b),
        q_a,
        v_b,
        q_b,
        v_nodes,
        symmetric,
        q_zero > 0,
    )
    main, up, offset = _from_linear(nodes, v_nodes, mass, sums)
    law = _normalised(round_cells(nodes, main, up, offset, side, p_infinite, q_zero))
    return trim(law, resolution.tail, side)


def _narrow(loss_a: FloatArray, loss_b: FloatArray) -> bool:
    """Whether all likelihood ratios are near 1."""
    return bool(max(-loss_a[0], -loss_b[0], loss_a[-1], loss_b[-1]) < NARROW_RANGE)


def _log_average(loss_a: Any, loss_b: Any, weight_a: float) -> Any:
    """Loss of weight_a e^loss_a + (1 - weight_a) e^loss_b, accurate for small and large losses."""
    near = np.maximum(np.abs(loss_a), np.abs(loss_b)) < NARROW_RANGE
    y = weight_a * np.expm1(np.where(near, loss_a, 0)) + (1 - weight_a) * np.expm1(
        np.where(near, loss_b, 0)
    )
    far = np.logaddexp(np.log(weight_a) + loss_a, np.log1p(-weight_a) + loss_b)
    return np.where(near, np.log1p(y), far)


def _linear(losses: tuple[FloatArray, ...], *, narrow: bool) -> tuple[FloatArray, ...]:
    """Likelihood ratios x; or y = x - 1 if all of them are near 1, where x would lose digits."""
    return tuple(np.expm1(loss) if narrow else np.exp(loss) for loss in losses)


def _kernels() -> ModuleType:
    # Numba takes a third of a second to import; only numerical work pays for it.
    from hockeystick._numerics import kernels

    return kernels


def _from_linear(
    nodes: FloatArray, v_nodes: FloatArray, mass: FloatArray, sums: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Main mass, upper share and barycentre of rounding.py, from sums of q and of q (v - v_k)."""
    x = np.exp(nodes)
    sums = np.maximum(sums, 0.0)
    width = np.diff(v_nodes)
    up = sums / np.where(width > 0, width, 1.0)
    start = mass * x[:-1]
    # Where a mass underflows the barycentre falls short, which only lowers a lower bound.
    offset = np.log1p(sums / np.where(start > 0, start, np.inf))
    # By the loss, not by x: a loss of -1e-17 has x = 1, and both must count in the same unit.
    positive = nodes[:-1] >= 0
    main = np.where(positive, mass * x[:-1] + sums, mass)
    return main, np.where(positive, up * x[1:], up), offset


def _normalised(law: Law) -> Law:
    """Q sums to one; floating-point drift would otherwise double with every squaring.

    A law that lacks more than that has been cut on purpose and stays as it is.
    """
    drift = float(law.q.sum()) + law.q_zero
    if abs(drift - 1) > LARGEST_DRIFT:
        return law
    return Law(law.loss, law.p / drift, law.q / drift, law.p_infinite, law.q_zero)


def _cap(law: Law, side: Side) -> Law:
    """Only atoms that linear space can hold; what is cut is charged.

    Upper: the cut P-mass goes to infinity and the cut Q-mass to zero, the widest spread there is.
    Lower: both are dropped; less measure is a lower bound in both directions.
    """
    cut = (np.abs(law.loss) > LARGEST_AVERAGED_LOSS) | (law.q < SMALLEST_MASS)
    if not cut.any():
        return law
    p_infinite, q_zero = law.p_infinite, law.q_zero
    if side is Side.UPPER:
        p_infinite += float(law.p[cut].sum())
        q_zero += float(law.q[cut].sum())
    if cut.all():
        return without_atoms(p_infinite, q_zero)
    return Law(law.loss[~cut], law.p[~cut], law.q[~cut], p_infinite, q_zero)


def _with_zero(law: Law) -> tuple[FloatArray, FloatArray]:
    """Losses and Q-masses, the atom at LR = 0 included."""
    if law.q_zero > 0:
        return np.concatenate(([-np.inf], law.loss)), np.concatenate(([law.q_zero], law.q))
    return law.loss, law.q
