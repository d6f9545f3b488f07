"""Mixtures above and below a Gram matrix: certified by a second, full linear programme."""

from __future__ import annotations

import numpy as np
import pytest

from hockeystick.analyses.gram.law.chains import correlations
from hockeystick.analyses.gram.order.lag_bounds import LagBounds, cover, floor, ring_cover
from hockeystick.analyses.gram.order.majorants import best_majorant, best_minorant
from references.gram_certificate import (
    KINDS,
    TOLERANCE,
    certificate,
    matrix_of,
    random_target,
    symmetric,
)


def lags_of(mixture, *, common):
    """The mixture's entries by distance before the amplitudes, with another common part."""
    r = correlations(mixture.rho, mixture.bins, ring=mixture.ring)
    return common + mixture.chain * r + mixture.own * (np.arange(mixture.bins) == 0)


def assert_above(target, *, variance, boldness):
    """The majorant less the target is semidefinite plus non-negative, as rows and as matrices."""
    mixture = best_majorant(target, variance, boldness)
    # The common part may keep its full size, which is more than with the amplitudes.
    row = variance * lags_of(mixture, common=mixture.common) - target.values
    extra, lowest = certificate(row, ring=target.ring)
    scale = variance * (mixture.common + mixture.chain + mixture.own)
    assert lowest >= -TOLERANCE * scale
    kept = mixture.common * (1 - np.outer(target.amplitudes, target.amplitudes))
    assert kept.min() >= -TOLERANCE * mixture.common
    above = variance * (mixture.gram() - kept) - matrix_of(target, target.values + extra)
    assert np.linalg.eigvalsh(above)[0] >= -10 * TOLERANCE * scale
    assert np.linalg.eigvalsh(mixture.gram())[0] * variance >= -TOLERANCE * scale


def assert_below(target, *, variance, boldness):
    """The target less the minorant is, with the common part in its full size."""
    mixture = best_minorant(target, variance, boldness)
    common = mixture.common / target.amplitudes.min() ** 2
    row = target.values - variance * lags_of(mixture, common=common)
    extra, lowest = certificate(row, ring=target.ring)
    scale = target.values[0]
    assert lowest >= -TOLERANCE * scale
    below = matrix_of(target, row - extra)
    assert np.linalg.eigvalsh(below)[0] >= -10 * TOLERANCE * scale
    room = matrix_of(target, target.values) - variance * mixture.gram() - below
    assert room.min() >= -10 * TOLERANCE * scale


CHECKS = {"above": assert_above, "below": assert_below}
SHAPES = [(ring, falling) for ring in (False, True) for falling in (False, True)]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("ring", "falling"), SHAPES)
@pytest.mark.parametrize("check", CHECKS)
def test_certified(check, ring, falling, kind):
    """One random target of each kind, on rings and lines, with and without amplitudes."""
    rng = np.random.default_rng([1, ring, falling, KINDS.index(kind)])
    target = random_target(rng, kind=kind, ring=ring, falling=falling, most=12)
    CHECKS[check](target, variance=1.0, boldness=1.5)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("check", CHECKS)
def test_certified_in_a_long_search(check, kind):
    """Eight targets of every kind and shape, up to 40 bins, at several noises and boldnesses."""
    for ring, falling in SHAPES:
        for seed in range(8):
            rng = np.random.default_rng([2, ring, falling, seed])
            target = random_target(rng, kind=kind, ring=ring, falling=falling, most=40)
            variance, boldness = 10.0 ** rng.uniform(-2, 2), float(rng.choice([0.8, 1.5, 4.0]))
            CHECKS[check](target, variance=variance, boldness=boldness)


@pytest.mark.slow
@pytest.mark.parametrize("ring", [False, True])
@pytest.mark.parametrize("check", CHECKS)
def test_certified_for_many_bins(check, ring):
    """Beyond the frequencies and lags that a programme knows: 150 bins."""
    values = np.maximum(1 - np.arange(150) / 30, 0.02)
    target = LagBounds(symmetric(values) if ring else values, np.ones(150), ring)
    CHECKS[check](target, variance=2.0, boldness=1.5)


def test_one_lag_that_the_chosen_ones_leave_out():
    """Entries at distance 9 alone, which no hat fits: what is below must not exceed the total."""
    values = np.zeros(14)
    values[[0, 9]] = 1.0, 0.9
    target = LagBounds(values, np.ones(14), ring=False)
    assert best_majorant(target, 1.0, 1.0).gram().sum() >= target.total
    assert best_minorant(target, 1.0, 1.0).gram().sum() <= target.total


@pytest.mark.parametrize("variance", [1e-4, 1e4])
@pytest.mark.parametrize("boldness", [0.0, 0.8, 100.0])
@pytest.mark.parametrize("check", CHECKS)
def test_extreme_weights(check, variance, boldness):
    """Variances over eight orders of magnitude, and weights from equal to the diagonal alone."""
    rng = np.random.default_rng(3)
    target = random_target(rng, kind="decaying", ring=False, falling=True, most=8)
    CHECKS[check](target, variance=variance, boldness=boldness)


@pytest.mark.parametrize("bins", [1, 2])
@pytest.mark.parametrize("check", CHECKS)
def test_very_few_bins(check, bins):
    """One and two bins are lines too."""
    target = LagBounds(np.array([1.0, 0.6])[:bins], np.ones(bins), ring=False)
    CHECKS[check](target, variance=1.0, boldness=1.0)


def random_gram(rng):
    """Non-negative, of any means: some with a falling diagonal, some that close to a ring."""
    bins = int(rng.integers(2, 15))
    turns = rng.random() < 0.5
    factor = np.array([np.roll(np.exp(-np.arange(bins)), shift) for shift in range(bins)])
    factor = factor if turns else np.triu(factor)
    factor = factor + 0.1 * rng.random((bins, bins))
    return factor @ factor.T


@pytest.mark.parametrize("seed", range(20))
def test_bounds_by_distance(seed):
    """`cover` and `ring_cover` are nowhere below the matrix, `floor` is nowhere above it."""
    gram = random_gram(np.random.default_rng(seed))
    for bound in (cover(gram), ring_cover(gram)):
        assert np.all(matrix_of(bound, bound.values) >= gram * (1 - 1e-14))
        assert bound.total == pytest.approx(matrix_of(bound, bound.values).sum(), rel=1e-12)
        assert not bound.ring or np.array_equal(bound.values[1:], bound.values[:0:-1])
    low = floor(gram)
    assert np.all(matrix_of(low, low.values) <= gram * (1 + 1e-14))
    for bound in (cover(gram), low):
        assert bound.amplitudes[0] <= 1
        assert np.all(np.diff(bound.amplitudes) <= 0)


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("spacing", [2, 3])
def test_thinned_bounds_cover_every_residue_class(seed, spacing):
    """Every `spacing`-th bin, wherever one starts."""
    gram = random_gram(np.random.default_rng(seed))
    bins = gram.shape[0] // spacing * spacing
    if bins == 0:
        pytest.skip("fewer bins than the spacing")
    gram = gram[:bins, :bins]
    thin = cover(gram).thinned(spacing)
    for first in range(spacing):
        part = gram[first::spacing, first::spacing]
        assert np.all(matrix_of(thin, thin.values) >= part * (1 - 1e-14))


@pytest.mark.parametrize("seed", range(10))
def test_an_arc_covers_every_rotation(seed):
    """All but two neighbouring bins of a ring, wherever it is cut open."""
    gram = random_gram(np.random.default_rng(seed))
    bins = gram.shape[0]
    dropped = min(2, bins - 1)
    arc = ring_cover(gram).cut_open(dropped)
    for first in range(bins):
        kept = (first + np.arange(bins - dropped)) % bins
        assert np.all(matrix_of(arc, arc.values) >= gram[np.ix_(kept, kept)] * (1 - 1e-14))
