"""Mixtures above and below a Gram matrix: certified by a second, full linear programme."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from hockeystick.analyses.gram.order.chains import correlations
from hockeystick.analyses.gram.order.lag_bounds import LagBounds
from hockeystick.analyses.gram.search.programmes import (
    best_majorant,
    best_minorant,
    score_of_chain,
    two_band_majorant,
    two_chain_majorant,
)
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


def assert_above(target, *, tilt):
    """The majorant less the target is semidefinite plus non-negative, as rows and as matrices."""
    mixture = best_majorant(target, tilt)
    # The common part may keep its full size, which is more than with the amplitudes.
    row = lags_of(mixture, common=mixture.common) - target.values
    extra, lowest = certificate(row, ring=target.ring)
    scale = mixture.common + mixture.chain + mixture.own
    assert lowest >= -TOLERANCE * scale
    kept = mixture.common * (1 - np.outer(target.amplitudes, target.amplitudes))
    assert kept.min() >= -TOLERANCE * mixture.common
    above = (mixture.gram() - kept) - matrix_of(target, target.values + extra)
    assert np.linalg.eigvalsh(above)[0] >= -10 * TOLERANCE * scale
    assert np.linalg.eigvalsh(mixture.gram())[0] >= -TOLERANCE * scale


def assert_below(target, *, tilt):
    """The target less the minorant is, with the common part in its full size."""
    mixture = best_minorant(target, tilt)
    common = mixture.common / target.amplitudes.min() ** 2
    row = target.values - lags_of(mixture, common=common)
    extra, lowest = certificate(row, ring=target.ring)
    scale = target.values[0]
    assert lowest >= -TOLERANCE * scale
    below = matrix_of(target, row - extra)
    assert np.linalg.eigvalsh(below)[0] >= -10 * TOLERANCE * scale
    room = matrix_of(target, target.values) - mixture.gram() - below
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
    CHECKS[check](target, tilt=1.5)


@pytest.mark.slow
@pytest.mark.parametrize("targets", [2, pytest.param(8, marks=pytest.mark.long)])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("check", CHECKS)
def test_certified_in_a_long_search(check, kind, targets):
    """Targets of every kind and shape, up to 40 bins, at several noises and tilts."""
    for ring, falling in SHAPES:
        for seed in range(targets):
            rng = np.random.default_rng([2, ring, falling, seed])
            target = random_target(rng, kind=kind, ring=ring, falling=falling, most=40)
            variance, tilt = 10.0 ** rng.uniform(-2, 2), float(rng.choice([0.8, 1.5, 4.0]))
            CHECKS[check](target, tilt=tilt / variance)


@pytest.mark.slow
@pytest.mark.parametrize("ring", [False, True])
@pytest.mark.parametrize("check", CHECKS)
def test_certified_for_many_bins(check, ring):
    """Beyond the frequencies and lags that a programme knows: 150 bins."""
    values = np.maximum(1 - np.arange(150) / 30, 0.02)
    target = LagBounds(symmetric(values) if ring else values, np.ones(150), ring)
    CHECKS[check](target, tilt=1.5 / 2.0)


def test_one_lag_that_the_chosen_ones_leave_out():
    """Entries at distance 9 alone, which no hat fits: what is below must not exceed the total."""
    values = np.zeros(14)
    values[[0, 9]] = 1.0, 0.9
    target = LagBounds(values, np.ones(14), ring=False)
    assert best_majorant(target, 1.0).gram().sum() >= target.total
    assert best_minorant(target, 1.0).gram().sum() <= target.total


@pytest.mark.parametrize("variance", [1e-4, 1e4])
@pytest.mark.parametrize("tilt", [0.0, 0.8, 100.0])
@pytest.mark.parametrize("check", CHECKS)
def test_extreme_weights(check, variance, tilt):
    """Variances over eight orders of magnitude, and weights from equal to the diagonal alone."""
    rng = np.random.default_rng(3)
    target = random_target(rng, kind="decaying", ring=False, falling=True, most=8)
    CHECKS[check](target, tilt=tilt / variance)


@pytest.mark.parametrize("bins", [1, 2])
@pytest.mark.parametrize("check", CHECKS)
def test_very_few_bins(check, bins):
    """One and two bins are lines too."""
    target = LagBounds(np.array([1.0, 0.6])[:bins], np.ones(bins), ring=False)
    CHECKS[check](target, tilt=1.0)


def assert_dominates(target, mixture, row):
    """The mixture less the target is semidefinite plus non-negative, as rows and as matrices."""
    scale = mixture.gram().max()
    extra, lowest = certificate(row - target.values, ring=target.ring)
    assert lowest >= -TOLERANCE * scale
    kept = mixture.common * (1 - np.outer(target.amplitudes, target.amplitudes))
    above = mixture.gram() - kept - matrix_of(target, target.values + extra)
    assert np.linalg.eigvalsh(above)[0] >= -10 * TOLERANCE * scale
    assert np.linalg.eigvalsh(mixture.gram())[0] >= -TOLERANCE * scale


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("ring", [False, True])
def test_two_bands_are_certified(kind, ring):
    """A common factor and two bands above random targets, with falling amplitudes."""
    for seed in range(3):
        rng = np.random.default_rng([5, ring, seed])
        target = random_target(rng, kind=kind, ring=ring, falling=not ring, most=14)
        mixture, _ = two_band_majorant(target, 1.5)
        first = target.amplitudes[0]
        here, ahead = mixture.factors[0] / first
        row = np.full(target.bins, mixture.common)
        row[0] += here**2 + ahead**2
        row[1] += here * ahead
        row[-1] += here * ahead * ring
        assert_dominates(target, mixture, row)


WIDE = 0.4 * 0.5 ** np.arange(40) + np.maximum(0.6 - np.arange(40) / 50, 0.0)


@pytest.mark.parametrize("ring", [False, True])
def test_two_chains_are_certified_and_closer(ring):
    """Above a wide band with a peak, and with a better score than the best single chain."""
    values = WIDE if not ring else np.maximum(WIDE, np.append(0.0, WIDE[:0:-1]))
    target = LagBounds(values, np.linspace(1.0, 0.6, 40) if not ring else np.ones(40), ring)
    single = best_majorant(target, 4.0)
    mixture, score = two_chain_majorant(target, single, 4.0)
    assert score < score_of_chain(target, single, 4.0)
    plain = replace(mixture, amplitudes=np.ones(40))
    assert_dominates(target, mixture, plain.gram()[0])


def test_an_exact_band_is_found():
    """Neighbours with a third of the diagonal in common, nothing else: no more is added."""
    target = LagBounds(np.array([0.9, 0.3, *np.zeros(10)]), np.ones(12), ring=False)
    mixture, _ = two_band_majorant(target, 1.0)
    np.testing.assert_allclose(mixture.gram(), matrix_of(target, target.values), atol=1e-8)
