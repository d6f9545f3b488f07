"""Several bounds on one run, taken together."""

from __future__ import annotations

import pytest

import hockeystick as hs
from hockeystick.bounds.combined import BestOf, ByDirection
from hockeystick.bounds.profiles import ProfileBound, upper_side

LOW = ProfileBound(hs.Profile.gaussian(noise_multiplier=2.0))
HIGH = ProfileBound(hs.Profile.gaussian(noise_multiplier=1.0))
SAMPLED = hs.Profile.gaussian(noise_multiplier=0.5).subsample(0.01).self_compose(20)
BOTH = ("remove", "add")


def epsilon(bound, directions=BOTH, delta=1e-5):
    """The upper bound on epsilon."""
    return bound.epsilon(delta, directions=directions, accuracy=1e-3).value


def delta(bound, directions=BOTH, at=1.0):
    """The upper bound on delta."""
    return bound.delta(at, directions=directions, accuracy=1e-3).value


def test_best_of_several():
    """The smallest number, whatever the order in which they are given."""
    for bounds in ([LOW, HIGH], [HIGH, LOW]):
        assert epsilon(BestOf(bounds)) == epsilon(LOW)
        assert delta(BestOf(bounds)) == delta(LOW)
        assert BestOf(bounds).as_profile().delta(1.0) == pytest.approx(delta(LOW), rel=1e-2)


def test_best_of_is_decided_by_direction():
    """A bound that is better in one direction only is taken there."""
    skewed = upper_side(SAMPLED)
    middle = ProfileBound(hs.Profile.gaussian(noise_multiplier=1.6))
    assert epsilon(skewed, ("add",)) < epsilon(middle) < epsilon(skewed, ("remove",))
    best = BestOf([skewed, middle])
    assert epsilon(best, ("add",)) == pytest.approx(epsilon(skewed, ("add",)), rel=2e-3)
    assert epsilon(best, ("remove",)) == epsilon(middle)
    assert epsilon(best) == epsilon(middle)


def test_each_direction_has_its_own_bounds():
    """The larger of the two directions decides, and says where it came from."""
    bound = ByDirection(remove={"low": LOW}, add={"high": HIGH, "low": LOW})
    assert epsilon(bound) == epsilon(LOW)
    bound = ByDirection(remove={"low": LOW}, add={"high": HIGH})
    assert epsilon(bound, ("remove",)) == epsilon(LOW)
    assert epsilon(bound) == epsilon(HIGH)
    assert delta(bound, ("add",)) == delta(HIGH)
    worst = bound.epsilon(1e-5, directions=BOTH, accuracy=1e-3)
    assert (worst.direction, worst.details, worst.lower) == ("add", {}, None)
    several = ByDirection(remove={"low": LOW}, add={"higher": HIGH, "high": HIGH})
    assert several.delta(1.0, directions=BOTH, accuracy=1e-3).details == {"bounded_by": "higher"}


def test_profile_of_two_directions():
    """One pair with both bounds, which is valid and close."""
    known = {"exact": upper_side(SAMPLED), "worse": HIGH}
    profile = ByDirection(remove=known, add=known).as_profile()
    for at in (0.02, 0.05, 0.1):
        for found, exact in (
            (profile.delta(at), SAMPLED.delta(at)),
            (profile.reverse().delta(at), SAMPLED.reverse().delta(at)),
        ):
            assert exact * (1 - 1e-2) <= found <= exact * 1.05


def test_bounds_that_do_not_fit_together():
    """A profile is convex across both directions: the worse one is improved by the better one."""
    profile = ByDirection(remove={"low": LOW}, add={"high": HIGH}).as_profile()
    assert profile.delta(1.0) == pytest.approx(delta(LOW), rel=0.02)
    assert delta(LOW) < profile.reverse().delta(1.0) < delta(HIGH)
