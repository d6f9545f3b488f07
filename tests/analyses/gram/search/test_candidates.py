"""`gram` with few bands: sound, and closing in; and what its candidates are made of."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

import hockeystick as hs
from hockeystick._numerics.law import Side
from hockeystick.analyses.gram.order.groups import Cut
from hockeystick.analyses.gram.search.candidates import Majorants
from hockeystick.analyses.gram.search.evaluation import LawCache
from hockeystick.schemes.mixtures import MixtureBlocks
from hypothesis_strategies import thinned
from in_one_test import in_one_test
from references.sum_law import band, ratios

BANDS = {
    "line": (hs.strategies.bsr(5, 2), 5),
    "ring": (hs.strategies.bsr(15, 2), 5),
    "ring, cut off": (hs.strategies.from_coefficients([1.0, 0.3], steps=11), 4),
    "far apart": (hs.strategies.from_coefficients([1.0, 0.0, 0.0, 0.9], steps=48), 48),
    "three bands": (hs.strategies.bsr(5, 3), 5),
    "three bands, ring": (hs.strategies.bsr(36, 3), 12),
    "four bands": (hs.strategies.bsr(6, 4), 6),
}


def plan_of(name):
    """The plan, and a noise multiplier near the longest mean."""
    strategy, bins = BANDS[name]
    plan = hs.Plan(sampling=hs.BallsInBins(bins=bins), steps=strategy.steps, strategy=strategy)
    return plan, math.sqrt(float(np.diagonal(strategy.gram(spacing=bins)).max()))


def answer_of(name, *, budget, **request):
    """What the method says."""
    plan, noise = plan_of(name)
    claim = hs.account(plan, noise_multiplier=noise, method="gram", budget=budget)
    return claim.answer(**request)


@pytest.mark.slow
@pytest.mark.parametrize("budget", thinned([1e6, 1e4], normal=1))
@pytest.mark.parametrize("name", BANDS)
def test_few_bands_against_simulated_runs(name, budget):
    """Neither bound is on the wrong side of a band that misses with less than a chance of 1e-7."""
    plan, noise = plan_of(name)
    claim = hs.account(plan, noise_multiplier=noise, method="gram", budget=budget)
    found = hs.estimate_profile(
        plan, noise_multiplier=noise, epsilons=[0.3], draws=20_000, miss=1e-7, seed=1
    )
    for direction in ("remove", "add"):
        answer = replace(claim, directions=(direction,)).answer(epsilon=0.3)
        (around,) = found[direction]
        assert 0 < around.low <= answer.value
        assert answer.lower <= around.high


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "width", "majorant"),
    thinned(
        [
            ("three bands", 0.03, "3 bands"),
            ("line", 0.012, "two bands"),
            ("ring", 0.06, "two bands"),
        ],
        normal=1,
    ),
)
def test_the_interval_closes(name, width, majorant):
    """With few bands nothing is enlarged: both bounds go to the same number as budgets grow."""
    answers = [answer_of(name, budget=budget, delta=1e-3) for budget in (4e5, 4e6, 4e7)]
    uppers, lowers = [one.value for one in answers], [one.lower for one in answers]
    assert uppers == sorted(uppers, reverse=True)
    assert lowers == sorted(lowers)
    gaps = [upper / lower - 1 for upper, lower in zip(uppers, lowers, strict=True)]
    assert gaps[2] < gaps[0] / 3
    assert 0 < gaps[2] < width
    assert answers[2].details["majorant"] == majorant


@pytest.mark.slow
@pytest.mark.parametrize(("direction", "remove"), [("remove", True), ("add", False)])
@pytest.mark.parametrize("name", ["three bands", "three bands, ring", "four bands"])
def test_exact_bands_are_above_simulated_runs(name, direction, remove):
    """The candidates with the matrix itself, on a line and on an arc, on a coarse lattice."""
    plan, noise = plan_of(name)
    kernel, rng = (
        plan.strategy.gram(spacing=plan.sampling.bins) / noise**2,
        np.random.default_rng(3),
    )
    draws, which = rng.standard_normal((40_000, len(kernel))), rng.random(40_000)
    low, _ = band(ratios(kernel, draws, which, remove=remove), 0.3, remove=remove)
    (found,) = Majorants(kernel).exact
    law = LawCache().reading(found, direction, side=Side.UPPER, fineness=1.5, tail=1e-6)
    assert law.delta(0.3) >= low > 0


def test_exact_bands_wait_for_their_budget():
    """Three or four bands are tried where a coarse evaluation of them is quick."""
    for name, budget in (("three bands", 1e4), ("four bands", 1e6)):
        assert "bands" not in answer_of(name, budget=budget, delta=1e-3).details["majorant"]


@pytest.mark.slow
@pytest.mark.parametrize(("direction", "remove"), [("remove", True), ("add", False)])
@pytest.mark.parametrize("rounds", [1, 3])
def test_every_layout_is_above_simulated_runs(rounds, direction, remove):
    """Lines, groups between mirrors and gaps, closed rings; of all bins and of every second one."""
    strategy = hs.strategies.bsr(24 * rounds, 5)
    kernel = strategy.gram(spacing=24)
    kernel = kernel / kernel.max()
    rng = np.random.default_rng(4)
    draws, which = rng.standard_normal((60_000, 24)), rng.random(60_000)
    low, _ = band(ratios(kernel, draws, which, remove=remove), 0.3, remove=remove)
    cuts = [Cut(), Cut(copies=2), Cut(copies=2, left_out=2), Cut(copies=3), Cut(2, 2)]
    cuts += [Cut(left_out=4, mirrors=False), Cut(closed=True), Cut(2, closed=True)]
    majorants = Majorants(kernel)
    layouts = cuts if majorants.line is None else [1, 2, *cuts]
    for layout in layouts:
        found = majorants.candidate(layout, majorants.tilts[1])
        reading = LawCache().reading(found, direction, fineness=1.0, tail=1e-6)
        assert reading.delta(0.3) >= low > 0, layout


def test_bounds_by_distance_are_enough():
    """The same candidates as from a matrix, but for lines with amplitudes and exact bands."""
    strategy = hs.strategies.bsr(60, 4)
    kernel = strategy.gram(spacing=20) / 25
    lags = MixtureBlocks(strategy, 20, 20).by_distance(5.0)
    full, few = Majorants(kernel), Majorants(lags)
    assert few.line is None
    assert few.exact == []
    for layout in (Cut(), Cut(copies=2, left_out=2)):
        one, other = (m.candidate(layout, m.tilts[1]).mixture for m in (full, few))
        np.testing.assert_allclose(one.gram(), other.gram(), rtol=1e-6)


def test_long_rings_are_certified_for_any_number_of_bins():
    """Beyond the longest ring a fit does not depend on the number of bins; groups do."""
    coefficients = hs.strategies.bsr(64, 4).coefficients
    fits = []
    for bins in (20_000, 30_000):
        strategy = hs.strategies.from_coefficients(coefficients, steps=bins)
        majorants = Majorants(MixtureBlocks(strategy, bins, bins).by_distance(1.0))
        layout = majorants.layouts[0]
        fits.append(majorants.candidate(layout, 1.0).mixture)
        assert layout.copies * layout.period(bins) > 0.99 * bins
    assert fits[0].rho == fits[1].rho
    assert fits[0].chain == pytest.approx(fits[1].chain, rel=1e-12)


@in_one_test
@pytest.mark.parametrize("bands", [1, 4, 12, 40])
@pytest.mark.parametrize("steps", [12, 36, 40])
def test_bounds_by_distance_cover_the_matrix(bands, steps):
    """Toeplitz or not, whole epochs or not, bands longer than an epoch or not; exact if whole."""
    rng = np.random.default_rng([5, bands, steps])
    c = np.append(1.0, rng.random(min(bands, steps) - 1))
    strategy = hs.strategies.from_coefficients(c, steps=steps)
    dense = hs.strategies.from_matrix(strategy.to_matrix())
    gram = strategy.gram(spacing=12)
    largest = np.array([np.diagonal(gram, d).max() for d in range(len(gram))])
    for one in (strategy, dense):
        found = MixtureBlocks(one, 12, 12).by_distance(1.0)
        assert np.all(found >= largest * (1 - 1e-14))
        if steps % 12 == 0:
            np.testing.assert_allclose(found, largest, rtol=1e-12)
