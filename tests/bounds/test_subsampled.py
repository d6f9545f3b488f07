"""Bounds of runs in which the example may not take part."""

from __future__ import annotations

import pytest

import hockeystick as hs
from hockeystick.bounds.combined import SubsampledBound, subsampled
from hockeystick.bounds.profiles import ProfileBound
from hockeystick.profile.resolution import BOTH
from in_one_test import in_one_test

STEP = hs.Profile.gaussian(noise_multiplier=0.8)
FULL = ProfileBound(STEP)
DIRECTIONS = [("remove",), ("add",), BOTH]


@in_one_test
@pytest.mark.parametrize("directions", DIRECTIONS)
@pytest.mark.parametrize("rate", [0.9, 0.3, 0.01])
@pytest.mark.parametrize("epsilon", [0.0, 0.1, 1.0, 4.0])
def test_delta_is_that_of_the_subsampled_profile(rate, epsilon, directions):
    """The formulas agree with those of `Profile.subsample`."""
    found = SubsampledBound(FULL, rate).delta(epsilon, directions=directions, accuracy=1e-3)
    exact = STEP.subsample(rate).delta_bounds(epsilon, directions=directions)
    assert found.value == pytest.approx(exact.upper, rel=1e-8, abs=1e-300)


@in_one_test
@pytest.mark.parametrize("directions", DIRECTIONS)
@pytest.mark.parametrize("rate", [0.9, 0.3, 0.01])
@pytest.mark.parametrize("delta", [0.5, 1e-2, 1e-6, 1e-12])
def test_epsilon_is_an_upper_bound_and_close(rate, delta, directions):
    """Exact in the remove direction; in the add direction at most a little above."""
    found = SubsampledBound(FULL, rate).epsilon(delta, directions=directions, accuracy=1e-3)
    exact = STEP.subsample(rate).epsilon_bounds(delta, directions=directions)
    assert found.value >= exact.lower * (1 - 1e-9)
    if directions == ("remove",):
        assert found.value == pytest.approx(exact.upper, rel=1e-6)


def test_as_profile_is_the_subsampled_pair():
    """What is composed further is the pair of the full run, subsampled."""
    profile = SubsampledBound(FULL, 0.3).as_profile()
    assert profile.delta(0.5) == STEP.subsample(0.3).delta(0.5)
    assert subsampled(FULL, 1.0) is FULL
