"""The search for a majorant: what it gives is a number that was computed, and it does not jump."""

from __future__ import annotations

import math

import numpy as np
import pytest

import hockeystick as hs
from hockeystick._numerics.law import Side
from hockeystick.analyses.gram.lower import GramBelow
from hockeystick.analyses.gram.search.best_first import (
    FINE_WORK,
    SECOND_LOOK,
    Promise,
    Race,
    _expected,
)
from hockeystick.analyses.gram.search.candidates import Candidate
from hockeystick.analyses.gram.search.question import Found, Question
from hockeystick.analyses.gram.search.search import GramSearch, no_worse
from hockeystick.analyses.gram.search.targets import boldnesses, candidates

QUESTIONS = {
    "epsilon": Question(1e-4, None, 1e-10),
    "delta": Question(None, 0.5, 1e-10),
}
STRATEGIES = {
    "ring": (hs.strategies.bsr(60, 12), 20),
    "arc": (hs.strategies.bsr(60, 3), 20),
    "line": (hs.strategies.band_mf(20, 6), 20),
}


def kernel_of(name, *, noise=1.0):
    """The Gram matrix of a plan, at a noise relative to the longest mean."""
    strategy, bins = STRATEGIES[name]
    gram = strategy.gram(spacing=bins)
    return gram / (gram.max() * noise**2)


def read(question, direction, candidate, fineness):
    """The number of a candidate on one lattice, computed anew."""
    law = candidate.recursion.law(
        candidate.mixture,
        remove=direction == "remove",
        side=Side.UPPER,
        fineness=fineness,
        tail=question.tail,
    )
    reading = candidate.reading(direction, side=Side.UPPER, fineness=fineness, tail=question.tail)
    np.testing.assert_array_equal(reading.law.q, law.q)
    return question.read(reading)


@pytest.mark.parametrize("direction", ["remove", "add"])
@pytest.mark.parametrize("asked", QUESTIONS)
@pytest.mark.parametrize("name", STRATEGIES)
@pytest.mark.parametrize("budget", [1e4, 3e5])
def test_the_answer_is_the_number_of_its_candidate(name, asked, direction, budget):
    """No promise, and not of a line in the place of a ring."""
    question, made = QUESTIONS[asked], candidates(kernel_of(name))
    found = GramSearch(made, budget).best(question, direction, 1e-3)
    own = [one for one in (*made, *(one.mirrored for one in made)) if one is not None]
    assert any(found.candidate is one for one in own)
    assert found.direction == direction
    assert found.value == read(question, direction, found.candidate, found.fineness)


@pytest.mark.slow
@pytest.mark.parametrize("name", STRATEGIES)
def test_no_candidate_is_much_better(name):
    """Than the one that was chosen, each on the finest lattice that it could have had."""
    question, made = QUESTIONS["epsilon"], candidates(kernel_of(name))
    budget = 1e6
    found = GramSearch(made, budget).best(question, "remove", 1e-3)
    for one in made:
        finest = one.affordable("remove", tail=question.tail, most=FINE_WORK * budget)
        assert found.value <= 1.01 * read(question, "remove", one, finest)


@pytest.mark.parametrize("name", STRATEGIES)
def test_a_little_more_noise_has_the_same_majorants(name):
    """Smaller by the square of the noise, in all but a few places."""
    same = 0
    for noise in np.geomspace(0.3, 3.0, 40):
        less, more = (kernel_of(name, noise=noise * f) for f in (1.0, 1.003))
        weights = [np.array(boldnesses(one)) * one.max() for one in (less, more)]
        same += bool(np.allclose(*weights, rtol=1e-12))
    assert same >= 37


@pytest.mark.slow
@pytest.mark.parametrize("name", STRATEGIES)
def test_epsilon_falls_steadily(name):
    """Steps of half a per cent of noise, at a coarse budget: no step up, none of five per cent."""
    bins = STRATEGIES[name][1]
    plan = hs.Plan(
        sampling=hs.BallsInBins(bins=bins),
        steps=STRATEGIES[name][0].steps,
        strategy=STRATEGIES[name][0],
    )
    longest = math.sqrt(float(plan.strategy.gram(spacing=bins).max()))
    epsilons = [
        hs.account(plan, noise_multiplier=longest * 1.005**i, method="gram", budget=1e6).epsilon(
            1e-5
        )
        for i in range(6)
    ]
    steps = np.diff(np.log(epsilons))
    assert np.all(steps < 0.002)
    assert np.all(steps > -0.05)


def looked_at(direction, *candidates):
    """On which lattices, from the coarsest."""
    keys = [key for one in candidates for key in one._laws]
    return sorted({fineness for at, _, fineness, _ in keys if at == direction}, reverse=True)


@pytest.mark.parametrize(
    ("rivals", "accuracy", "expected"), [(0, 1e-6, 2), (1, 1e-6, 3), (0, 1.0, 2)]
)
def test_who_is_alone_is_looked_at_twice(rivals, accuracy, expected):
    """At the first lattice and at the finest; of twins one also in between.

    Where little accuracy is asked, at the first and in between.
    """
    question, budget = QUESTIONS["epsilon"], 1e6
    (one, *_) = (one for one in candidates(kernel_of("line")) if one.name == "line")
    twins = [Candidate(one.name, one.mixture) for _ in range(rivals)]
    GramSearch([one, *twins], budget).best(question, "remove", accuracy)
    (first, *finer) = looked_at("remove", one, *twins)
    # One more look, at the best of a kind, tells how fast numbers fall.
    looks = [first, *(at for at in finer if at != SECOND_LOOK * first)]
    assert len(looks) == expected
    finest = one.affordable("remove", tail=question.tail, most=FINE_WORK * budget)
    assert (looks[-1] > 1.2 * finest) == (accuracy == 1.0)


@pytest.mark.parametrize("name", STRATEGIES)
def test_another_direction_takes_few_looks(name):
    """A ring is looked at once or twice, and never on a finer lattice than the other's."""
    question, made = QUESTIONS["epsilon"], candidates(kernel_of(name))
    removed = GramSearch(made, 1e6).best(question, "remove", 1e-3)
    added = no_worse(question, "add", removed)
    assert added is not None
    assert added.fineness >= removed.fineness
    (first, *finer) = looked_at("add", added.candidate)
    assert sum(one != SECOND_LOOK * first for one in finer) <= 1


def test_what_a_first_look_corrects():
    """It is expected of those of its kind that have not been looked at so, and only once."""
    (ring, *_) = candidates(kernel_of("ring"))
    line = ring.cut_open()
    assert ring.mixture.ring
    pool = [
        Promise(value, candidate, 0.5, 1.2, 0.08, looks)
        for value, candidate, looks in [(1.0, ring, 0), (2.0, ring, 1), (3.0, ring, 2)]
    ]
    pool.append(Promise(4.0, line, 0.5, 1.2, 0.08, 1))
    race = Race([ring, line], 1e4, QUESTIONS["epsilon"], "remove", 1e-3)
    before = Promise(2.0, ring, 0.5, 1.2, 0.08, 1)
    once = race._corrected(pool, before, before._replace(value=1.8, looks=2))
    assert [one.value for one in once] == pytest.approx([0.9, 1.8, 3.0, 4.0])
    assert race._corrected(once, before, before._replace(value=1.0, looks=2)) == once
    for nothing in (0.0, math.inf):
        fresh = Race([ring], 1e4, QUESTIONS["epsilon"], "remove", 1e-3)
        assert fresh._corrected(pool, before._replace(value=nothing), before) == pool


@pytest.mark.slow
def test_bands_do_not_correct_chains():
    """Their lattices are others: with three bands in the race the chain that is best is found."""
    gram = hs.strategies.bsr(100, 3).gram(spacing=100)
    made = candidates(gram)
    assert any(one.dear for one in made)
    question = Question(1e-5, None, 1e-11)
    best = GramSearch(made, 1e8).best(question, "remove", 1e-3)
    chains = GramSearch([one for one in made if not one.dear], 1e8)
    assert best.value <= 1.003 * chains.best(question, "remove", 1e-3).value


@pytest.mark.slow
def test_falls_of_one_kind_may_differ():
    """Two arcs promise about as much on a coarse lattice; one falls twice as fast, and is better.

    With the fall of the first for both, epsilon was 4.166 here.
    """
    gram = hs.strategies.bsr(1_000, 4).gram(spacing=100)
    search = GramSearch(candidates(gram / 2.2213**2), 2e7)
    question = Question(1e-5, None, 1e-11)
    assert search.best(question, "remove", 1e-3).value < 4.1


@pytest.mark.parametrize("asked", QUESTIONS)
def test_another_direction_that_is_no_worse(asked):
    """Is shown with the same majorant, on a lattice that is not finer; or nothing is."""
    question, made = QUESTIONS[asked], candidates(kernel_of("arc"))
    removed = GramSearch(made, 3e5).best(question, "remove", 1e-3)
    added = no_worse(question, "add", removed)
    assert added is not None
    assert added.direction == "add"
    assert added.candidate is removed.candidate
    assert removed.value >= added.value
    assert added.fineness >= removed.fineness
    assert added.value == read(question, "add", added.candidate, added.fineness)
    least = Found(removed.value / 10, "remove", removed.candidate, removed.fineness)
    assert no_worse(question, "add", least) is None


@pytest.mark.parametrize("asked", QUESTIONS)
def test_nothing_is_no_worse_than_zero(asked):
    """A number of 0 has no logarithm, and no other direction is shown to be below it."""
    question, made = QUESTIONS[asked], candidates(kernel_of("arc"))
    nothing = Found(0.0, "remove", made[0], 1.0)
    assert no_worse(question, "add", nothing) is None


def test_what_a_ring_has_beyond_a_line():
    """More at high noise, nothing on a line or between mirrors."""
    (ring, *_) = [one for one in candidates(kernel_of("ring", noise=5.0)) if one.mixture.ring]
    total = math.sqrt(ring.mixture.gram().sum() / ring.cut_open().mixture.gram().sum())
    assert 1 < ring.growth_of_ring == pytest.approx(total, rel=0.02)
    assert ring.cut_open().growth_of_ring == 1.0
    assert ring.mirrored.growth_of_ring == 1.0


def test_minorants_that_hardly_differ_are_one():
    """Of independent terms the best chain is the same for all weights."""
    assert len(GramBelow(np.eye(6), 1e5)._chains) == 1
    assert len(GramBelow(kernel_of("line"), 1e5)._chains) > 1


def test_negative_entries_say_nothing_from_below():
    """Blocks leave out what is between them, which is no smaller matrix then."""
    kernel = np.array([[1.0, -0.9, -0.05], [-0.9, 1.0, 0.0], [-0.05, 0.0, 1.0]])
    question = QUESTIONS["delta"]
    assert GramBelow(kernel, 1e5)._of_blocks(question, "remove") == 0.0
    assert GramBelow(np.abs(kernel), 1e5)._of_blocks(question, "remove") > 0.01


def test_promises_do_not_overflow():
    """However steep the fall between two lattices was."""
    assert math.isfinite(_expected(1e-6, 2.0, 1e4))
    assert _expected(1e-6, -2.0, 1e4) == 0.0
    assert _expected(2.0, 0.5, 0.1) == pytest.approx(2.0 * math.exp(0.05))
