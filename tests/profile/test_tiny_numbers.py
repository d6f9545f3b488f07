"""Masses and losses down to 1e-300: bounds stay bounds, against enumeration with 700 digits."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest

from hockeystick import Profile
from hockeystick.errors import PrecisionError
from in_one_test import in_one_test
from references import outcomes as plain

# Tiny numbers beside 1 take this many digits.
DIGITS = 700
# What a bound may lose to floating point.
TOLERANCE = 1e-8


def wide(rng, size):
    """Outcomes whose probabilities span three hundred powers of ten."""
    p, q = (10.0 ** np.array([rng.uniform(-300, 0) for _ in range(size)]) for _ in range(2))
    p[0], q[0] = p[0] + 1, q[0] + 1
    for _ in range(4):
        p, q = p / p.sum(), q / q.sum()
    return Profile.from_pmfs(p, q), plain.outcomes(p / p.sum(), q / q.sum())


def response(epsilon):
    """Randomized response, with exact probabilities."""
    odds = plain.exact.exp(plain.number(epsilon))
    likely, other = odds / (1 + odds), 1 / (1 + odds)
    return Profile.randomized_response(epsilon=epsilon), [(likely, other), (other, likely)]


def base(rng, size):
    """A pair with tiny or huge losses."""
    if rng.random() < 0.5:
        return wide(rng, size)
    return response(rng.choice([1e-20, 1e-12, 1e-3, 1.0, 30.0, 499.8, 680.0]))


def drawn(rng):
    """A pair and its reference after sampling, an operation and perhaps an exchange."""
    size = rng.choice([2, 3, 34])
    profile, pair = base(rng, size)
    rate = 10.0 ** rng.uniform(rng.choice([-310, -20]), 0)
    profile, pair = profile.subsample(rate), plain.subsample(pair, rate)
    operation = rng.choice(["compose", "allocate", "thrice", "other", "none"])
    if operation == "compose":
        profile, pair = profile.self_compose(2), plain.power(pair, 2)
    elif operation == "allocate":
        profile, pair = profile.allocate(2), plain.allocate(pair, 2)
    elif operation == "thrice" and len(pair) < 4:
        profile, pair = profile.self_compose(3), plain.power(pair, 3)
    elif operation == "other":
        other, reference = base(rng, 34)
        profile, pair = profile.compose(other), plain.compose(pair, reference)
    if rng.random() < 0.5:
        return profile.reverse(), plain.reverse(pair)
    return profile, pair


def bounds_of(ask):
    """The bounds, also where they are too far apart to be an answer."""
    try:
        return ask()
    except PrecisionError as error:
        return error.lower, error.upper


@in_one_test
@pytest.mark.parametrize("seed", range(60))
def test_bounds_enclose_the_enumeration(seed):
    """epsilon at tiny deltas and delta at tiny epsilons, from below and from above."""
    rng = random.Random(seed)
    with plain.exact.workdps(DIGITS):
        profile, pair = drawn(rng)
        at_zero = float(plain.hockey_stick(pair, 0.0))
        for delta in (10.0 ** rng.uniform(-300, -1), at_zero * 10.0 ** rng.uniform(-6, 0)):
            if not 1e-300 <= delta < 1:
                continue
            low, high = bounds_of(lambda delta=delta: profile.epsilon_bounds(delta))
            if math.isfinite(high):
                assert plain.hockey_stick(pair, high) <= delta * (1 + TOLERANCE)
            if low > 0:
                assert plain.hockey_stick(pair, low) >= delta * (1 - TOLERANCE)
            at = low * rng.choice([0.0, 0.5, 1.1]) if low < 1e4 else 0.0
            truth = plain.hockey_stick(pair, at)
            low, high = bounds_of(lambda at=at: profile.delta_bounds(at))
            assert truth <= high * (1 + TOLERANCE) + 1e-300
            assert low * (1 - TOLERANCE) - 1e-300 <= truth


@pytest.mark.parametrize("rate", [1e-20, 1e-100, 1e-250])
def test_losses_near_zero_are_told_apart(rate):
    """Small losses are not rounded to 0: delta(0) is of the order of the rate."""
    one = Profile.randomized_response(epsilon=1.0).subsample(rate)
    advantage = math.tanh(0.5)
    for profile in (one.self_compose(2), one.allocate(3), one.symmetrize(), one.maximum(one)):
        assert profile.delta(0.0) >= rate * advantage * 0.5
        assert profile.epsilon(rate * 1e-3) > 0.1 * rate


def test_averages_of_huge_losses_keep_masses_that_are_products():
    """Two rare outcomes at once: the P-mass is 1e-217 although its Q-mass would underflow."""
    with plain.exact.workdps(DIGITS):
        profile, pair = response(499.8)
        truth = plain.hockey_stick(plain.allocate(pair, 2), 499.5)
        assert 1e-219 < truth <= profile.allocate(2).delta(499.5)


@pytest.mark.parametrize("noise", [0.01, 0.02])
def test_averages_of_losses_beyond_the_range_of_floats_are_tight(noise):
    """Allocation at little noise is answered in both directions."""
    profile = Profile.gaussian(noise_multiplier=noise).allocate(2)
    for one in (profile, profile.reverse()):
        found = one.epsilon_bounds(1e-5)
        assert found.lower == pytest.approx(found.upper, rel=2e-3)


def test_composed_maximum_keeps_tiny_losses():
    """Both directions of a rare response, and the largest loss that any of them has."""
    one = Profile.randomized_response(epsilon=3.0).subsample(1e-50)
    both = one.self_compose(2).symmetrize()
    largest = 2e-50 * math.expm1(3.0)
    assert both.epsilon(1e-70) == pytest.approx(largest, rel=1e-3)


def test_delta_beyond_every_loss_is_zero():
    """A loss that is bounded ends: nothing is left of delta, and nothing is computed."""
    step = Profile.gaussian(noise_multiplier=3.0).subsample(0.1).self_compose(5).reverse()
    end = -5 * math.log1p(-0.1)
    assert step.delta(end * 1.01) == 0
    assert step.delta(end * 0.5) > 0
