"""Payments for what blocks have in common, and covers of matrices whose edges differ."""

from __future__ import annotations

import numpy as np
import pytest

import hockeystick as hs
from hockeystick.analyses.gram.order.paid_cover import paid_cover
from hockeystick.analyses.gram.order.separated_blocks import highest_block, separated_blocks


def random_gram(rng, steps):
    """Of non-negative columns, banded or not."""
    columns = np.tril(rng.exponential(size=(steps, steps)))
    far = np.subtract.outer(np.arange(steps), np.arange(steps)) > rng.integers(1, steps + 1)
    columns = np.where(far, 0.0, columns) + 0.3 * np.eye(steps)
    return columns.T @ columns


def diagonal_of(blocks):
    """The matrix that has the blocks on its diagonal, and nothing else."""
    ends = np.cumsum([len(block) for block in blocks])
    whole = np.zeros((ends[-1], ends[-1]))
    for block, end in zip(blocks, ends, strict=True):
        whole[end - len(block) : end, end - len(block) : end] = block
    return whole


def least_form(change, rng):
    """The smallest of x'(change)x over many x >= 0 of one to all coordinates, relatively."""
    size = len(change)
    x = rng.exponential(size=(20_000, size)) * (
        rng.random((20_000, size)) < rng.random((20_000, 1))
    )
    pairs = np.eye(size)[:, None, :] + np.eye(size)[None, :, :]
    x = np.concatenate((x, pairs.reshape(-1, size), np.ones((1, size))))
    forms = np.einsum("ni,ij,nj->n", x, change, x)
    return float((forms / np.maximum((x**2).sum(axis=1), 1e-300)).min() / np.abs(change).max())


@pytest.mark.parametrize("seed", range(12))
def test_separated_blocks_dominate(seed):
    """No non-negative vector sees less than before, also with a block that is cut off."""
    rng = np.random.default_rng(seed)
    gram = random_gram(rng, int(rng.integers(3, 16)))
    length = int(rng.integers(1, len(gram)))
    blocks = separated_blocks(gram, length)
    assert [len(block) for block in blocks[:-1]] == [length] * (len(blocks) - 1)
    assert all(np.linalg.eigvalsh(block)[0] >= -1e-9 * block.max() for block in blocks)
    assert least_form(diagonal_of(blocks) - gram, rng) >= -1e-12


def test_a_product_is_paid_for_exactly():
    """Blocks y z^T apart pay y y^T and z z^T: the total of a common part is kept."""
    gram = np.full((6, 6), 2.0) + np.eye(6)
    blocks = separated_blocks(gram, 3)
    assert sum(block.sum() for block in blocks) == pytest.approx(gram.sum(), rel=1e-6)


def test_blocks_far_apart_pay_for_their_largest_entry():
    """Many short blocks of a strategy with long memory, and still no more than twice the total."""
    gram = hs.strategies.bsr(40, 40).gram(spacing=40)
    blocks = separated_blocks(gram, 2)
    rng = np.random.default_rng(1)
    assert least_form(diagonal_of(blocks) - gram, rng) >= -1e-12
    assert sum(block.sum() for block in blocks) < 2 * gram.sum()


@pytest.mark.parametrize("seed", range(8))
def test_the_highest_block_is_a_gram_matrix_above_all(seed):
    """Entry by entry, and positive semidefinite."""
    rng = np.random.default_rng(seed)
    blocks = [random_gram(rng, 5) for _ in range(3)]
    highest = highest_block(blocks)
    assert all(np.all(highest >= block) for block in blocks)
    assert np.linalg.eigvalsh(highest)[0] >= -1e-9 * highest.max()


@pytest.mark.parametrize("seed", range(12))
def test_paid_covers_dominate(seed):
    """Bounds by distance, whose diagonal pays for entries that they lower."""
    rng = np.random.default_rng(seed)
    gram = random_gram(rng, int(rng.integers(2, 14)))
    bound = paid_cover(gram)
    assert bound.amplitudes.max() == 1.0
    d = np.abs(np.subtract.outer(np.arange(bound.bins), np.arange(bound.bins)))
    matrix = bound.values[d] * np.outer(bound.amplitudes, bound.amplitudes)
    assert least_form(matrix - gram, rng) >= -1e-12
    if bound.ring:
        assert np.array_equal(bound.values[1:], bound.values[:0:-1])


def test_a_paid_cover_keeps_the_middle():
    """Edges that pay for the next block hardly raise the total of the rest."""
    gram = hs.strategies.bsr(90, 4).gram(spacing=90)
    block = separated_blocks(gram, 30)[1]
    assert paid_cover(block).total < 1.02 * block.sum()
