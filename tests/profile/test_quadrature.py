"""Gaussian compositions and allocations against numerical integration, both directions."""

from __future__ import annotations

import math

import pytest

from hockeystick import Profile
from hockeystick.profile.refinement import Resolution
from hypothesis_strategies import thinned
from references.gaussian import allocation_of_three, allocation_of_two, poisson_twice

# Together they take seconds; `make test` runs them.
pytestmark = pytest.mark.slow

STEPS = (0.2, 0.1, 0.05, 0.02, 0.01)
# The quadratures agree with finer ones to this accuracy.
QUADRATURE = 1e-8


def assert_sandwich(profile, epsilon, want, accuracy=1e-3):
    """The answer at the default accuracy encloses the integral and is as close as promised."""
    lower, upper = profile.delta_bounds(epsilon, accuracy=accuracy)
    assert lower <= want * (1 + QUADRATURE)
    assert want <= upper * (1 + QUADRATURE)
    assert upper - lower <= 5 * accuracy * upper


def assert_sandwich_on_every_grid(profile, epsilon, want):
    """Coarse or fine, the laws of both sides enclose the integral."""
    from hockeystick._numerics.divergence import delta_from_law

    for step in STEPS:
        laws = profile.evaluator.laws(Resolution(step, 1e-18, 8.0))
        lower, upper = (delta_from_law(law, epsilon) for law in (laws.lower, laws.upper))
        assert lower <= want * (1 + QUADRATURE)
        assert want <= upper * (1 + QUADRATURE)


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("sigma", thinned([1.0, 0.5, 3.0], normal=1))
@pytest.mark.parametrize("rate", [0.02, 0.3, 1.0])
def test_two_poisson_steps(sigma, rate, reverse):
    """n = 2: the product of two sampled likelihood ratios."""
    profile = Profile.gaussian(noise_multiplier=sigma).subsample(rate).self_compose(2)
    if reverse:
        profile = profile.reverse()
    # Without the example an output is at most (1 - rate)^-2 times likelier.
    end = -1.8 * math.log1p(-rate) if reverse and rate < 1 else math.inf
    largest = min(end, 2.0 / sigma)
    for epsilon in (0.0, 0.3 * largest, largest):
        want = poisson_twice(1 / sigma, rate, epsilon, reverse=reverse)
        assert_sandwich(profile, epsilon, want)
        if rate < 1:
            assert_sandwich_on_every_grid(profile, epsilon, want)


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("sigma", thinned([0.4, 1.0, 4.0], normal=2))
def test_allocation_over_two_steps(sigma, reverse):
    """t = 2: the mean of two likelihood ratios."""
    profile = Profile.gaussian(noise_multiplier=sigma).allocate(2)
    profile = profile.reverse() if reverse else profile
    for epsilon in (-0.3 / sigma, 0.0, 0.5 / sigma, 1.5 / sigma):
        want = allocation_of_two(1 / sigma, epsilon, reverse=reverse)
        assert_sandwich(profile, epsilon, want)
        assert_sandwich_on_every_grid(profile, epsilon, want)


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("sigma", thinned([1.0, 0.6, 4.0], normal=1))
def test_allocation_over_three_steps(sigma, reverse):
    """t = 3: the mean of three likelihood ratios, by integration over a square."""
    profile = Profile.gaussian(noise_multiplier=sigma).allocate(3)
    profile = profile.reverse() if reverse else profile
    for epsilon in (0.0, 0.6 / sigma):
        want = allocation_of_three(1 / sigma, epsilon, reverse=reverse)
        assert_sandwich(profile, epsilon, want)
        assert_sandwich_on_every_grid(profile, epsilon, want)


@pytest.mark.parametrize("reverse", [False, True])
def test_small_deltas_keep_their_digits(reverse):
    """Far out in the tail, at delta below 1e-12, the bounds are as close as anywhere."""
    profile = Profile.gaussian(noise_multiplier=2.0).allocate(2)
    profile = profile.reverse() if reverse else profile
    epsilon = 3.4 if not reverse else 2.6
    want = allocation_of_two(0.5, epsilon, reverse=reverse)
    assert 0 < want < 1e-11
    assert_sandwich(profile, epsilon, want)
