"""Risk in statements: what is stated is recomputed, and what claims too little risk fails."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

import hockeystick as hs
from hockeystick.errors import InvalidParameter
from hockeystick.training import Statement, check_statement, statement

PLAN = hs.Plan(sampling=hs.Poisson(rate=0.1), steps=20)


def stated(**options):
    """A statement with risk."""
    record = hs.training.RunRecord(
        plan=PLAN, noise_multiplier=1.0, max_grad_norm=1.0, taken_steps=20, **options
    )
    return statement(record, delta=1e-5, risk=True)


def test_what_is_stated_is_what_the_guarantee_says():
    """As `guarantee.risks`; in the file, in words, and covered by the check."""
    found = stated()
    risks = hs.account(PLAN, noise_multiplier=1.0).risks()
    assert found.risk == {
        "advantage": risks["advantage"].upper,
        "true_positive_rate": risks["true_positive_rate"].upper,
        "false_positive_rate": 0.001,
        "bayes_risk": risks["bayes_risk"].lower,
        "prior": 0.5,
    }
    assert Statement.from_json(found.to_json()) == found
    assert "has an advantage of at most 0.2027, finds at most 0.0087" in found.paragraph()
    check = check_statement(found)
    assert check.holds
    assert "risk" in check.coverage.recomputed


def test_statements_without_risk_are_as_before():
    """No such field in the file, and files without it are read."""
    found = replace(stated(), risk=None)
    assert "risk" not in json.loads(found.to_json())
    assert Statement.from_json(found.to_json()) == found
    assert check_statement(found).holds
    assert "risk" in check_statement(found).coverage.unchecked


@pytest.mark.parametrize(
    ("name", "factor"), [("advantage", 0.99), ("true_positive_rate", 0.99), ("bayes_risk", 1.01)]
)
def test_less_risk_than_there_is_fails(name, factor):
    """One per cent is noticed; a number on the safe side holds."""
    found = stated()
    wrong = replace(found, risk={**found.risk, name: found.risk[name] * factor})
    (problem,) = check_statement(wrong).problems
    assert name.replace("_", " ").replace("bayes", "Bayes") in problem
    safe = replace(found, risk={**found.risk, name: found.risk[name] / factor})
    assert check_statement(safe).holds


def test_other_rates_and_priors_are_recomputed_at_theirs():
    """The false positive rate and the prior belong to the claim."""
    found = stated()
    easier = replace(found, risk={**found.risk, "false_positive_rate": 0.1})
    assert "true positive rate" in check_statement(easier).problems[0]
    surer = replace(found, risk={**found.risk, "prior": 0.1})
    assert "Bayes risk" in check_statement(surer).problems[0]


@pytest.mark.parametrize(
    "bad",
    [
        {},
        {"advantage": 0.1},
        [],
        {**dict.fromkeys(("advantage", "true_positive_rate", "bayes_risk"), 2.0)},
        {
            "advantage": True,
            "true_positive_rate": 0.1,
            "false_positive_rate": 0.1,
            "bayes_risk": 0.1,
            "prior": 0.5,
        },
        {
            "advantage": 0.1,
            "true_positive_rate": 0.1,
            "false_positive_rate": 0.0,
            "bayes_risk": 0.1,
            "prior": 0.5,
        },
    ],
)
def test_what_is_no_risk(bad):
    """Other fields, other types, and numbers that are no probabilities."""
    facts = {**stated().to_object(), "risk": bad}
    with pytest.raises(InvalidParameter):
        Statement.from_object(facts)


def test_exact_arithmetic_adds_its_distance():
    """A distance that is below what floating point shows; the statement holds."""
    assert check_statement(stated(arithmetic="exact")).holds


def test_budgets_of_filters_bound_risk_too():
    """Above that of the steps that the budget allows; nothing is empty."""
    budget = hs.filters.Renyi(epsilon=3.0, delta=1e-5)
    run = hs.training.PrivateRun(
        PLAN,
        examples=100,
        dimension=2,
        noise_multiplier=1.0,
        max_grad_norm=1.0,
        filter=budget,
        rng=3,
    )
    run.step(lambda batch: np.ones((batch.size, 2)))
    found = run.statement(delta=1e-5, risk=True)
    least = hs.account(PLAN, noise_multiplier=1.0)
    assert least.advantage() < found.risk["advantage"] < 0.9
    assert 0.05 < found.risk["bayes_risk"] < least.bayes_risk(0.5)
    assert check_statement(found).holds


def test_what_is_not_proven_states_none():
    """An approximation has no risk to state."""
    record = hs.training.RunRecord(
        plan=PLAN, noise_multiplier=1.0, max_grad_norm=1.0, taken_steps=20
    )
    with pytest.raises(InvalidParameter, match="risk"):
        statement(record, delta=1e-5, method="asymptotic-gdp", risk=True)
