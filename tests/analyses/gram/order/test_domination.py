"""Whatever is proposed, what is certified dominates, or is dominated."""

from __future__ import annotations

import numpy as np
import pytest

from hockeystick.analyses.gram.order import (
    LagBounds,
    LagFamily,
    chain_below,
    diagonal_below,
    independent_above,
)
from hockeystick.analyses.gram.order.chains import ring_kernel
from in_one_test import in_one_test
from references.gram_certificate import KINDS, matrix_of, random_target

TOLERANCE = 1e-9


def parts_of(rng, family):
    """Amplitudes and entries N that no programme would propose."""
    amplitudes = rng.exponential(size=family.rows.shape[1]) * family.lags[0]
    extra = rng.exponential(size=family.lags.size) * (rng.random(family.lags.size) < 0.3)
    extra[0] = 0.0
    return amplitudes, extra


def assert_dominates(larger, smaller, nonnegative):
    """larger - smaller - N is positive semidefinite for the given N >= 0."""
    assert nonnegative.min() >= 0
    lowest = np.linalg.eigvalsh(larger - smaller - nonnegative)[0]
    assert lowest >= -TOLERANCE * np.abs(larger).max()


def entries(target, extra):
    """N as a matrix, with the amplitudes of the target."""
    half = np.zeros(target.bins)
    half[: min(extra.size, target.bins)] = extra[: target.bins]
    if target.ring:
        d = np.arange(target.bins)
        half = extra[np.minimum(d, target.bins - d)]
    return matrix_of(target, half)


def fitted(target, rho, amplitudes):
    """The matrix with the certified amplitudes, the common part in its full size."""
    common, chain, own = amplitudes
    d = np.arange(target.bins, dtype=float)
    row = chain * (ring_kernel(rho, target.bins) if target.ring else rho**d) + own * (d == 0)
    return common + matrix_of(target, row)


@in_one_test
@pytest.mark.parametrize("ring", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_any_proposal_is_raised_above_the_target(kind, ring):
    """Random amplitudes and N: the diagonal gets what the spectrum lacks."""
    rng = np.random.default_rng([11, ring, KINDS.index(kind)])
    for _ in range(5):
        target = random_target(rng, kind=kind, ring=ring, falling=True)
        family = LagFamily(target, 0.6)
        amplitudes, extra = parts_of(rng, family)
        certified = family.raised(amplitudes, extra)
        assert np.array_equal(certified[:-1], amplitudes[:-1])
        kept = certified[0] * (1 - np.outer(target.amplitudes, target.amplitudes))
        smaller, larger = matrix_of(target, target.values), fitted(target, 0.6, certified)
        assert_dominates(larger, smaller, entries(target, extra) + kept)


@in_one_test
@pytest.mark.parametrize("ring", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_an_endless_certificate_holds_for_any_number_of_bins(kind, ring):
    """One row of S, certified once: matrices of many sizes with it are positive semidefinite."""
    rng = np.random.default_rng([15, ring, KINDS.index(kind)])
    few = random_target(rng, kind=kind, ring=False, falling=False, most=9)
    target = LagBounds(few.values, np.ones(few.bins), ring=False, endless=True)
    family = LagFamily(target, 0.6)
    amplitudes, extra = parts_of(rng, family)
    amplitudes[0] = 0.0
    row = family.rows @ family.raised(amplitudes, extra) - family.lags - extra
    for bins in (2 * row.size, 37, 150):
        d = np.abs(np.subtract.outer(np.arange(bins), np.arange(bins)))
        d = np.minimum(d, bins - d) if ring else d
        square = np.where(d < row.size, row[np.minimum(d, row.size - 1)], 0.0)
        assert np.linalg.eigvalsh(square)[0] >= -TOLERANCE * np.abs(row).max()


def test_an_endless_certificate_needs_its_margin_between_points():
    """A polynomial with a narrow minimum between the points of a coarse grid is not missed."""
    target = LagBounds(np.ones(2), np.ones(2), ring=False, endless=True)
    family = LagFamily(target, 0.5)
    row = np.array([1.0, 0.0, -0.5])
    assert family._spectrum(row)[-1] <= family._spectrum(row)[:-1].min() <= 1e-12


@pytest.mark.parametrize("kind", KINDS)
def test_any_proposal_is_lowered_below_the_target_or_refused(kind):
    """The last amplitude is reduced, or there is nothing to reduce."""
    rng = np.random.default_rng([13, KINDS.index(kind)])
    certified = 0
    for factor in (1.0, 0.3, 0.05, 0.005):
        target = random_target(rng, kind=kind, ring=False, falling=True)
        family = LagFamily(target, 0.6)
        amplitudes, _ = parts_of(rng, family)
        found = family.lowered(amplitudes, np.zeros(family.lags.size), factor)
        if found is None:
            continue
        certified += 1
        mixture = chain_below(target, 0.6, found)
        common = found[0] * np.outer(target.amplitudes, target.amplitudes)
        larger = matrix_of(target, target.values)
        assert_dominates(larger, mixture.gram(), np.maximum(common - mixture.common, 0.0))
    assert certified or kind != "decaying"


@pytest.mark.parametrize("kind", KINDS)
def test_there_is_always_a_majorant_and_a_minorant(kind):
    """The largest entry for all pairs is entrywise larger, the diagonal alone smaller."""
    target = random_target(np.random.default_rng(14), kind=kind, ring=False, falling=False)
    matrix = matrix_of(target, target.values)
    for rho in (0.1, 0.9):
        above = fitted(target, rho, independent_above(target))
        below = chain_below(target, rho, diagonal_below(target)).gram()
        assert np.all(above >= matrix * (1 - 1e-14))
        assert np.all(below <= matrix)
