"""`gram` with few bands and with two chains: sound, closing in, and never worse."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

import hockeystick as hs
from hockeystick._numerics.law import Side
from hockeystick.analyses.gram.method import GramBound
from hockeystick.analyses.gram.search.candidates import candidates
from hockeystick.analyses.gram.search.evaluation import LatticeEvaluator, LawCache
from hockeystick.analyses.gram.search.settings import SETTINGS
from hypothesis_strategies import thinned
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
    [
        ("line", 0.012, "two bands"),
        ("ring", 0.06, "two bands"),
        ("three bands", 0.03, "line, 3 bands"),
    ],
)
def test_the_interval_closes(name, width, majorant):
    """With few bands nothing is enlarged: both bounds go to the same number as budgets grow."""
    answers = [answer_of(name, budget=budget, delta=1e-3) for budget in (1e5, 1e6, 1e7)]
    uppers, lowers = [one.value for one in answers], [one.lower for one in answers]
    assert uppers == sorted(uppers, reverse=True)
    assert lowers == sorted(lowers)
    gaps = [upper / lower - 1 for upper, lower in zip(uppers, lowers, strict=True)]
    assert gaps[2] < gaps[0] / 3
    assert 0 < gaps[2] < width
    assert answers[2].details["majorant"] == majorant


@pytest.mark.slow
def test_classes_with_two_bands_decide_somewhere():
    """Bins three apart share much and others nothing: every second bin has none of it left."""
    answer = answer_of("far apart", budget=1e4, delta=1e-3)
    assert answer.details["majorant"] == "every 2 bins, two bands"
    assert answer.details["common"] == pytest.approx(0.0, abs=1e-6)


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
    (found,) = [one for one in candidates(kernel) if one.expensive]
    law = LawCache().reading(found, direction, side=Side.UPPER, fineness=1.5, tail=1e-6)
    assert law.delta(0.3) >= low > 0


def test_exact_bands_wait_for_their_budget():
    """Three or four bands are tried where a coarse evaluation of them is quick."""
    for name, budget in (("three bands", 1e4), ("four bands", 1e6)):
        assert "bands" not in answer_of(name, budget=budget, delta=1e-3).details["majorant"]


def wide_kernel(bins=12):
    """A wide band with a peak, positive definite."""
    d = np.abs(np.subtract.outer(np.arange(bins), np.arange(bins)))
    return 0.5 * 0.4**d + 0.5 * np.exp(-((d / 8) ** 2)) + 0.1 * np.eye(bins)


@pytest.mark.slow
@pytest.mark.parametrize("remove", [True, False])
def test_second_chains_are_above_simulated_runs(remove):
    """Every majorant with two chains that is found for a kernel, on a coarse lattice."""
    kernel, rng = wide_kernel(), np.random.default_rng(2)
    draws, which = rng.standard_normal((40_000, len(kernel))), rng.random(40_000)
    low, _ = band(ratios(kernel, draws, which, remove=remove), 0.5, remove=remove)
    found = [double for one in candidates(kernel) if (double := one.second_chain()) is not None]
    assert found
    for candidate, gain in found:
        direction = "remove" if remove else "add"
        reading = LawCache().reading(candidate, direction, side=Side.UPPER, fineness=1.5, tail=1e-6)
        assert reading.delta(0.5) >= low > 0
        assert gain > 0
        assert candidate.name.endswith("two chains")


# A second chain is tried wherever it is affordable.
EAGER = replace(SETTINGS, second_chain_gain=10.0)


@pytest.mark.slow
def test_trying_a_second_chain_never_hurts():
    """The smallest bound is kept, and equal calls give equal answers."""

    def upper(settings):
        bound = GramBound(wide_kernel(), 3e5, settings)
        return bound.epsilon(1e-3, directions=("remove", "add"), accuracy=1e-3).value

    without = upper(replace(SETTINGS, second_chain_gain=0.0))
    assert upper(EAGER) == upper(EAGER) <= without


@pytest.mark.slow
def test_a_second_chain_with_the_smallest_prediction_is_computed(monkeypatch):
    """And its bound is the answer, not its prediction."""
    computed, at = {}, LatticeEvaluator.at

    def noted(evaluator, candidate, fineness):
        found = at(evaluator, candidate, fineness)
        computed[found.value] = candidate.name
        return found

    monkeypatch.setattr(LatticeEvaluator, "at", noted)
    bound = GramBound(wide_kernel(), 3e5, replace(EAGER, score_worth=1e5))
    answer = bound.epsilon(1e-3, directions=("remove",), accuracy=1e-3)
    assert any(name.endswith("two chains") for name in computed.values())
    assert computed[answer.value] == answer.details["majorant"]


def test_a_second_chain_waits_for_its_budget():
    """Where its lattice would be coarse it is not even tried."""
    bound = GramBound(wide_kernel(40), 1e4, EAGER)
    found = bound.epsilon(1e-3, directions=("remove",), accuracy=1e-3)
    assert "two chains" not in str(found.details["majorant"])
