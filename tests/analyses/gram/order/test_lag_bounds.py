"""Bounds by distance: nowhere on the wrong side, or compensated on the diagonal."""

from __future__ import annotations

import numpy as np
import pytest

import hockeystick as hs
from hockeystick.analyses.gram.order import (
    by_distance,
    compensated_cover,
    cover,
    floor,
    ring_cover,
)
from hockeystick.analyses.gram.order.groups import separated_blocks
from in_one_test import in_one_test
from references.gram_certificate import least_form, matrix_of, random_columns


def random_gram(rng):
    """Non-negative, of any means: some with a falling diagonal, some that close to a ring."""
    bins = int(rng.integers(2, 15))
    closes = rng.random() < 0.5
    factor = np.array([np.roll(np.exp(-np.arange(bins)), shift) for shift in range(bins)])
    factor = factor if closes else np.triu(factor)
    factor = factor + 0.1 * rng.random((bins, bins))
    return factor @ factor.T


@in_one_test
@pytest.mark.parametrize("seed", range(20))
def test_bounds_by_distance(seed):
    """`cover` and `ring_cover` are nowhere below the matrix, `floor` is nowhere above it."""
    gram = random_gram(np.random.default_rng(seed))
    for bound in (cover(gram), ring_cover(by_distance(gram))):
        assert np.all(matrix_of(bound, bound.values) >= gram * (1 - 1e-14))
        assert bound.total == pytest.approx(matrix_of(bound, bound.values).sum(), rel=1e-12)
        assert not bound.ring or np.array_equal(bound.values[1:], bound.values[:0:-1])
    low = floor(gram)
    assert np.all(matrix_of(low, low.values) <= gram * (1 + 1e-14))
    for bound in (cover(gram), low):
        assert bound.amplitudes[0] <= 1
        assert np.all(np.diff(bound.amplitudes) <= 0)


@in_one_test
@pytest.mark.parametrize("seed", range(12))
def test_compensated_covers_dominate(seed):
    """Bounds by distance, whose diagonal compensates for entries that they lower."""
    rng = np.random.default_rng(seed)
    gram = random_columns(rng, int(rng.integers(2, 14)))
    bound = compensated_cover(gram)
    assert bound.amplitudes.max() == 1.0
    d = np.abs(np.subtract.outer(np.arange(bound.bins), np.arange(bound.bins)))
    matrix = bound.values[d] * np.outer(bound.amplitudes, bound.amplitudes)
    assert least_form(matrix - gram, rng) >= -1e-12
    if bound.ring:
        assert np.array_equal(bound.values[1:], bound.values[:0:-1])


def test_a_compensated_cover_keeps_the_middle():
    """Edges that compensate for the next block hardly raise the total of the rest."""
    gram = hs.strategies.bsr(90, 4).gram(spacing=90)
    block = separated_blocks(gram, 30, levels=(0.0, 0.5, 0.9, 1.0), far=4)[1]
    assert compensated_cover(block).total < 1.02 * block.sum()
