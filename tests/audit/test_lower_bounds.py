"""Lower confidence bounds on epsilon: never above the truth too often, and near it."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import binom

import hockeystick as hs
from audit.canary_runs import PLANS, projections
from hockeystick.audit.lower_bounds import largest_noise

HALF = np.arange(1000) % 2 == 0


@pytest.mark.slow
def test_epsilon_lower_is_near_the_proven_one():
    """Poisson at epsilon = 4, delta = 1e-3: within 2 % by the noise, 40 % by the attack alone."""
    plan, noise = PLANS["poisson"], 1.1625
    rng = np.random.default_rng(0)
    guarantee = hs.account(plan, noise_multiplier=noise)
    report = hs.audit.check(
        plan, noise_multiplier=noise, projections=projections(plan, noise, HALF, rng), members=HALF
    )
    assert guarantee.epsilon(1e-3) == pytest.approx(4.0, rel=1e-3)
    assert 0.98 * 4 < report.epsilon_lower(1e-3) <= guarantee.epsilon(1e-3)
    assert 0.6 * 4 < report.epsilon_lower(1e-3, assuming="trade-off") < 4
    assert report.epsilon_lower(1e-3, assuming="nothing") < 4


@pytest.mark.slow
def test_too_little_noise_shows_an_epsilon_above_the_proven_one():
    """Noise 10 % too small: the bound in the plan's family exceeds what was promised."""
    plan, rng = PLANS["poisson"], np.random.default_rng(1)
    report = hs.audit.check(
        plan,
        noise_multiplier=1.1625,
        projections=projections(plan, 0.9 * 1.1625, HALF, rng),
        members=HALF,
    )
    assert report.epsilon_lower(1e-3) > 4.3
    shuffled = hs.RandomAllocation(picks=1, out_of=20)
    rows = projections(plan, 0.7, HALF, rng, sampling=shuffled)
    other = hs.audit.check(plan, noise_multiplier=0.7, projections=rows, members=HALF)
    with pytest.raises(hs.errors.InvalidParameter, match="at no noise"):
        other.epsilon_lower(1e-3)


def test_guesses_about_randomized_response():
    """Exact for pure privacy: the bound exceeds the true epsilon in at most 5 % of all runs.

    Randomised response tells the truth with probability e^eps / (e^eps + 1) for each canary, so
    that the number of right guesses is binomial; with delta, it tells the truth with probability
    delta + (1 - delta) times that.
    """
    for epsilon, delta, canaries in ((1.0, 0.0, 50), (0.5, 0.01, 40), (2.0, 1e-3, 100)):
        chance = delta + (1 - delta) / (1 + math.exp(-epsilon))
        wrong = sum(
            binom.pmf(right, canaries, chance)
            for right in range(canaries + 1)
            if hs.audit.epsilon_of_guesses(
                right=right, guesses=canaries, canaries=canaries, delta=delta
            )
            > epsilon
        )
        assert wrong <= 0.05


def test_guesses_are_worth_more_when_more_are_right():
    """Monotone in right guesses, and falling with delta; nothing is shown by half of them."""
    bounds = [
        hs.audit.epsilon_of_guesses(right=right, guesses=100, canaries=1000, delta=1e-5)
        for right in range(40, 101, 5)
    ]
    assert bounds == sorted(bounds)
    assert bounds[0] == 0
    assert (
        hs.audit.epsilon_of_guesses(right=100, guesses=100, canaries=1000, delta=1e-3) < bounds[-1]
    )


@pytest.mark.slow
def test_largest_noise_covers_the_truth():
    """A Gaussian mechanism: in at most 5 % of all outcomes the noise is said to be smaller.

    Both counts are binomial with the rates of the test at threshold 0, so that the probability of
    a wrong bound is a sum; noise is excluded if and only if the bound is below it.
    """
    from scipy.stats import norm

    plan, noise, number = hs.Plan(sampling=hs.FullBatch(), steps=1), 1.0, 20
    rate = norm.sf(0.5 / noise)
    wrong = 0.0
    for found in range(number + 1):
        for alarms in range(number + 1):
            weight = binom.pmf(found, number, 1 - rate) * binom.pmf(alarms, number, rate)
            if weight < 1e-5:
                continue
            bound = largest_noise(
                plan,
                noise,
                found=found,
                members=number,
                alarms=alarms,
                others=number,
                confidence=0.95,
            )
            wrong += weight * (bound < noise)
    assert 0.005 < wrong <= 0.05


@pytest.mark.long
def test_100_bounds_within_a_quarter():
    """1,000 canaries, 500 steps, epsilon = 4 at delta = 1e-3: within 25 %, above in 5 %."""
    plan, noise, rng = PLANS["poisson"], 1.1625, np.random.default_rng(2)
    above = 0
    for _ in range(100):
        rows = projections(plan, noise, HALF, rng)
        report = hs.audit.check(plan, noise_multiplier=noise, projections=rows, members=HALF)
        found = report.epsilon_lower(1e-3)
        above += found > 4.0
        assert found > 3.0
    assert above <= 10
