"""`hs.conditional`: every choice is a valid bound, and choices are checked."""

from __future__ import annotations

import math

import numpy as np
import pytest

import hockeystick as hs
from hockeystick.analyses.conditional.bound import ConditionalBound
from hockeystick.errors import InvalidParameter, UnsupportedPlan
from in_one_test import in_one_test
from references.sum_law import band, ratios

PLAN = hs.Plan(sampling=hs.BallsInBins(bins=5), steps=10, strategy=hs.strategies.bsr(10, 3))
DELTA = 1e-3


def epsilon_of(noise=4.0, **choices):
    """By the method with these choices."""
    method = hs.conditional(**choices) if choices else "conditional"
    return hs.account(PLAN, noise_multiplier=noise, method=method, accuracy=0.01).epsilon(DELTA)


@pytest.mark.slow
def test_choices_bound_the_run_and_cost_something():
    """No choice is below a proven lower bound; what is searched is not worse than what is fixed."""
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


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["gaps", "ties", "dense"])
def test_random_levels_against_simulated_runs(kind):
    """No delta is below a simulated band, also where some steps add nothing to any bin."""
    rng = np.random.default_rng(77)
    draws, which = rng.standard_normal((40_000, 6)), rng.random(40_000)
    compared = 0
    for _ in range(6):
        bins, steps = int(rng.integers(2, 7)), int(rng.integers(2, 8))
        levels = rng.random((steps, bins)) * (rng.random((steps, bins)) < 0.5)
        levels = {"gaps": levels, "ties": np.round(3 * levels) / 3, "dense": levels + 0.1}[kind]
        levels[0] *= kind == "dense"
        bound = ConditionalBound(lambda levels=levels: levels)
        gram = levels.T @ levels + 1e-12 * np.eye(bins)
        for direction in ("remove", "add"):
            remove = direction == "remove"
            losses = ratios(gram, draws[:, :bins], which, remove=remove)
            for epsilon, failure in ((0.0, 1e-6), (0.3, 0.01)):
                low, _ = band(losses, epsilon, remove=remove)
                assert bound.delta_at(failure, epsilon, direction, 0.1) >= low * (1 - 1e-9)
                compared += low > 1e-3
    assert compared > 6


def test_nothing_added_is_nothing_revealed():
    """Without any level epsilon is 0 but for the bad event; no step, and one of them."""
    bound = ConditionalBound(lambda: np.zeros((3, 4)))
    assert bound.delta_at(1e-6, 0.1, "remove", 0.1) == pytest.approx(1e-6, rel=1e-3)
