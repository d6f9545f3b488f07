"""Several bounds on one run, taken together."""

from __future__ import annotations

import pytest

import hockeystick as hs
from hockeystick.bounds.best_of import BestOf
from hockeystick.bounds.by_direction import ByDirection
from hockeystick.bounds.one_sided import upper_side

LOW = hs.Profile.gaussian(noise_multiplier=2.0)
HIGH = hs.Profile.gaussian(noise_multiplier=1.0)
SAMPLED = hs.Profile.gaussian(noise_multiplier=0.5).subsample(0.01).self_compose(20)
BOTH = ("remove", "add")


def epsilon(source, directions=BOTH, delta=1e-5):
    """The upper bound on epsilon."""
    return source.epsilon_bounds(delta, directions=directions, accuracy=1e-3).upper


def delta(source, directions=BOTH, at=1.0):
    """The upper bound on delta."""
    return source.delta_bounds(at, directions=directions, accuracy=1e-3).upper


def test_best_of_several():
    """The smallest number, whatever the order in which they are given."""
    for sources in ([LOW, HIGH], [HIGH, LOW]):
        assert epsilon(BestOf(sources)) == epsilon(LOW)
        assert delta(BestOf(sources)) == delta(LOW)
        assert BestOf(sources).as_profile().delta(1.0) == pytest.approx(LOW.delta(1.0), rel=1e-2)


def test_best_of_is_decided_by_direction():
    """A source that is better in one direction only is taken there."""
    skewed = upper_side(SAMPLED)
    middle = hs.Profile.gaussian(noise_multiplier=1.6)
    assert epsilon(skewed, ("add",)) < epsilon(middle) < epsilon(skewed, ("remove",))
    best = BestOf([skewed, middle])
    assert epsilon(best, ("add",)) == pytest.approx(epsilon(skewed, ("add",)), rel=2e-3)
    assert epsilon(best, ("remove",)) == epsilon(middle)
    assert epsilon(best) == epsilon(middle)


def test_each_direction_has_its_own_sources():
    """The larger of the two directions decides, and says where it came from."""
    source = ByDirection(remove={"low": LOW}, add={"high": HIGH, "low": LOW})
    assert epsilon(source) == epsilon(LOW)
    source = ByDirection(remove={"low": LOW}, add={"high": HIGH})
    assert epsilon(source, ("remove",)) == epsilon(LOW)
    assert epsilon(source) == epsilon(HIGH)
    assert delta(source, ("add",)) == delta(HIGH)
    worst = source.worst(delta=1e-5, epsilon=None, directions=BOTH)
    assert (worst.direction, worst.name) == ("add", "high")
    assert source.worst(delta=None, epsilon=1.0, directions=("remove",)).name == "low"


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
    assert profile.delta(1.0) == pytest.approx(LOW.delta(1.0), rel=0.02)
    assert LOW.delta(1.0) < profile.reverse().delta(1.0) < HIGH.delta(1.0)
