"""Statements are recomputed, and false ones are found."""

from __future__ import annotations

from dataclasses import replace
from functools import cache, partial

import numpy as np
import pytest

import hockeystick as hs
from hockeystick.training import RunRecord, Statement, check_statement, describe_filter, statement
from hockeystick.training.plan_object import strategy_object
from in_one_test import in_one_test

STEPS = 20
PLAN = hs.Plan(
    sampling=hs.CyclicPoisson(rate=0.2, groups=4),
    steps=STEPS,
    strategy=hs.strategies.bsr(STEPS, bands=4),
)
NOISE = {"noise_multiplier": 1.2, "max_grad_norm": 1.0}


@cache
def true():
    """The statement of a run that took all steps."""
    return stated()


def stated(*, taken_steps=STEPS, delta=1e-5, **options):
    """A true statement."""
    record = RunRecord(plan=PLAN, taken_steps=taken_steps, **NOISE)
    return statement(record, delta=delta, **options)


def governed(governing):
    """The statement of a run with a filter."""
    plan = hs.Plan(sampling=hs.Poisson(rate=0.1), steps=STEPS)
    record = RunRecord(plan=plan, taken_steps=3, filter=describe_filter(governing), **NOISE)
    return statement(record, delta=1e-5)


@pytest.mark.parametrize(
    "make",
    [
        true,
        partial(stated, taken_steps=3, delta=1e-7),
        partial(stated, accuracy=1e-4),
        partial(stated, method="renyi"),
        lambda: governed(hs.filters.Renyi(epsilon=1.0, delta=1e-5)),
        lambda: governed(hs.filters.ApproximateGaussian(mu=0.5)),
        lambda: governed(hs.filters.Individual.gaussian(examples=4, mu=0.5)),
    ],
    ids=["plan", "small delta", "accurate", "renyi", "filter", "asymptotic", "individual"],
)
def test_true_statements_hold_after_a_journey(make):
    """Through JSON and back the same number comes out."""
    made = make()
    found = check_statement(Statement.from_json(made.to_json()))
    assert found.problems == ()
    assert found.holds
    assert found.epsilon == pytest.approx(made.epsilon, rel=1e-9)
    assert (found.kind, found.method) == (made.kind, made.method)


def test_other_matrices_are_recomputed():
    """A strategy that is kept by its diagonals gives the number of the same Toeplitz matrix."""
    dense = hs.strategies.from_matrix(PLAN.strategy.to_matrix())
    record = RunRecord(plan=replace(PLAN, strategy=dense), taken_steps=STEPS, **NOISE)
    made = statement(record, delta=1e-5)
    assert check_statement(Statement.from_json(made.to_json())).holds
    assert made.epsilon == pytest.approx(true().epsilon, rel=2e-3)


def test_a_larger_epsilon_holds_and_a_slightly_smaller_one_does_not():
    """Claiming less is no fault; claiming more is one beyond rounding."""
    assert not check_statement(replace(true(), epsilon=true().epsilon * (1 - 1e-5))).holds
    assert check_statement(replace(true(), epsilon=true().epsilon * (1 - 1e-9))).holds
    assert check_statement(replace(true(), epsilon=true().epsilon * 1.5)).holds


LABEL = {"factorization": "bsr", "bands": 4}
SCHEME = PLAN.sampling.describe()
STRATEGY = strategy_object(PLAN.strategy)


@in_one_test
@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"epsilon": 0.5}, "below the recomputed"),
        ({"delta": 1e-9}, "below the recomputed"),
        ({"noise_multiplier": 1.1}, "below the recomputed"),
        ({"scheme": {**SCHEME, "rate": 0.3}}, "below the recomputed"),
        ({"planned_steps": 40, "taken_steps": 40}, "below the recomputed"),
        ({"planned_steps": 8, "taken_steps": 8}, "digest"),
        ({"taken_steps": STEPS + 1}, "taken_steps"),
        ({"adjacency": "replace-one"}, "below the recomputed"),
        ({"adjacency": "group"}, "adjacency"),
        ({"unit": "user"}, "unit"),
        ({"method": "gram"}, "method"),
        ({"method": "magic"}, "method"),
        ({"priced_for": "the taken steps"}, "priced_for is"),
        ({"strategy": {**STRATEGY, "sha256": "0" * 64}}, "digest"),
        ({"strategy": {**STRATEGY, "bands": 3}}, "called 'bsr'"),
        ({"strategy": {**STRATEGY, "factorization": "identity"}}, "called 'identity'"),
        ({"strategy": {**STRATEGY, "factorization": "best"}}, "called 'best'"),
        ({"strategy": {**STRATEGY, "factorization": "band-mf", "bands": 9}}, "called 'band-mf'"),
        ({"strategy": {**STRATEGY, "factorization": ["bsr"]}}, "called"),
        ({"strategy": {**STRATEGY, "coefficients": [5e-324]}}, "nothing can be computed"),
        ({"strategy": LABEL}, "coefficients or diagonals"),
        ({"strategy": {**LABEL, "coefficients": [1.0, -0.5]}}, "not negative"),
        ({"strategy": {**LABEL, "diagonals": [[1.0], [1.0]]}}, "diagonals"),
        ({"scheme": {"scheme": "shuffle", "batch_size": 4}}, "nothing can be computed"),
        ({"scheme": {"scheme": "lottery"}}, "scheme"),
        ({"scheme": {"scheme": "poisson", "bins": 3}}, "parameters of poisson"),
        ({"scheme": {}}, "scheme"),
        ({"filter": {"filter": "Gaussian", "mu": 0.1}}, "one at a time"),
    ],
    ids=lambda value: value if isinstance(value, str) else next(iter(value)),
)
def test_changed_facts_are_found(change, problem):
    """Whatever is changed in a true statement so that it says too much is named."""
    found = check_statement(replace(true(), **change))
    assert not found.holds
    assert problem in " ".join(found.problems)


PROBE = {"step": 1, "examples": 2, "largest_change": 1e-4, "inputs_as_loaded": True}


@pytest.mark.parametrize(
    ("probe", "taken", "problem"),
    [
        ({"step": 10**9}, STEPS, "step 1000000000"),
        ({"step": STEPS + 2}, STEPS, "step 22"),
        ({"step": 5}, 3, "step 5"),
        ({"step": 2}, 0, "step 2"),
        ({"examples": 1}, STEPS, "1 example"),
        ({"largest_change": 1.1e-4}, STEPS, "does not pass"),
        ({"largest_change": 1.0}, STEPS, "does not pass"),
    ],
)
def test_probes_that_cannot_have_run_are_found(probe, taken, problem):
    """A step that was never begun, nothing to compare with, or a change that ends the run."""
    changed = replace(true(), taken_steps=taken, probe={**PROBE, **probe})
    found = check_statement(Statement.from_json(changed.to_json()))
    assert [problem in one for one in found.problems] == [True]


@pytest.mark.parametrize(("step", "taken"), [(1, 0), (4, 3), (1, STEPS), (STEPS + 1, STEPS)])
def test_probes_that_can_have_run_hold(step, taken):
    """In a step that was not finished, in any before it, or repeated after the last one."""
    changed = replace(true(), taken_steps=taken, probe={**PROBE, "step": step})
    assert check_statement(Statement.from_json(changed.to_json())).problems == ()


def test_a_filter_cannot_be_made_better():
    """A weaker kind called proven, a smaller budget and another filter's name are found."""
    made = governed(hs.filters.ApproximateGaussian(mu=0.5))
    for change, problem in (
        ({"kind": "proven"}, "stronger"),
        ({"filter": {**made.filter, "mu": 0.6}}, "below the recomputed"),
        ({"filter": {"filter": "Gaussian", "mu": 0.5}}, "method"),
        ({"filter": {**made.filter, "kind": "proven"}}, "description"),
        ({"filter": None}, "priced_for is"),
    ):
        found = check_statement(replace(made, **change))
        assert problem in " ".join(found.problems)


@pytest.mark.slow
def test_verified_claims_are_put_to_the_test_again():
    """One with room passes; one that is false fails."""
    plan = hs.Plan(sampling=hs.BallsInBins(bins=4), steps=8, strategy=hs.strategies.bsr(8, bands=2))
    claim = {"epsilon": 2.0, "delta": 1e-2}
    guarantee = hs.verify(plan, noise_multiplier=3.0, seed=1, **claim)
    record = RunRecord(plan=plan, noise_multiplier=3.0, max_grad_norm=1.0, taken_steps=8)
    made = statement(record, delta=1e-2, guarantee=guarantee)
    assert check_statement(made).holds
    false = check_statement(replace(made, epsilon=0.01))
    assert "not accepted" in false.problems[0]


def test_equal_statements_are_equal():
    """Statements are values; plans in them are rebuilt once."""
    again = Statement.from_json(true().to_json())
    assert again == true()
    assert again.plan is again.plan
    assert np.array_equal(again.plan.strategy.coefficients, PLAN.strategy.coefficients)
