"""Blocks of bins along one direction: below the matrix, alike, and worth what they say."""

from __future__ import annotations

import math

import numpy as np
import pytest

from hockeystick.analyses.gram.law.block_shifts import block_lengths, block_shifts
from hockeystick.profile import Profile
from hockeystick.profile.expressions.mechanisms import random_shift
from references.sum_law import band, ratios


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


def test_lengths_reach_from_one_bin_to_all():
    """Powers of two in between."""
    assert block_lengths(1) == [1]
    assert block_lengths(2) == [1, 2]
    assert block_lengths(12) == [1, 2, 4, 8, 12]
    assert block_lengths(16) == [1, 2, 4, 8, 16]


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
