"""`hs.conditional`: every choice is a valid bound, and choices are checked."""

from __future__ import annotations

import math

import pytest

import hockeystick as hs
from hockeystick.errors import InvalidParameter, UnsupportedPlan
from in_one_test import in_one_test

PLAN = hs.Plan(sampling=hs.BallsInBins(bins=5), steps=10, strategy=hs.strategies.bsr(10, 3))
DELTA = 1e-3


def epsilon_of(noise=4.0, **choices):
    """By the method with these choices."""
    method = hs.conditional(**choices) if choices else "conditional"
    return hs.account(PLAN, noise_multiplier=noise, method=method, accuracy=0.01).epsilon(DELTA)


@pytest.mark.slow
def test_choices_bound_the_run_and_cost_something():
    """No choice is below a proven lower bound; what is fixed is not better than what is searched."""
    lower = hs.account(PLAN, noise_multiplier=4.0, method="gram").answer(delta=DELTA).lower
    usual = epsilon_of()
    choices = (
        {"bad_event": DELTA / 2},
        {"families": ("uniform",)},
        {"temperatures": (1.0,)},
        {"by_bin": True},
        {"segments": 1},
    )
    found = [epsilon_of(**one) for one in choices]
    assert 0 < lower <= min(usual, *found)
    fixed, uniform, _, by_bin, whole = found
    assert min(fixed, uniform, whole) >= usual * (1 - 0.02)
    assert by_bin <= usual * (1 + 0.02)


@pytest.mark.slow
def test_a_bad_event_above_delta_says_nothing():
    """Its probability is added to delta."""
    claim = hs.account(PLAN, noise_multiplier=4.0, method=hs.conditional(bad_event=0.01))
    assert claim.delta(2.0) >= 0.01
    assert not math.isfinite(claim.epsilon(1e-3))


@in_one_test
@pytest.mark.parametrize(
    "choices",
    [
        {"bad_event": 0.0},
        {"bad_event": math.nan},
        {"families": ("other",)},
        {"families": ()},
        {"temperatures": (0.0,)},
        {"temperatures": (math.nan,)},
        {"temperatures": ()},
        {"segments": 0},
        {"by_bin": 1},
    ],
)
def test_choices_are_checked(choices):
    """Names, numbers and flags; nothing is silently ignored."""
    with pytest.raises(InvalidParameter):
        hs.conditional(**choices)


def test_the_method_refuses_other_plans():
    """As it does by name."""
    plan = hs.Plan(sampling=hs.Poisson(rate=0.1), steps=3)
    with pytest.raises(UnsupportedPlan, match="conditional"):
        hs.account(plan, noise_multiplier=1.0, method=hs.conditional())
