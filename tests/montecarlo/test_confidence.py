"""`account(method=MonteCarlo(...))`: upper confidence bounds at one epsilon."""

from __future__ import annotations

import pytest

import hockeystick as hs
from hockeystick import strategies
from hockeystick.errors import InvalidParameter, UnsupportedPlan
from in_one_test import in_one_test

PLAN = hs.Plan(
    sampling=hs.MinSep(rate=0.1, separation=4), steps=24, strategy=strategies.bsr(24, bands=4)
)
NOISE, EPSILON = 1.2, 1.0


def bounded(plan=PLAN, direction="both", **options):
    """A bound from few draws."""
    method = hs.MonteCarlo(**{"epsilon": EPSILON, "draws": 4_000, "seed": 2, **options})
    return hs.account(plan, noise_multiplier=NOISE, method=method, direction=direction)


def test_what_a_bound_says():
    """Its kind, and what it is worth."""
    guarantee = bounded(failure_probability=0.01)
    assert guarantee.kind == "confidence"
    answer = guarantee.answer(epsilon=EPSILON)
    assert answer.details["failure_probability"] == 0.01
    assert answer.details["draws"] == 4_000
    assert answer.details["order"] >= 2
    assert answer.details["largest_payoff"] > answer.details["estimated_delta"]
    assert answer.details["estimated_delta"] < answer.value < 1
    assert answer.lower is None
    assert bounded().answer(epsilon=EPSILON).details["failure_probability"] == 1e-3


def test_where_a_bound_holds():
    """At its epsilon and beyond; below it and for smaller deltas it says nothing."""
    guarantee = bounded()
    delta = guarantee.delta(EPSILON)
    assert guarantee.delta(EPSILON + 1) == delta
    assert guarantee.epsilon(delta) == guarantee.epsilon(2 * delta) == EPSILON
    with pytest.raises(InvalidParameter, match="epsilon"):
        guarantee.delta(EPSILON - 0.01)
    with pytest.raises(InvalidParameter, match="delta"):
        guarantee.epsilon(0.99 * delta)


def test_it_is_among_the_methods():
    """With the kind that its numbers will have."""
    assert hs.methods(PLAN)["monte-carlo"] == "confidence"
    sampling = hs.ConjecturedUserMinSep(rate=0.1, separation=4, examples_per_user=2)
    conjectured = hs.Plan(sampling=sampling, steps=8)
    assert hs.methods(conjectured)["monte-carlo"] == "conjectured"
    assert bounded(conjectured).kind == "conjectured"
    assert bounded(conjectured).unit == "user"


def test_less_failure_costs_more_delta():
    """And more draws cost less."""
    loose, strict = (bounded(failure_probability=f).delta(EPSILON) for f in (0.1, 1e-6))
    assert loose < strict
    assert bounded(draws=40_000).delta(EPSILON) < bounded().delta(EPSILON)


def test_both_directions_cost_what_removing_costs():
    """Adding never leaks more, so that nothing is drawn for it."""
    assert bounded(direction="remove").delta(EPSILON) == bounded().delta(EPSILON)


@in_one_test
@pytest.mark.parametrize(
    ("options", "name"),
    [
        ({"epsilon": None}, "epsilon"),
        ({"epsilon": float("nan")}, "epsilon"),
        ({"draws": 0}, "draws"),
        ({"failure_probability": 1.0}, "failure_probability"),
        ({"failure_probability": float("nan")}, "failure_probability"),
        ({"seed": -3}, "seed"),
        ({"seed": True}, "seed"),
        ({"seed": 0.5}, "seed"),
        ({"execution": 2}, "execution"),
    ],
)
def test_invalid_questions(options, name):
    """Named in the message."""
    with pytest.raises(InvalidParameter, match=name):
        bounded(**options)


def test_the_name_stands_for_the_defaults():
    """Which have no epsilon, and that is said."""
    with pytest.raises(InvalidParameter, match="epsilon"):
        hs.account(PLAN, noise_multiplier=NOISE, method="monte-carlo")


def test_what_is_not_simulated():
    """A scheme without a simulation, with the methods that apply to it."""
    plan = hs.Plan(sampling=hs.FullBatch(), steps=8)
    with pytest.raises(UnsupportedPlan, match="not simulated; methods that do: gaussian"):
        bounded(plan)


@pytest.mark.slow
@pytest.mark.parametrize("direction", ["remove", "add"])
def test_coverage(direction):
    """Bounds that are wrong in at most one of twenty cases are, where delta is known."""
    plan = hs.Plan(sampling=hs.Poisson(rate=0.2), steps=6)
    exact = hs.account(plan, noise_multiplier=0.8, direction=direction).answer(epsilon=0.5)
    assert exact.value > 0.02
    repetitions, failure = 200, 0.05
    bounds = [
        hs.account(
            plan,
            noise_multiplier=0.8,
            method=hs.MonteCarlo(epsilon=0.5, draws=1_000, failure_probability=failure, seed=seed),
            direction=direction,
        ).delta(0.5)
        for seed in range(repetitions)
    ]
    wrong = sum(bound < exact.lower for bound in bounds)
    assert wrong <= repetitions * failure + 3 * (repetitions * failure * (1 - failure)) ** 0.5
    # Not by being far away.
    assert sorted(bounds)[repetitions // 2] < 1.5 * exact.value


def test_a_run_that_hardly_ever_takes_part():
    """Proven bounds on a payoff that are too small for floating point do not become zero."""
    scheme = hs.UserMinSep(rate=1e-12, separation=3, examples_per_user=2)
    plan = hs.Plan(sampling=scheme, steps=5)
    method = hs.MonteCarlo(epsilon=0.5, draws=500, seed=1)
    bound = hs.account(plan, noise_multiplier=1.0, method=method).delta(0.5)
    assert 0 < bound < 0.05
