"""Bins in groups, or blocks, that share nothing but a common part: above a matrix, and below it.

A ring (`cut_ring`). Of a ring of b bins every `spacing`-th one is kept, in `copies` groups of the
same size, without `left_out` bins between two groups. All rotations of such a choice are equally
likely to contain a bin, so the pair that reveals the rotation dominates (docs/gram.md, "Revealing
classes"), and it is enough to bound what is kept: a ring of copies * period bins, of which those at
a distance d have been at a distance of spacing * d or more, and share at most what is shared there
or beyond.

Between groups, either mirrors: the kernel of a chain on a ring is smaller than that on a ring of
fewer bins (`ring_kernel`), which is dominated by that of paths of `period` bins, of which
left_out / 2 next to either end are not kept; or, without mirrors, gaps: what bins of two groups
share, left_out + 1 or more apart, is at most a constant, which goes into the common part
(docs/gram.md, "Segments").

Blocks above (`separated_blocks`): with vectors y of one block and z of another, y_i z_j at least
the entry between i and j, the matrix (y, -z)(y, -z)^T cancels these entries and adds y y^T and z
z^T to the blocks. It is positive semidefinite, and so the sum dominates (docs/gram.md, "Blocks that
have nothing in common").

Blocks below (`block_shifts`): without the entries between blocks a Gram matrix is smaller entry by
entry. Within a block with the matrix K the projection of all means on their average has the matrix
s s^T, s = K 1 / sqrt(1^T K 1), and K - s s^T is positive semidefinite. Of matrices s s^T without
negative entries the one with the smallest s is below the others. So the average of independent
one-dimensional mixtures, one for each block and all of them alike, is dominated by the run
(docs/gram.md, "Blocks along one direction").
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from hockeystick._numerics.law import FloatArray
from hockeystick.analyses.gram.order import ChainFit, LagBounds
from hockeystick.analyses.gram.order.chains import ChainMixture, ring_kernel

__all__ = [
    "BlockShifts",
    "Cut",
    "CutTarget",
    "block_shifts",
    "cut_ring",
    "highest_block",
    "separated_blocks",
    "thinned_line",
    "whole_line",
]

# Lags of a certificate beyond the last that counts, over which a chain may die away.
FREE_LAGS = 64


class Cut(NamedTuple):
    """How a ring falls into groups of bins; `closed`, it does not, and the chain is periodic."""

    spacing: int = 1
    copies: int = 1
    left_out: int = 0
    mirrors: bool = True
    closed: bool = False

    def period(self, bins: int) -> int:
        """Bins of a group, with those that are left out beside it."""
        return bins // self.spacing // self.copies


class CutTarget(NamedTuple):
    """What a chain has to dominate for one group, beside the common part of all groups."""

    bounds: LagBounds
    common: float
    bins: int
    beside: int | None
    closed: bool = False

    def mixture(self, fit: ChainFit) -> ChainMixture:
        """One group under a fit that dominates the bounds: equal groups, averaged, dominate."""
        common, chain, own, rho = fit
        if self.closed:
            chain *= float(ring_kernel(rho, self.bins)[0])
        amplitudes = np.ones(self.bins)
        if not (self.bounds.ring or self.bounds.endless):
            amplitudes = self.bounds.amplitudes
        common += self.common
        return ChainMixture(common, chain, own, rho, amplitudes, self.beside, self.closed)


def whole_line(line: LagBounds) -> CutTarget:
    """All bins of a line, in one group."""
    return CutTarget(line, 0.0, line.bins, None)


def thinned_line(line: LagBounds, spacing: int) -> CutTarget:
    """Every `spacing`-th bin of a line, whichever the first.

    The classes have bins // spacing bins or one more; one of these is left out in turn, and those
    behind it are numbered anew. Bounds that do not increase, with the distance and with the
    position, cover that.
    """
    kept = line.bins // spacing
    values = falling(line.values)[::spacing][:kept]
    amplitudes = falling(line.amplitudes)[::spacing][:kept]
    return CutTarget(LagBounds(values, amplitudes, False), 0.0, kept, None)


def cut_ring(ring: LagBounds, cut: Cut, most_lags: int | None = None) -> CutTarget:
    """What is left of a ring without amplitudes.

    A chain between mirrors has to dominate the ring of every `spacing`-th bin, or with `most_lags`
    bounds for any number of bins: entries at so many lags and beyond then count as common to all.
    """
    around, period = ring.bins // cut.spacing, cut.period(ring.bins)
    bins = period - cut.left_out
    half = falling(ring.values[: ring.bins // 2 + 1])
    d = np.arange(around)
    values = half[np.minimum(cut.spacing * np.minimum(d, around - d), half.size - 1)]
    if cut.closed:
        whole = LagBounds(values, np.ones(around), True)
        return CutTarget(whole, 0.0, around, None, closed=True)
    if cut.mirrors:
        bounds, common = LagBounds(values, np.ones(around), True), 0.0
        if most_lags is not None:
            lags = max(min(most_lags, period * cut.copies // 2), 1)
            common = float(values[lags])
            bounds = LagBounds(values[:lags] - common, np.ones(lags), False, endless=True)
        return CutTarget(bounds, common, bins, cut.left_out // 2)
    if cut.copies == 1:
        return CutTarget(LagBounds(values[:bins], np.ones(bins), False), 0.0, bins, None)
    # What is left ends before the gap: bounds for groups of any size.
    far = float(values[cut.left_out + 1])
    near = np.zeros(2 * cut.left_out + FREE_LAGS)
    near[: cut.left_out + 1] = np.maximum(values[: cut.left_out + 1] - far, 0.0)
    return CutTarget(LagBounds(near, np.ones(near.size), False, endless=True), far, bins, None)


def falling(values: FloatArray) -> FloatArray:
    """The smallest sequence above that does not increase."""
    result: FloatArray = np.maximum.accumulate(values[::-1])[::-1]
    return result


# Relative margin of the vectors y and z: products and sums of rounded numbers are off by less than
# 1e-13.
MARGIN = 1e-9
# Relative margin of the shifts: a sum of up to 4,000 entries is off by less than 1e-12.
SHIFT_MARGIN = 1e-12

Vectors = tuple[FloatArray, FloatArray]


def separated_blocks(
    gram: FloatArray, length: int, *, levels: Sequence[float], far: int
) -> list[FloatArray]:
    """The diagonal blocks, of `length` steps each (the last may be shorter), with compensation.

    Blocks more than `far` apart are treated as if they had their largest entry in common
    everywhere. For the others an entry that all share, one of the quantiles `levels`, is
    compensated on its own, and one product of vectors for what exceeds it. Any `levels` and `far`
    give a matrix that dominates. O(n^2) for n steps, and 2 `far` factorisations for each block.
    """
    starts = range(0, gram.shape[0], length)
    slices = [slice(start, start + length) for start in starts]
    highest = np.maximum.reduceat(np.maximum.reduceat(gram, starts, axis=0), starts, axis=1)
    e = np.arange(len(slices))
    distant = np.where(np.abs(e[:, None] - e) > far, np.maximum(highest, 0.0), 0.0)
    blocks = [
        gram[own, own] + (1 + MARGIN) * common
        for own, common in zip(slices, distant.sum(axis=1).tolist(), strict=True)
    ]
    for first, second in zip(*np.nonzero(np.triu(highest > 0, 1) & (distant == 0)), strict=True):
        common = np.maximum(gram[slices[first], slices[second]], 0.0)
        for y, z in _cheapest(common, blocks[first], blocks[second], levels):
            blocks[first] = blocks[first] + np.outer(y, y)
            blocks[second] = blocks[second] + np.outer(z, z)
    return blocks


def highest_block(blocks: list[FloatArray]) -> FloatArray:
    """A Gram matrix above all of them: the largest entries, and more on the diagonal if needed."""
    if len(blocks) == 1:
        return blocks[0]
    highest: FloatArray = np.maximum.reduce(blocks)
    lacking = max(-float(np.linalg.eigvalsh(highest)[0]), 0.0)
    return highest + lacking * np.eye(highest.shape[0])


def _cheapest(
    common: FloatArray, first: FloatArray, second: FloatArray, levels: Sequence[float]
) -> list[Vectors]:
    """Of the valid vectors, those that add least to the largest diagonal entries and the sums."""

    def cost(pairs: list[Vectors]) -> float:
        own, other = (np.column_stack(vectors) for vectors in zip(*pairs, strict=True))
        return _growth(first, own @ own.T) + _growth(second, other @ other.T)

    tried = {0.0, *np.quantile(common, levels).tolist()}
    return min((_vectors(common, level) for level in sorted(tried)), key=cost)


def _growth(block: FloatArray, added: FloatArray) -> float:
    """The relative growth of the largest diagonal entry and of the sum of all entries."""
    longest = np.diagonal(block + added).max() / np.diagonal(block).max()
    return float(longest + added.sum() / block.sum())


def _vectors(common: FloatArray, level: float) -> list[Vectors]:
    """A level for all entries, and one product of vectors for what is above it."""
    pairs = [_product_above(np.maximum(common - level, 0.0))]
    if level > 0:
        root = math.sqrt(level) * (1 + MARGIN)
        pairs.append((np.full(common.shape[0], root), np.full(common.shape[1], root)))
    return pairs


def _product_above(matrix: FloatArray) -> Vectors:
    """y and z with y_i z_j at least matrix_ij; exact for products, the largest entry is kept."""
    largest = float(matrix.max())
    if largest <= 0:
        return np.zeros(matrix.shape[0]), np.zeros(matrix.shape[1])
    z = matrix.max(axis=0) / math.sqrt(largest)
    y = _least_factor(matrix, z)
    z = _least_factor(matrix.T, y)
    balance = math.sqrt(float(z.max() / y.max()))
    return y * (balance * (1 + MARGIN)), z * ((1 + MARGIN) / balance)


def _least_factor(matrix: FloatArray, other: FloatArray) -> FloatArray:
    """The smallest y with y_i other_j at least matrix_ij, where other_j is 0 only for columns 0."""
    some = other > 0
    factor: FloatArray = (matrix[:, some] / other[some]).max(axis=1)
    return factor


class BlockShifts(NamedTuple):
    """So many `blocks` with the same shifts; the other bins, 1 - `share` of all, say nothing."""

    shifts: FloatArray
    blocks: int
    share: float


def block_shifts(kernel: FloatArray, length: int) -> BlockShifts:
    """Blocks of `length` neighbours, without those that would make all shifts smaller.

    The matrix has no negative entries. The order within a block does not matter, so shifts are
    sorted before they are compared. A bin that is left out has the likelihood ratio 1, its mean: a
    smaller one in convex order. O(bins^2).
    """
    bins = kernel.shape[0]
    whole = bins // length
    cut = kernel[: whole * length, : whole * length].reshape(whole, length, whole, length)
    each = np.arange(whole)
    rows = cut[each, :, each, :].sum(axis=2)
    totals = rows.sum(axis=1)
    lengths = np.sqrt(totals)[:, None]
    # A block without any signal has no direction, and no shift.
    shifts = np.sort(np.divide(rows, lengths, out=np.zeros_like(rows), where=lengths > 0), axis=1)
    order = np.argsort(-totals, kind="stable")
    least = np.minimum.accumulate(shifts[order], axis=0)
    # Any number of blocks is valid. At high noise the mean of all shifts decides, of which bins
    # that are left out have none.
    kept = int((least.sum(axis=1) * np.arange(1, whole + 1)).argmax()) + 1
    shortest = np.maximum(least[kept - 1], 0.0) * (1 - SHIFT_MARGIN)
    return BlockShifts(shortest, kept, kept * length / bins)
