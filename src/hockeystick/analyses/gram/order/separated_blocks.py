"""A Gram matrix above a given one whose blocks have nothing in common.

With vectors y of one block and z of another, y_i z_j at least what i and j have in common, the
matrix (y, -z)(y, -z)^T takes that away and adds y y^T and z z^T to the blocks themselves. It is
positive semidefinite, and so the sum dominates (docs/gram.md).
"""

from __future__ import annotations

import math

import numpy as np

from hockeystick._numerics.law import FloatArray

__all__ = ["highest_block", "separated_blocks"]

# What a pair of blocks has in common everywhere, as a quantile of its entries; and nothing.
LEVELS = (0.0, 0.5, 0.9, 1.0)
# Blocks that are farther apart are treated as if they had their largest entry in common everywhere.
FAR = 4
# Products and sums of rounded numbers, relative.
MARGIN = 1e-9

Payment = tuple[FloatArray, FloatArray]


def separated_blocks(gram: FloatArray, length: int) -> list[FloatArray]:
    """The diagonal blocks, of `length` steps each (the last one may be shorter), with payments.

    O(n^2) for n steps, and 2 FAR factorisations for each block.
    """
    starts = range(0, gram.shape[0], length)
    slices = [slice(start, start + length) for start in starts]
    highest = np.maximum.reduceat(np.maximum.reduceat(gram, starts, axis=0), starts, axis=1)
    e = np.arange(len(slices))
    distant = np.where(np.abs(e[:, None] - e) > FAR, np.maximum(highest, 0.0), 0.0)
    blocks = [
        gram[own, own] + (1 + MARGIN) * common
        for own, common in zip(slices, distant.sum(axis=1).tolist(), strict=True)
    ]
    for first, second in zip(*np.nonzero(np.triu(highest > 0, 1) & (distant == 0)), strict=True):
        common = np.maximum(gram[slices[first], slices[second]], 0.0)
        for y, z in _cheapest(common, blocks[first], blocks[second]):
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


def _cheapest(common: FloatArray, first: FloatArray, second: FloatArray) -> list[Payment]:
    """The payments that add least to the largest diagonal entries and to the sums."""

    def cost(payments: list[Payment]) -> float:
        own, other = (np.column_stack(vectors) for vectors in zip(*payments, strict=True))
        return _burden(first, own @ own.T) + _burden(second, other @ other.T)

    levels = {0.0, *np.quantile(common, LEVELS).tolist()}
    return min((_payments(common, level) for level in sorted(levels)), key=cost)


def _burden(block: FloatArray, payment: FloatArray) -> float:
    """How much the largest diagonal entry and the sum of all entries grow, relatively."""
    longest = np.diagonal(block + payment).max() / np.diagonal(block).max()
    return float(longest + payment.sum() / block.sum())


def _payments(common: FloatArray, level: float) -> list[Payment]:
    """A level for all entries, and one product of vectors for what is above it."""
    payments = [_product_above(np.maximum(common - level, 0.0))]
    if level > 0:
        root = math.sqrt(level) * (1 + MARGIN)
        payments.append((np.full(common.shape[0], root), np.full(common.shape[1], root)))
    return payments


def _product_above(matrix: FloatArray) -> Payment:
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
