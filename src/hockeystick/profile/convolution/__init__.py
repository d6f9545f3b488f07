"""Products and averages of laws, rounded in convex order: of two, and many-fold by squaring.

The result of a pairwise operation is accumulated on a grid that is matched to a coarse version of
it. Squaring keeps the grid of every intermediate law matched to that law's own spread, so that each
rounding costs about step**2 / 6 of the current variance and the total grows with the number of
levels, not with the number of factors.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hockeystick._numerics.law import (
    FloatArray,
    Law,
    Resolution,
    Side,
    from_losses,
    joined,
    matched_grid,
    smallest_loss,
    total_by_index,
)
from hockeystick._numerics.rounding import barycentre_offset, round_cells, trim, upper_share
from hockeystick.profile.convolution.linear import linear_sums

__all__ = [
    "TAIL_SHARE",
    "average",
    "average_of_copies",
    "compress",
    "product",
    "product_of_powers",
    "regrid",
    "rounding_levels",
]

# Up to this size results are exact: every pair of atoms is kept, which costs no more than a grid.
EXACT_ATOMS = 1024
# Linear space is used while every q = p e^-l that matters stays above e^-LINEAR_RANGE.
LINEAR_RANGE = 670.0
# Averages of losses smaller than this are taken through LR - 1.
NARROW_RANGE = 0.5
# Beyond this size losses are averaged in logarithms, which is slower.
LARGEST_LINEAR_LOSS = 500.0
# Atoms that stand for an operand in a coarse version, which only places the grid: nothing beside
# the thousand atoms of a law.
PROBE_ATOMS = 64
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
        return joined(loss, p, q, p_infinite, q_zero, scale=smallest_loss(a, b))
    low, high = a.loss[0] + b.loss[0], a.loss[-1] + b.loss[-1]
    nodes = matched_grid(_coarse_product(a, b), low, high, resolution)
    if max(-low, high - np.log(resolution.tail)) > LINEAR_RANGE:
        main, up, remaining = _kernels().accumulate_log(*a[:3], *b[:3], nodes)
        offset = barycentre_offset(nodes, main, up, remaining)
    else:
        # x_a x_b, and (1 + y_a)(1 + y_b) - 1 = y_a + x_a y_b.
        alpha = np.zeros(a.loss.size), np.expm1(a.loss)
        main, up, offset = linear_sums(
            alpha, np.exp(a.loss), a, b, nodes, symmetric=a is b, skip_first=False
        )
    law = _normalised(round_cells(nodes, main, up, offset, side, p_infinite, q_zero))
    return trim(law, resolution.tail, side)


def average(a: Law, b: Law, weight_a: float, resolution: Resolution, side: Side) -> Law:
    """The law of weight_a LR_a + (1 - weight_a) LR_b for independent LR_a, LR_b."""
    weight_b = 1.0 - weight_a
    symmetric = a is b and weight_a == 0.5
    p_infinite = weight_a * a.p_infinite + weight_b * b.p_infinite
    q_zero = a.q_zero * b.q_zero
    a, b = _with_zero(a), _with_zero(b)
    if a.loss.size * b.loss.size <= EXACT_ATOMS:
        return _exact(a, b, weight_a, p_infinite, q_zero)
    low = _log_average(a.loss[0], b.loss[0], weight_a)
    both_zero = not low > -np.inf
    if both_zero:
        apart = (a.loss[1], -np.inf), (-np.inf, b.loss[1])
        low = min(_log_average(one, other, weight_a) for one, other in apart)
    high = _log_average(a.loss[-1], b.loss[-1], weight_a)
    nodes = matched_grid(_coarse_average(a, b, weight_a), low, high, resolution)
    if max(_largest(a), _largest(b)) > LARGEST_LINEAR_LOSS:
        main, up, remaining = _kernels().accumulate_average(
            tuple(a[:3]), tuple(b[:3]), weight_a, nodes, both_zero
        )
        offset = barycentre_offset(nodes, main, up, remaining)
    else:
        alpha = weight_a * np.exp(a.loss), weight_a * np.expm1(a.loss)
        beta = np.full(a.loss.size, weight_b)
        main, up, offset = linear_sums(
            alpha, beta, a, b, nodes, symmetric=symmetric, skip_first=both_zero
        )
    law = _normalised(round_cells(nodes, main, up, offset, side, p_infinite, q_zero))
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


def _coarse_average(a: Law, b: Law, weight_a: float) -> Law:
    """A coarse version of the average; losses may be -inf."""
    (loss_a, p_a, q_a), (loss_b, p_b, q_b) = _coarse(a), _coarse(b)
    one = np.log(weight_a) + loss_a[:, None]
    other = np.log1p(-weight_a) + loss_b[None, :]
    loss = np.logaddexp(one, other).ravel()
    p = weight_a * np.multiply.outer(p_a, q_b) + (1 - weight_a) * np.multiply.outer(q_a, p_b)
    q = np.multiply.outer(q_a, q_b).ravel()
    finite = loss > -np.inf
    return _sorted(loss[finite], p.ravel()[finite], q[finite])


def _coarse_product(a: Law, b: Law) -> Law:
    """A coarse version of the product."""
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


# Share of the allowed tail that one pairwise operation may use.
TAIL_SHARE = 0.02


def product_of_powers(
    laws: Sequence[Law], counts: Sequence[int], resolution: Resolution, side: Side
) -> Law:
    """The law of the composition of counts[i] copies of laws[i] for all i.

    All factors share their squarings: from the highest bit of the counts down, square what is there
    and multiply in the factors whose count has that bit. n factors with equal counts cost n
    products once and then only the squarings of one.
    """
    result: Law | None = None
    together: dict[tuple[int, ...], Law] = {}
    for bit in reversed(range(max(counts).bit_length())):
        share = resolution.scaled(tail=TAIL_SHARE / 2.0**bit)
        if result is not None:
            result = product(result, result, share, side)
        chosen = tuple(i for i, count in enumerate(counts) if count >> bit & 1)
        if not chosen:
            continue
        if chosen not in together:
            # These factors return at every lower bit: their trimming must count at most
            # max(counts) times, whatever the bit at which they are first needed.
            group = resolution.scaled(tail=TAIL_SHARE / max(counts) / len(chosen))
            together[chosen] = _balanced([laws[i] for i in chosen], group, side)
        factor = together[chosen]
        result = factor if result is None else product(result, factor, share, side)
    assert result is not None
    return result


def _balanced(laws: Sequence[Law], resolution: Resolution, side: Side) -> Law:
    """The product of the laws as a balanced tree."""
    level = list(laws)
    while len(level) > 1:
        pairs = range(0, len(level) - 1, 2)
        paired = [product(level[i], level[i + 1], resolution, side) for i in pairs]
        level = paired + level[len(paired) * 2 :]
    return level[0]


def average_of_copies(law: Law, copies: int, resolution: Resolution, side: Side) -> Law:
    """The law of the average of `copies` independent copies of the likelihood ratio."""
    result, have = law, 1
    share = resolution.scaled(tail=TAIL_SHARE)
    for bit in reversed(range(copies.bit_length() - 1)):
        result, have = average(result, result, 0.5, share, side), 2 * have
        if copies >> bit & 1:
            result = average(result, law, have / (have + 1), share, side)
            have += 1
    return result


def rounding_levels(count: int) -> int:
    """How many roundings a count-fold product or average goes through on its longest path."""
    return count.bit_length() - 1 + (count.bit_count() - 1)


def _normalised(law: Law) -> Law:
    """Q sums to one; floating-point drift would otherwise double with every squaring.

    A law that lacks more than that has been cut on purpose and stays as it is.
    """
    drift = float(law.q.sum()) + law.q_zero
    if abs(drift - 1) > LARGEST_DRIFT:
        return law
    return Law(law.loss, law.p / drift, law.q / drift, law.p_infinite, law.q_zero)


def _kernels() -> ModuleType:
    """The compiled loops: Numba takes a third of a second to import, so on first use."""
    from hockeystick.profile.convolution import kernels as compiled

    return compiled
