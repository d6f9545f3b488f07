"""Moments under a budget: never below the truth, better with more budget, honest about both."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from hockeystick import strategies
from hockeystick._numerics.moments import PowerMoments
from hockeystick.analyses.renyi import mixture_moments as bounds
from hockeystick.analyses.renyi import ring
from in_one_test import in_one_test
from references.ring import dictionary_moment, enumerated_moment, weakened

BUDGETS = (0.0, 1e2, 1e4, 1e6, 1e8)
# Logs of moments: what floating point may take from the truth, and what rounding up may add.
BELOW, ABOVE = 1e-13, 1e-10
NOISE = 2.0


def random_gram(rng, bins, extent):
    """Inner products of vectors that are not negative, larger near the diagonal."""
    i = np.arange(bins)
    means = rng.random((bins, bins)) * np.exp(-np.abs(i[:, None] - i) / extent)
    return means.T @ means


DENSE = {
    "bisr": strategies.bisr(18, bands=3).gram(spacing=6) / NOISE**2,
    "bisr, incomplete epoch": strategies.bisr(16, bands=2).gram(spacing=6) / NOISE**2,
    "band-inv-mf": strategies.band_inv_mf(12, bands=3).gram(spacing=6) / NOISE**2,
    "blt": strategies.blt(12, buffers=2).gram(spacing=6) / NOISE**2,
    "wide bsr": strategies.bsr(18, bands=5).gram(spacing=6) / NOISE**2,
    "near": random_gram(np.random.default_rng(1), 6, 0.7),
    "far": random_gram(np.random.default_rng(2), 6, 5.0),
    "one for all": np.full((6, 6), 0.4),
    "no noise to speak of": strategies.bisr(18, bands=3).gram(spacing=6) / 0.2**2,
}
BANDED = {
    "bsr, ring": (strategies.bsr(90, bands=2).gram(spacing=30) / NOISE**2, 2, 14),
    "bsr, line": (strategies.bsr(30, bands=3).gram(spacing=30) / NOISE**2, 3, 10),
    "bsr, incomplete": (strategies.bsr(70, bands=3).gram(spacing=24) / NOISE**2, 3, 8),
    "identity": (strategies.identity(45).gram(spacing=20) / NOISE**2, 1, 20),
}


def assert_not_below(found, truth):
    """Upper bounds on logs, except for what floating point takes."""
    assert np.all(found >= truth - BELOW * (1 + np.abs(truth)))


@in_one_test
@pytest.mark.parametrize("budget", BUDGETS)
@pytest.mark.parametrize("case", DENSE)
def test_dense_matrices_are_bounded_from_above(case, budget):
    """Every order against all tuples of bins, exactly where it says so."""
    kernel = DENSE[case]
    truth = np.array([enumerated_moment(kernel, a) for a in range(5)])
    moments, kept = bounds.mixture_moments(kernel, 4, budget)
    assert moments.log.shape == truth.shape
    assert len(kept) == truth.size
    assert_not_below(moments.log, truth)
    exact = np.array([k.exact for k in kept])
    assert np.all(moments.log[exact] <= truth[exact] + ABOVE * (1 + truth[exact]))
    assert exact[:3].all()
    assert exact[3] or len(kernel) ** 3 > bounds.SEARCH.triples * budget


@in_one_test
@pytest.mark.parametrize("budget", BUDGETS)
@pytest.mark.parametrize("case", BANDED)
def test_banded_matrices_are_bounded_from_above(case, budget):
    """Orders that only the exact programme reaches, with budgets that do not reach them."""
    kernel, bands, largest = BANDED[case]
    truth = ring.exact_moments(kernel, bands, largest).log
    moments, kept = bounds.mixture_moments(kernel, largest, budget)
    assert np.all(moments.log >= truth - ABOVE * (1 + truth))
    exact = np.array([k.exact for k in kept])
    assert np.all(moments.log[exact] <= truth[exact] + ABOVE * (1 + truth[exact]))


@pytest.mark.parametrize("case", BANDED)
def test_enough_budget_makes_every_order_exact(case):
    """And hardly any makes few of them so."""
    kernel, bands, largest = BANDED[case]
    assert all(k.exact for k in bounds.mixture_moments(kernel, largest, 1e9).kept)
    poor = [k.exact for k in bounds.mixture_moments(kernel, largest, 0.0).kept]
    assert all(poor) if bands == 1 else not any(poor[4:])


@in_one_test
@pytest.mark.parametrize("case", [*DENSE, *BANDED])
def test_more_budget_never_hurts(case):
    """Bounds fall with the budget, up to rounding."""
    kernel = DENSE[case] if case in DENSE else BANDED[case][0]
    found = [bounds.mixture_moments(kernel, 12, budget).moments.log for budget in BUDGETS]
    for less, more in itertools.pairwise(found):
        assert np.all(more <= less + ABOVE * (1 + less))
    assert np.all(np.isfinite(found))


def test_many_different_lengths_are_not_called_exact():
    """Independent noise with more kinds of bins than are kept apart: an upper bound, and close."""
    lengths = 0.5 + np.random.default_rng(0).random(60)
    kernel = np.diag(lengths)
    truth = ring.exact_moments(kernel, 1, 12).log
    moments, kept = bounds.mixture_moments(kernel, 12)
    assert np.all(moments.log >= truth - ABOVE)
    assert np.all(moments.log[2:] <= 1.1 * truth[2:])
    off = moments.log > truth + ABOVE * (1 + truth)
    assert off.any()
    assert not any(k.exact for k, apart in zip(kept, off, strict=True) if apart)


@pytest.mark.parametrize("bands", [1, 2, 3])
def test_truncated_bands_are_those_of_the_algorithm(bands):
    """On a matrix that depends on the distance only: lines 3, 4 and 36, by dictionaries."""
    bins, largest = 9, 4
    i = np.arange(bins)
    apart = np.minimum(np.abs(i[:, None] - i), bins - np.abs(i[:, None] - i))
    kernel = 0.8 * 0.6**apart
    inside, tau = weakened(kernel, bands)
    shape = ring.envelope(kernel)
    assert shape.common(bands) == tau
    entries = shape.truncated(bands)
    assert entries == pytest.approx(inside[0][:bands], rel=1e-14)
    if bands == 1:
        found = ring.independent_moments(np.full(bins, entries[0]), largest)
    else:
        found = ring.ring_moments(float(entries[0]), entries[1:], bins, largest)
    log = ring.with_common_part(found, tau).log
    for a in range(2, largest + 1):
        wanted = dictionary_moment(inside, bands, a) + tau * a * (a - 1) / 2
        assert log[a] == pytest.approx(wanted, rel=1e-11)
    # The bound of that algorithm is one of those that compete.
    best = bounds.mixture_moments(kernel, largest, 1e7).moments.log
    assert np.all(best <= log + ABOVE * (1 + log))


def test_bins_far_apart_are_used():
    """Wide bands: every s-th bin, and a band of it, is the best at some order."""
    kernel = strategies.bsr(400, bands=32).gram(spacing=100) / 8.0**2
    kept = bounds.mixture_moments(kernel, 64, 1e6).kept
    assert any(k.spacing > 1 for k in kept)
    assert not any(k.exact for k in kept[4:])


def test_very_large_orders_are_covered():
    """Beyond the orders that bands reach, one band is left."""
    kernel = BANDED["bsr, ring"][0]
    largest = bounds.LARGEST_BANDED_ORDER + 50
    moments, kept = bounds.mixture_moments(kernel, largest, 1e5)
    assert moments.log.size == largest + 1
    assert {k.bands for k in kept[bounds.LARGEST_BANDED_ORDER + 1 :]} == {1}
    # All particles in one bin are one term of the sum, and no term is larger.
    a = np.arange(largest + 1.0)
    alone = a * (a - 1) / 2 * kernel.max()
    assert np.all(moments.log >= alone - (a - 1) * np.log(30) - 1e-12 * alone - np.log(30))
    assert np.all(moments.log <= alone * (1 + 1e-12) + ABOVE)


def test_the_best_of_several_bounds():
    """The smallest at each order; exact ones win; shorter ones end where they end."""
    some, all_ = bounds.Kept(3), bounds.Kept(5, exact=True)
    short = bounds.BandedMoments(PowerMoments(np.array([0.0, 0.0, 1.0])), (some, some, some))
    long = bounds.BandedMoments(
        PowerMoments(np.array([0.0, 0.0, 1.1, 4.0])), (some,) * 2 + (all_,) * 2
    )
    moments, kept = bounds.best_of(short, long)
    assert moments.log.tolist() == [0.0, 0.0, 1.1, 4.0]
    assert kept[2:] == (all_, all_)
    other = bounds.BandedMoments(
        PowerMoments(np.array([0.0, 0.0, 0.9, 5.0])), (bounds.Kept(1),) * 4
    )
    moments, kept = bounds.best_of(short, other)
    assert moments.log.tolist() == [0.0, 0.0, 0.9, 5.0]
    assert kept[2:] == (bounds.Kept(1), bounds.Kept(1))
