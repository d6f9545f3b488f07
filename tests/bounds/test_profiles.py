"""Upper bounds from upper laws alone."""

from __future__ import annotations

import math

import pytest

import hockeystick as hs
from hockeystick.bounds.profiles import ProfileBound, UpperLaws, upper_side
from hockeystick.profile.resolution import BOTH

PROFILES = {
    "poisson": hs.Profile.gaussian(noise_multiplier=1.0).subsample(0.02).self_compose(300),
    "allocation": hs.Profile.gaussian(noise_multiplier=0.6).allocate(40),
    "laplace": hs.Profile.laplace(scale=2.0).subsample(0.3).self_compose(20),
}


@pytest.mark.parametrize("name", PROFILES)
@pytest.mark.parametrize("delta", [1e-3, 1e-9])
def test_epsilon_is_above_the_lower_bound_and_as_accurate(name, delta):
    """Never below the truth, and within the accuracy of the two-sided answer."""
    exact = PROFILES[name].epsilon_bounds(delta, directions=BOTH, accuracy=1e-3)
    found = UpperLaws(PROFILES[name]).epsilon(delta, directions=BOTH, accuracy=1e-3)
    assert exact.lower <= found.value <= exact.upper * (1 + 2e-3)
    assert found.lower is None


@pytest.mark.parametrize("name", PROFILES)
@pytest.mark.parametrize("epsilon", [0.1, 1.0])
def test_delta_is_above_the_lower_bound_and_as_accurate(name, epsilon):
    """The same for delta, at five times the tolerance."""
    exact = PROFILES[name].delta_bounds(epsilon, directions=BOTH, accuracy=1e-3)
    found = UpperLaws(PROFILES[name]).delta(epsilon, directions=BOTH, accuracy=1e-3)
    assert exact.lower <= found.value <= exact.upper * (1 + 1e-2)


def test_a_pair_that_fails_outright():
    """Mass at infinity: no epsilon for a smaller delta, and a delta that never falls below it."""
    failing = UpperLaws(hs.Profile.from_epsilon_delta(1.0, 1e-3).self_compose(2))
    assert failing.epsilon(1e-3, directions=BOTH, accuracy=1e-3).value == math.inf
    assert failing.delta(9.0, directions=BOTH, accuracy=1e-3).value >= 1.999e-3


def test_formulas_are_preferred():
    """A closed form answers for itself; it composes either way."""
    gaussian = hs.Profile.gaussian(noise_multiplier=2.0)
    assert upper_side(gaussian) == ProfileBound(gaussian)
    bound = upper_side(PROFILES["poisson"])
    assert isinstance(bound, UpperLaws)
    exact = PROFILES["poisson"].epsilon_bounds(1e-9)
    assert exact.lower <= bound.as_profile().epsilon(1e-9) <= exact.upper * (1 + 2e-3)


@pytest.mark.parametrize("delta", [0.0, 1.0, math.nan, -1.0])
def test_invalid_delta(delta):
    """As everywhere else."""
    with pytest.raises(hs.errors.InvalidParameter, match="delta"):
        UpperLaws(PROFILES["poisson"]).epsilon(delta, directions=BOTH, accuracy=1e-3)
