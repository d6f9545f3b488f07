"""The search for a majorant: its result is a bound that was computed, and it does not jump."""

from __future__ import annotations

import math

import numpy as np
import pytest

import hockeystick as hs
from hockeystick._numerics.law import Side
from hockeystick.analyses.gram.law.task import Task
from hockeystick.analyses.gram.search.best_first import (
    BestFirstSearch,
    PredictedBound,
    Stage,
    _extrapolated,
)
from hockeystick.analyses.gram.search.candidates import candidates, chained, tilts
from hockeystick.analyses.gram.search.directions import GramSearch
from hockeystick.analyses.gram.search.evaluation import GramQuery, LatticeEvaluator, LawCache
from hockeystick.analyses.gram.search.settings import SETTINGS
from hypothesis_strategies import thinned
from references.gram_search import KERNELS, QUERIES, kernel_of

pytestmark = pytest.mark.slow


def computed(query, found):
    """The bound of the candidate that was found, computed anew."""
    remove = found.direction == "remove"
    task = Task(found.candidate.mixture, remove, Side.UPPER, found.fineness, query.tail)
    law = found.candidate.recursion.law(task)
    reading = LawCache().reading(
        found.candidate,
        found.direction,
        side=Side.UPPER,
        fineness=found.fineness,
        tail=query.tail,
    )
    np.testing.assert_array_equal(reading.law.q, law.q)
    return query.read(reading)


@pytest.mark.parametrize("direction", ["remove", "add"])
@pytest.mark.parametrize("kind", QUERIES)
@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("budget", thinned([1e4, 3e5], normal=1))
def test_the_result_is_the_bound_of_its_candidate(name, kind, direction, budget):
    """No prediction, and not of a line in the place of a ring."""
    query, made = QUERIES[kind], candidates(kernel_of(name))
    found = GramSearch(made, budget).best(query, direction, 1e-3)
    own = [one for one in (*made, *(one.mirrored for one in made)) if one is not None]
    assert any(found.candidate is one for one in own)
    assert found.direction == direction
    assert found.value == computed(query, found)


@pytest.mark.slow
@pytest.mark.parametrize("name", thinned(KERNELS, normal=2))
def test_no_candidate_is_much_better(name):
    """Than the one that was chosen, each on the finest lattice that it could have had."""
    query, made, budget = QUERIES["epsilon"], candidates(kernel_of(name)), 3e5
    search = GramSearch(made, budget)
    found = search.best(query, "remove", 1e-3)
    evaluator = LatticeEvaluator(search.laws, query, "remove")
    for one in made:
        finest = evaluator.affordable(one, SETTINGS.finest_work * budget)
        assert found.value <= 1.01 * evaluator.at(one, finest).value


@pytest.mark.parametrize("name", KERNELS)
def test_a_little_more_noise_has_the_same_majorants(name):
    """Smaller by the square of the noise, in all but a few places."""
    same = 0
    for noise in np.geomspace(0.3, 3.0, 40):
        less, more = (kernel_of(name, noise=noise * f) for f in (1.0, 1.003))
        weights = [np.array(tilts(one)) * one.max() for one in (less, more)]
        same += bool(np.allclose(*weights, rtol=1e-12))
    assert same >= 37


@pytest.mark.slow
@pytest.mark.parametrize("name", thinned(KERNELS, normal=2))
def test_epsilon_decreases_steadily(name):
    """Steps of half a per cent of noise, at a coarse budget: no step up, none of five per cent."""
    strategy, bins = KERNELS[name]
    sampling = hs.BallsInBins(bins=bins)
    plan = hs.Plan(sampling=sampling, steps=strategy.steps, strategy=strategy)
    longest = math.sqrt(float(strategy.gram(spacing=bins).max()))
    epsilons = [
        hs.account(plan, noise_multiplier=longest * 1.005**i, method="gram", budget=3e5).epsilon(
            1e-5
        )
        for i in range(4)
    ]
    steps = np.diff(np.log(epsilons))
    assert np.all(steps < 0.002)
    assert np.all(steps > -0.05)


@pytest.mark.parametrize(
    ("rivals", "accuracy", "expected"), [(0, 1e-6, 2), (1, 1e-6, 3), (0, 1.0, 2)]
)
def test_a_candidate_without_rivals_is_evaluated_twice(rivals, accuracy, expected):
    """At the first lattice and at the finest; of two equal ones one also in between.

    Where little accuracy is requested, at the first and in between.
    """
    query, budget = QUERIES["epsilon"], 1e6
    (one, *_) = (one for one in candidates(kernel_of("line")) if one.name == "line")
    equal = [chained(one.name, one.mixture) for _ in range(rivals)]
    search = GramSearch([one, *equal], budget)
    search.best(query, "remove", accuracy)
    evaluated = {fineness for _, fineness in search.laws.evaluated("remove")}
    (first, *finer) = sorted(evaluated, reverse=True)
    # One more evaluation, of the best of a kind, tells the convergence rate.
    second = SETTINGS.second_fineness * first
    lattices = [first, *(at for at in finer if at != second)]
    assert len(lattices) == expected
    evaluator = LatticeEvaluator(search.laws, query, "remove")
    finest = evaluator.affordable(one, SETTINGS.finest_work * budget)
    assert (lattices[-1] > 1.2 * finest) == (accuracy == 1.0)


def searched(*made):
    """A search that has not begun."""
    evaluator = LatticeEvaluator(LawCache(), QUERIES["epsilon"], "remove")
    return BestFirstSearch(list(made), 1e4, evaluator, 1e-3)


def test_what_a_first_evaluation_corrects():
    """It is expected of those of its kind that have not passed the stage, and only once."""
    (ring, *_) = candidates(kernel_of("ring"))
    assert ring.mixture.ring

    def predicted(value, candidate, stage):
        return PredictedBound(value, candidate, 0.5, 1.2, 0.08, Stage(stage))

    pool = [predicted(float(stage + 1), ring, stage) for stage in range(3)]
    pool.append(predicted(4.0, ring.line, 1))
    search, before = searched(ring, ring.line), predicted(2.0, ring, 1)
    once = search._corrected(pool, before, predicted(1.8, ring, 2))
    assert [one.value for one in once] == pytest.approx([0.9, 1.8, 3.0, 4.0])
    assert search._corrected(once, before, predicted(1.0, ring, 2)) == once
    for nothing in (0.0, math.inf):
        assert searched(ring)._corrected(pool, before._replace(value=nothing), before) == pool


@pytest.mark.long
@pytest.mark.slow
def test_bands_do_not_correct_chains():
    """Their lattices are others: with three bands in the search the best chain is found."""
    made = candidates(hs.strategies.bsr(100, 3).gram(spacing=100))
    assert any(one.expensive for one in made)
    query = GramQuery(1e-5, None, 1e-11)
    best = GramSearch(made, 1e8).best(query, "remove", 1e-3)
    chains = GramSearch([one for one in made if not one.expensive], 1e8)
    assert best.value <= 1.003 * chains.best(query, "remove", 1e-3).value


@pytest.mark.slow
def test_convergence_rates_of_one_kind_may_differ():
    """Two arcs have equal predictions on a coarse lattice; one converges twice as fast, to less.

    With the rate of the first for both, epsilon was 4.166 here.
    """
    gram = hs.strategies.bsr(1_000, 4).gram(spacing=100)
    search = GramSearch(candidates(gram / 2.2213**2), 2e7)
    query = GramQuery(1e-5, None, 1e-11)
    assert search.best(query, "remove", 1e-3).value < 4.1


def test_what_a_ring_has_beyond_a_line():
    """More at high noise, nothing on a line or between mirrors."""
    (ring, *_) = [one for one in candidates(kernel_of("ring", noise=5.0)) if one.mixture.ring]
    total = math.sqrt(ring.mixture.gram().sum() / ring.line.mixture.gram().sum())
    laws = LawCache()
    assert 1 < laws.ring_growth(ring) == pytest.approx(total, rel=0.02)
    assert laws.ring_growth(ring.line) == 1.0
    assert laws.ring_growth(ring.mirrored) == 1.0


def test_predictions_do_not_overflow():
    """However steep the slope between two lattices was."""
    assert math.isfinite(_extrapolated(1e-6, 2.0, 1e4))
    assert _extrapolated(1e-6, -2.0, 1e4) == 0.0
    assert _extrapolated(2.0, 0.5, 0.1) == pytest.approx(2.0 * math.exp(0.05))
