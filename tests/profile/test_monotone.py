"""More noise, fewer steps, lower rates: never less private."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hockeystick import Profile
from hypothesis_strategies import brief
from in_one_test import in_one_test

# Together they take seconds; `make test` runs them.
pytestmark = pytest.mark.slow

LOW = 0.05


def noises():
    """Noise multipliers from 0.3 to 30."""
    return st.floats(-0.5, 1.5).map(lambda e: 10.0**e)


def deltas():
    """Deltas from 1e-15 to 1e-2."""
    return st.floats(-15, -2).map(lambda e: 10.0**e)


def bounds(noise, rate, steps, delta, *, reverse):
    """Bounds on epsilon of Poisson-sampled steps."""
    profile = Profile.gaussian(noise_multiplier=noise).subsample(rate).self_compose(steps)
    return (profile.reverse() if reverse else profile).epsilon_bounds(delta, accuracy=LOW)


RUNS = st.fixed_dictionaries(
    {
        "noise": noises(),
        "rate": st.floats(0.001, 1.0),
        "steps": st.integers(1, 1000),
        "delta": deltas(),
        "reverse": st.booleans(),
    }
)


@brief
@given(run=RUNS, factor=st.floats(1.0, 3.0))
def test_in_the_noise(run, factor):
    """The lower bound with more noise is below the upper bound with less."""
    assert bounds(**{**run, "noise": run["noise"] * factor}).lower <= bounds(**run).upper


@brief
@given(run=RUNS, factor=st.floats(0.2, 1.0))
def test_in_the_rate(run, factor):
    """The lower bound at a lower rate is below the upper bound at a higher one."""
    assert bounds(**{**run, "rate": run["rate"] * factor}).lower <= bounds(**run).upper


@brief
@given(run=RUNS, extra=st.integers(0, 500))
def test_in_the_steps(run, extra):
    """The lower bound after fewer steps is below the upper bound after more."""
    assert bounds(**run).lower <= bounds(**{**run, "steps": run["steps"] + extra}).upper


@brief
@given(noise=noises(), steps=st.integers(1, 1000), factor=st.integers(1, 4), delta=deltas())
def test_allocation_in_the_steps(noise, steps, factor, delta):
    """One of more steps hides the example better, in both directions."""
    mechanism = Profile.gaussian(noise_multiplier=noise)
    few, many = mechanism.allocate(steps), mechanism.allocate(steps * factor)
    for small, large in ((few, many), (few.reverse(), many.reverse())):
        lower = large.epsilon_bounds(delta, accuracy=LOW).lower
        assert lower <= small.epsilon_bounds(delta, accuracy=LOW).upper


@brief
@given(noise=noises(), rate=st.floats(0.01, 1), steps=st.integers(1, 200), delta=deltas())
def test_epsilon_and_delta_fit_together(noise, rate, steps, delta):
    """delta(epsilon(delta)) <= delta: the guarantee that is claimed holds."""
    profile = Profile.gaussian(noise_multiplier=noise).subsample(rate).self_compose(steps)
    for direction in (profile, profile.reverse()):
        epsilon = direction.epsilon(delta, accuracy=LOW)
        # The upper bound on delta has its own accuracy; its lower bound has none to spare.
        assert direction.delta_bounds(epsilon, accuracy=0.1).lower <= delta * (1 + 1e-7)


@in_one_test
@pytest.mark.parametrize(
    "profile",
    [
        Profile.gaussian(noise_multiplier=1.0),
        Profile.gaussian(noise_multiplier=1.0).subsample(0.1),
        Profile.laplace(scale=0.7),
        Profile.randomized_response(epsilon=2.0),
        Profile.from_epsilon_delta(1.0, 1e-7),
    ],
    ids=["gaussian", "sampled", "laplace", "response", "epsilon-delta"],
)
@pytest.mark.parametrize("delta", [0.3, 1e-3, 1e-6, 1e-9])
def test_closed_forms_fit_together(profile, delta):
    """For a single mechanism delta(epsilon(delta)) <= delta to the last digits."""
    epsilon = profile.epsilon(delta)
    if math.isfinite(epsilon):
        assert profile.delta(epsilon) <= delta * (1 + 1e-9)


@pytest.mark.parametrize("profile", [Profile.gaussian(noise_multiplier=0.8).subsample(0.05)])
def test_delta_falls_with_epsilon(profile):
    """Strictly, and convexly in e^epsilon, through both signs."""
    composed = profile.self_compose(40)
    values = [composed.delta(epsilon, accuracy=1e-3) for epsilon in (-2, -1, -0.1, 0, 0.1, 1, 3)]
    assert values == sorted(values, reverse=True)
    assert len(set(values)) == len(values)
