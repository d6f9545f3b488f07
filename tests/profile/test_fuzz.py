"""Extreme parameters: no crash, no NaN, no crossed bounds, and nothing beyond what is certain."""

from __future__ import annotations

import math
import time

import numpy as np
import pytest

from hockeystick import Profile
from hockeystick._numerics.divergence import delta_from_law
from hockeystick.errors import PrecisionError
from hockeystick.profile.refinement import Resolution
from hypothesis_strategies import thinned
from in_one_test import in_one_test

# Together they take seconds; `make test` runs them.
pytestmark = pytest.mark.slow

ACCURACY = 0.1


def draw(seed):
    """Noise, rate, steps and delta, each over its whole range of magnitudes."""
    rng = np.random.default_rng([17, seed])
    noise = 10 ** rng.uniform(-3, 3)
    rate = 10 ** rng.uniform(-6, 0) if rng.random() < 0.8 else 1.0
    steps = int(10 ** rng.uniform(0, 5))
    delta = 10 ** rng.uniform(-50, -2)
    return float(noise), float(rate), steps, float(delta)


def bounds(ask):
    """Bounds on the answer, whether or not the accuracy was reached."""
    try:
        lower, upper = ask()
    except PrecisionError as error:
        lower, upper = error.lower, error.upper
    assert not math.isnan(lower)
    assert not math.isnan(upper)
    assert lower <= upper
    return lower, upper


def lower_delta(profile, epsilon, delta):
    """A lower bound on delta at this epsilon, on a coarse grid of another kind.

    At the end of its range a profile falls within the last digits of epsilon.
    """
    law = profile.evaluator.laws(Resolution(0.07, delta * 1e-7, 10.0)).lower
    return delta_from_law(law, epsilon * (1 + 1e-12))


def check_poisson(noise, rate, steps, delta):
    """Order of the bounds, and what is certain from full participation and from one step."""
    mechanism = Profile.gaussian(noise_multiplier=noise)
    profile = mechanism.subsample(rate).self_compose(steps)
    full = mechanism.self_compose(steps).epsilon(delta)
    for direction in (profile, profile.reverse()):
        lower, upper = bounds(lambda p=direction: p.epsilon_bounds(delta, accuracy=ACCURACY))
        assert lower <= full * (1 + 1e-9)
        if rate == 1.0:
            assert upper >= full * (1 - 1e-9)
        # One step alone is part of all of them.
        assert upper >= _single(mechanism, rate, delta, direction is not profile) * (1 - 1e-9)
        assert lower_delta(direction, upper, delta) <= delta * (1 + 1e-7)


def _single(mechanism, rate, delta, reverse):
    once = mechanism.subsample(rate)
    return (once.reverse() if reverse else once).epsilon_bounds(delta).lower


def check_allocation(noise, steps, delta):
    """Order of the bounds, and what is certain from full participation."""
    mechanism = Profile.gaussian(noise_multiplier=noise)
    profile = mechanism.allocate(steps)
    full = mechanism.epsilon(delta)
    for direction in (profile, profile.reverse()):
        lower, upper = bounds(lambda p=direction: p.epsilon_bounds(delta, accuracy=ACCURACY))
        assert lower <= full * (1 + 1e-9)
        if steps == 1:
            assert upper >= full * (1 - 1e-9)
        assert lower_delta(direction, upper, delta) <= delta * (1 + 1e-7)


@pytest.mark.parametrize("seed", thinned(range(10), normal=6))
def test_poisson(seed):
    """Poisson composition with noise from 1e-3 to 1e3, up to 1e5 steps, delta down to 1e-50."""
    check_poisson(*draw(seed))


@pytest.mark.parametrize("seed", thinned(range(10), normal=5))
def test_allocation(seed):
    """Random allocation with noise from 1e-3 to 1e3 over up to 1e5 steps."""
    noise, _, steps, delta = draw(seed)
    check_allocation(noise, steps, delta)


@pytest.mark.parametrize(
    ("noise", "rate", "steps", "delta"),
    [
        (0.0014095948820999089, 0.0016219110294773411, 3, 9.115564300159152e-29),
        (0.004270907, 0.003962333, 1985, 3.034274707177186e-13),
        (0.009338700558904699, 0.007535424622759339, 250, 9.340794348843788e-21),
    ],
)
def test_poisson_with_little_noise(noise, rate, steps, delta):
    """Cells of thousands of nats, where e^-width is not a number any more."""
    check_poisson(noise, rate, steps, delta)


@pytest.mark.parametrize(
    ("noise", "steps", "delta"), [(0.0298, 365, 1.2e-3), (0.0327, 6103, 3e-47), (0.0364, 20, 5e-38)]
)
def test_allocation_with_little_noise(noise, steps, delta):
    """Laws most of whose atoms cannot be averaged in floating point."""
    check_allocation(noise, steps, delta)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(100, 110))
def test_poisson_at_length(seed):
    """More of the same."""
    for k in range(10):
        check_poisson(*draw(10 * seed + k))


@pytest.mark.long
@pytest.mark.parametrize("seed", range(100, 110))
def test_allocation_at_length(seed):
    """More of the same."""
    for k in range(10):
        noise, _, steps, delta = draw(10 * seed + k)
        check_allocation(noise, steps, delta)


@pytest.mark.parametrize("noise", [1e-3, 0.003, 0.02])
@pytest.mark.parametrize("steps", [2, 100_000])
def test_little_noise_does_not_take_forever(noise, steps):
    """Losses of up to 1e11 are spread over a bounded number of atoms."""
    started = time.process_time()
    profile = Profile.gaussian(noise_multiplier=noise).subsample(0.1).self_compose(steps)
    bounds(lambda: profile.epsilon_bounds(1e-6, accuracy=ACCURACY))
    assert time.process_time() - started < 20


@in_one_test
@pytest.mark.parametrize("noise", [0.05, 0.03, 0.02, 1e-3])
@pytest.mark.parametrize("steps", [2, 30])
def test_allocation_with_overflowing_likelihood_ratios(noise, steps):
    """Where e^loss leaves floating point the answer may be vague, but not wrong."""
    mechanism = Profile.gaussian(noise_multiplier=noise)
    profile = mechanism.allocate(steps)
    single = mechanism.epsilon_bounds(1e-5)
    lower, upper = bounds(lambda: profile.epsilon_bounds(1e-5, accuracy=ACCURACY))
    assert lower <= single.upper
    # Revealing the step costs at most log(steps); P-mass outside is still there.
    assert upper >= mechanism.epsilon_bounds(1e-5 * steps if 1e-5 * steps < 1 else 0.5).lower - (
        math.log(steps) + 1e-6
    )
    lower, upper = bounds(lambda: profile.reverse().epsilon_bounds(1e-5, accuracy=ACCURACY))
    assert lower <= single.upper
    # The smallest of several losses: all steps together are at most this much better than one.
    assert upper >= mechanism.epsilon_bounds(0.999).lower - 40 / noise
