"""Bins in groups: what is left of a ring or a line dominates, whatever is kept of it."""

from __future__ import annotations

import numpy as np
import pytest

from hockeystick.analyses.gram.order import ChainFit, LagFamily, by_distance, cover, ring_cover
from hockeystick.analyses.gram.order.groups import Cut, cut_ring, thinned_line, whole_line
from in_one_test import in_one_test
from references.gram_certificate import least_form, matrix_of, random_columns

CUTS = [
    Cut(),
    Cut(closed=True),
    Cut(spacing=2, closed=True),
    Cut(left_out=2),
    Cut(copies=2),
    Cut(copies=3, left_out=2),
    Cut(spacing=2, copies=2),
    Cut(left_out=2, mirrors=False),
    Cut(copies=2, left_out=1, mirrors=False),
    Cut(copies=3, left_out=2, mirrors=False),
    Cut(spacing=2, copies=2, left_out=1, mirrors=False),
]


def random_gram(rng, bins):
    """Of non-negative means that close to a ring or not, with entries of any order."""
    gram = random_columns(rng, bins)
    wrapped = np.roll(np.roll(gram, bins // 2, axis=0), bins // 2, axis=1)
    return gram + wrapped if rng.random() < 0.5 else gram


def fit_of(rng, bounds):
    """A certified chain with random amplitudes and entries N: no programme is needed."""
    rho = float(rng.uniform(0.05, 0.9))
    family = LagFamily(bounds, rho)
    amplitudes = rng.uniform(0.0, 1.0, 3) * family.lags[0]
    amplitudes[0] *= not bounds.endless
    extra = rng.exponential(size=family.lags.size) * (rng.random(family.lags.size) < 0.2)
    extra[0] = 0.0
    return ChainFit(*family.raised(amplitudes, extra).tolist(), rho)


def kept_bins(cut, bins, first):
    """The bins of all groups in one rotation; what does not fit is left out at the end."""
    period = cut.period(bins)
    inside = np.arange(period - cut.left_out) + (cut.left_out // 2 if cut.mirrors else 0)
    places = np.concatenate([group * period + inside for group in range(cut.copies)])
    return (first + cut.spacing * places) % bins


@pytest.mark.parametrize("lags", [None, 4])
@pytest.mark.parametrize("cut", CUTS)
def test_groups_dominate_every_rotation(cut, lags):
    """No x >= 0 sees less in the groups than in the bins that they stand for."""
    rng = np.random.default_rng([1, CUTS.index(cut), lags or 0])
    for _ in range(3):
        bins = int(rng.integers(18, 26))
        gram = random_gram(rng, bins)
        target = cut_ring(ring_cover(by_distance(gram)), cut, lags if cut.mirrors else None)
        one = target.mixture(fit_of(rng, target.bounds))
        inner = one.gram() - one.common
        groups = one.common + np.kron(np.eye(cut.copies), inner)
        for first in rng.integers(bins, size=3).tolist():
            chosen = kept_bins(cut, bins, first)
            change = groups - gram[np.ix_(chosen, chosen)]
            assert least_form(change, rng) >= -1e-9
            assert np.linalg.eigvalsh(groups)[0] >= -1e-9 * groups.max()


def test_rotations_contain_every_bin_equally_often():
    """So that the average over the rotations is the mixture over all bins."""
    for cut in CUTS:
        bins = 23
        counts = np.zeros(bins, int)
        for first in range(bins):
            chosen = kept_bins(cut, bins, first)
            assert np.unique(chosen).size == chosen.size
            counts[chosen] += 1
        assert np.unique(counts).size == 1


def test_groups_without_mirrors_would_not_dominate():
    """The same chain without what the mirrors add misses what groups share across a cut."""
    values = 0.8 ** np.arange(24.0)
    target = cut_ring(ring_cover(values), Cut(copies=2))
    one = target.mixture(ChainFit(0.0, 1.0, 0.0, 0.8))
    plain = one.__class__(0.0, 1.0, 0.0, 0.8, one.amplitudes)
    d = np.abs(np.subtract.outer(np.arange(24), np.arange(24)))
    ring = ring_cover(values).values[d]
    assert np.kron(np.eye(2), plain.gram()).sum() < 0.9 * ring.sum()
    assert np.kron(np.eye(2), one.gram()).sum() >= ring.sum() * (1 - 0.05)


@in_one_test
@pytest.mark.parametrize("spacing", [2, 3])
@pytest.mark.parametrize("seed", range(8))
def test_thinned_lines_cover_every_class_without_any_one_bin(seed, spacing):
    """Wherever a class starts; of one that is longer, whichever bin is left out."""
    gram = random_columns(np.random.default_rng(seed), 13)
    thin = thinned_line(cover(gram), spacing)
    whole = matrix_of(thin.bounds, thin.bounds.values)
    for first in range(spacing):
        chosen = np.arange(first, 13, spacing)
        longer = chosen.size > thin.bins
        for left_out in range(chosen.size) if longer else [None]:
            kept = chosen if left_out is None else np.delete(chosen, left_out)
            assert np.all(whole >= gram[np.ix_(kept, kept)] * (1 - 1e-14))
    assert whole_line(cover(gram)).bins == 13
