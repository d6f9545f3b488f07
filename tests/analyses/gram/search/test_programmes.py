"""Mixtures above and below a Gram matrix: certified by a second, full linear programme."""

from __future__ import annotations

import numpy as np
import pytest

from hockeystick.analyses.gram.order import LagBounds
from hockeystick.analyses.gram.order.chains import ring_kernel
from hockeystick.analyses.gram.search.programmes import best_majorant, best_minorant
from in_one_test import in_one_test
from references.gram_certificate import (
    KINDS,
    TOLERANCE,
    certificate,
    matrix_of,
    random_target,
    symmetric,
)


def lags_of(fit, target, *, common):
    """The entries by distance before the amplitudes, with another common part."""
    d = np.arange(target.bins, dtype=float)
    kernel = ring_kernel(fit.rho, target.bins) if target.ring else fit.rho**d
    return common + fit.chain * kernel + fit.own * (d == 0)


def assert_above(target, *, tilt):
    """The majorant less the target is semidefinite plus non-negative, as rows and as matrices."""
    fit = best_majorant(target, tilt)
    # The common part may keep its full size, which is more than with the amplitudes.
    row = lags_of(fit, target, common=fit.common) - target.values
    extra, lowest = certificate(row, ring=target.ring)
    scale = fit.common + fit.chain + fit.own
    assert lowest >= -TOLERANCE * scale
    above = matrix_of(target, row - extra)
    assert np.linalg.eigvalsh(above)[0] >= -10 * TOLERANCE * scale


def assert_below(target, *, tilt):
    """The target less the minorant is, with the common part in its full size."""
    mixture = best_minorant(target, tilt)
    common = mixture.common / target.amplitudes.min() ** 2
    row = target.values - lags_of(mixture, target, common=common)
    extra, lowest = certificate(row, ring=target.ring)
    scale = target.values[0]
    assert lowest >= -TOLERANCE * scale
    below = matrix_of(target, row - extra)
    assert np.linalg.eigvalsh(below)[0] >= -10 * TOLERANCE * scale
    room = matrix_of(target, target.values) - mixture.gram() - below
    assert room.min() >= -10 * TOLERANCE * scale


CHECKS = {"above": assert_above, "below": assert_below}
SHAPES = [
    (check, ring, falling)
    for check in CHECKS
    for ring in (False, True)
    for falling in (False, True)
    if check == "above" or not ring
]


@in_one_test
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("check", "ring", "falling"), SHAPES)
def test_certified(check, ring, falling, kind):
    """One random target of each kind, on rings and lines, with and without amplitudes."""
    rng = np.random.default_rng([1, ring, falling, KINDS.index(kind)])
    target = random_target(rng, kind=kind, ring=ring, falling=falling, most=12)
    CHECKS[check](target, tilt=1.5)


@pytest.mark.slow
@pytest.mark.parametrize("targets", [2, pytest.param(8, marks=pytest.mark.long)])
@pytest.mark.parametrize("kind", KINDS)
def test_certified_in_a_long_search(kind, targets):
    """Targets of every kind and shape, up to 40 bins, at several noises and tilts."""
    for check, ring, falling in SHAPES:
        for seed in range(targets):
            rng = np.random.default_rng([2, ring, falling, seed])
            target = random_target(rng, kind=kind, ring=ring, falling=falling, most=40)
            variance, tilt = 10.0 ** rng.uniform(-2, 2), float(rng.choice([0.8, 1.5, 4.0]))
            CHECKS[check](target, tilt=tilt / variance)


@pytest.mark.slow
@pytest.mark.parametrize(("check", "ring"), [("above", False), ("above", True), ("below", False)])
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
    fit = best_majorant(target, 1.0)
    assert matrix_of(target, lags_of(fit, target, common=fit.common)).sum() >= target.total
    assert best_minorant(target, 1.0).gram().sum() <= target.total


@in_one_test
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
