"""The other direction: shown to be no worse by one law, on a lattice that is not finer."""

from __future__ import annotations

import pytest

from hockeystick.analyses.gram.search.candidates import candidates
from hockeystick.analyses.gram.search.directions import GramSearch, no_worse
from hockeystick.analyses.gram.search.evaluation import Found, LatticeEvaluator, LawCache
from hockeystick.analyses.gram.search.settings import SETTINGS
from references.gram_search import KERNELS, QUERIES, kernel_of


@pytest.mark.slow
@pytest.mark.parametrize("name", KERNELS)
def test_another_direction_takes_few_evaluations(name):
    """A ring is evaluated once or twice, and never on a finer lattice than the other's."""
    query, search = QUERIES["epsilon"], GramSearch(candidates(kernel_of(name)), 3e5)
    removed = search.best(query, "remove", 1e-3)
    added = no_worse(LatticeEvaluator(search.laws, query, "add"), removed)
    assert added is not None
    assert added.fineness >= removed.fineness
    evaluated = search.laws.evaluated("add")
    own = {fineness for one, fineness in evaluated if one is added.candidate}
    (first, *finer) = sorted(own, reverse=True)
    assert sum(one != SETTINGS.second_fineness * first for one in finer) <= 1


@pytest.mark.slow
@pytest.mark.parametrize("kind", QUERIES)
def test_another_direction_that_is_no_worse(kind):
    """Is shown with the same majorant, on a lattice that is not finer; or nothing is."""
    query, search = QUERIES[kind], GramSearch(candidates(kernel_of("arc")), 3e5)
    removed = search.best(query, "remove", 1e-3)
    evaluator = LatticeEvaluator(search.laws, query, "add")
    added = no_worse(evaluator, removed)
    assert added is not None
    assert added.direction == "add"
    assert added.candidate is removed.candidate
    assert removed.value >= added.value
    assert added.fineness >= removed.fineness
    assert added.value == LatticeEvaluator(LawCache(), query, "add").at(*added[2:]).value
    least = Found(removed.value / 10, "remove", removed.candidate, removed.fineness)
    assert no_worse(evaluator, least) is None
    assert search.worst(query, ("remove", "add"), 1e-3) == removed


@pytest.mark.parametrize("kind", QUERIES)
def test_nothing_is_no_worse_than_zero(kind):
    """A number of 0 has no logarithm, and no other direction is shown to be below it."""
    (first, *_) = candidates(kernel_of("arc"))
    evaluator = LatticeEvaluator(LawCache(), QUERIES[kind], "add")
    assert no_worse(evaluator, Found(0.0, "remove", first, 1.0)) is None
