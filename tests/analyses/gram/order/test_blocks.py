"""Blocks that share nothing: above a matrix with compensation, below it along one direction."""

from __future__ import annotations

import math
from functools import partial

import numpy as np
import pytest

import hockeystick as hs
from hockeystick.analyses.gram.order.groups import block_shifts, highest_block
from hockeystick.analyses.gram.order.groups import separated_blocks as separated
from hockeystick.profile import Profile
from hockeystick.profile.expressions.mechanisms import random_shift
from in_one_test import in_one_test
from references.gram_certificate import least_form, random_columns
from references.sum_law import band, ratios

# Quantiles of the common level, and what counts as far apart: any values give a majorant.
separated_blocks = partial(separated, levels=(0.0, 0.5, 0.9, 1.0), far=4)


def diagonal_of(blocks):
    """The matrix that has the blocks on its diagonal, and nothing else."""
    ends = np.cumsum([len(block) for block in blocks])
    whole = np.zeros((ends[-1], ends[-1]))
    for block, end in zip(blocks, ends, strict=True):
        whole[end - len(block) : end, end - len(block) : end] = block
    return whole


@in_one_test
@pytest.mark.parametrize("seed", range(12))
def test_separated_blocks_dominate(seed):
    """No non-negative vector sees less than before, also with a block that is cut off."""
    rng = np.random.default_rng(seed)
    gram = random_columns(rng, int(rng.integers(3, 16)))
    length = int(rng.integers(1, len(gram)))
    blocks = separated_blocks(gram, length)
    assert [len(block) for block in blocks[:-1]] == [length] * (len(blocks) - 1)
    assert all(np.linalg.eigvalsh(block)[0] >= -1e-9 * block.max() for block in blocks)
    assert least_form(diagonal_of(blocks) - gram, rng) >= -1e-12


def test_a_product_is_compensated_exactly():
    """Entries y z^T between blocks add y y^T and z z^T: the total of a common part is kept."""
    gram = np.full((6, 6), 2.0) + np.eye(6)
    blocks = separated_blocks(gram, 3)
    assert sum(block.sum() for block in blocks) == pytest.approx(gram.sum(), rel=1e-6)


def test_blocks_far_apart_are_compensated_by_their_largest_entry():
    """Many short blocks of a strategy with long memory, and still no more than twice the total."""
    gram = hs.strategies.bsr(40, 40).gram(spacing=40)
    blocks = separated_blocks(gram, 2)
    rng = np.random.default_rng(1)
    assert least_form(diagonal_of(blocks) - gram, rng) >= -1e-12
    assert sum(block.sum() for block in blocks) < 2 * gram.sum()


@in_one_test
@pytest.mark.parametrize("seed", range(8))
def test_the_highest_block_is_a_gram_matrix_above_all(seed):
    """Entry by entry, and positive semidefinite."""
    rng = np.random.default_rng(seed)
    blocks = [random_columns(rng, 5) for _ in range(3)]
    highest = highest_block(blocks)
    assert all(np.all(highest >= block) for block in blocks)
    assert np.linalg.eigvalsh(highest)[0] >= -1e-9 * highest.max()


def banded(bins, bands, *, cut=True):
    """The Gram matrix of columns with a few bands; those at the end are cut off, or not."""
    rows = bins if cut else bins + bands - 1
    columns = np.zeros((rows, bins))
    for k in range(bands):
        i = np.arange(min(bins, rows - k))
        columns[i + k, i] = 1 / math.sqrt(k + 1)
    return columns.T @ columns


def blocks_of(kernel, length):
    """The diagonal blocks."""
    return [kernel[i : i + length, i : i + length] for i in range(0, len(kernel), length)]


@in_one_test
@pytest.mark.parametrize("length", [1, 2, 3, 5, 8, 24])
@pytest.mark.parametrize("seed", range(3))
def test_shifts_are_below_every_block_that_is_kept(length, seed):
    """Sorted like the block's own: what remains is positive semidefinite plus non-negative."""
    rng = np.random.default_rng([length, seed])
    columns = rng.random((30, 24)) * (rng.random((30, 24)) < 0.4)
    kernel = columns.T @ columns
    shifts, count, share = block_shifts(kernel, length)
    whole = blocks_of(kernel[: 24 - 24 % length, : 24 - 24 % length], length)
    assert 1 <= count <= len(whole)
    assert share == pytest.approx(count * length / 24)
    below = 0
    for block in whole:
        own = block.sum(axis=1) / math.sqrt(block.sum())
        rest = block - np.outer(own, own)
        assert np.linalg.eigvalsh(rest)[0] > -1e-12 * block.max()
        below += bool(np.all(shifts <= np.sort(own)))
    assert below >= count


def test_columns_that_are_cut_off_do_not_lower_the_others():
    """Single bins leave out those that are cut off; longer blocks the last one, if it is few."""
    kernel = banded(40, 4)
    shifts, count, share = block_shifts(kernel, 1)
    assert shifts[0] == pytest.approx(math.sqrt(kernel[0, 0]))
    assert (count, share) == (37, 37 / 40)
    shifts, count, share = block_shifts(kernel, 4)
    own = kernel[:4, :4].sum(axis=1) / math.sqrt(kernel[:4, :4].sum())
    assert shifts == pytest.approx(np.sort(own))
    assert (count, share) == (9, 0.9)
    assert block_shifts(kernel, 20)[1:] == (2, 1.0)


def test_bins_that_fill_no_block_say_nothing():
    """Three blocks of three, and one bin that is left."""
    shifts, count, share = block_shifts(banded(10, 2, cut=False), 3)
    assert (shifts.size, count, share) == (3, 3, 0.9)


def test_blocks_without_signal_have_no_shift():
    """They are left out, or if there are no others nothing is said."""
    assert block_shifts(np.diag([1.0, 0.0, 1.0, 1.0]), 1)[1:] == (3, 0.75)
    shifts, _, _ = block_shifts(np.zeros((4, 4)), 2)
    assert shifts.tolist() == [0.0, 0.0]


@in_one_test
@pytest.mark.parametrize("remove", [True, False])
@pytest.mark.parametrize("length", [1, 3, 6, 12])
def test_simulated_mixtures_leak_more(length, remove):
    """Never above a band around the truth, and the band says something."""
    kernel = banded(12, 3) / 2
    rng = np.random.default_rng(3)
    draws, which = rng.standard_normal((40_000, 12)), rng.random(40_000)
    shifts, count, share = block_shifts(kernel, length)
    one = random_shift(shifts.tolist(), [1 / length] * length)
    profile = Profile(one.allocate(count).subsample(share))
    directions = ("remove",) if remove else ("add",)
    for epsilon in (0.1, 0.4):
        low, high = band(ratios(kernel, draws, which, remove=remove), epsilon, remove=remove)
        found = profile.delta_bounds(epsilon, directions=directions, accuracy=1e-3).lower
        assert 0.1 * low < found <= high
