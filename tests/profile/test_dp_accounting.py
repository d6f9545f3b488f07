"""Against dp-accounting's privacy loss distributions, where they are right."""

from __future__ import annotations

import pytest
from dp_accounting.pld import privacy_loss_distribution as distributions

from hockeystick import Profile
from hypothesis_strategies import thinned

ACCURACY = 1e-3


def pessimistic_and_optimistic(build, count, delta, **options):
    """Upper and lower epsilon of the two directions together."""
    return tuple(
        build(pessimistic_estimate=pessimistic, **options)
        .self_compose(count)
        .get_epsilon_for_delta(delta)
        for pessimistic in (True, False)
    )


def bounds(profile, delta):
    """The larger of both directions, from both sides."""
    both = [p.epsilon_bounds(delta, accuracy=ACCURACY) for p in (profile, profile.reverse())]
    return max(low for low, _ in both), max(high for _, high in both)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("noise", "rate", "count"),
    thinned([(1.0, 0.1, 50), (2.0, 0.02, 400), (0.8, 0.01, 1000), (3.0, 1.0, 20)], normal=2),
)
def test_poisson(noise, rate, count):
    """Their fine pessimistic answer is above our lower bound and not below our upper one."""
    above, below = pessimistic_and_optimistic(
        distributions.from_gaussian_mechanism,
        count,
        1e-6,
        standard_deviation=noise,
        sampling_prob=rate,
        value_discretization_interval=1e-4,
    )
    profile = Profile.gaussian(noise_multiplier=noise).subsample(rate).self_compose(count)
    lower, upper = bounds(profile, 1e-6)
    assert lower <= above * (1 + 1e-6)
    assert below * (1 - 1e-6) <= upper
    assert upper <= above * (1 + ACCURACY)
    assert lower >= below * (1 - ACCURACY)


@pytest.mark.parametrize(("scale", "count"), [(2.0, 1), (2.0, 10), (10.0, 200)])
@pytest.mark.parametrize("delta", [1e-3, 1e-6])
def test_laplace(scale, count, delta):
    """Composed Laplace mechanisms."""
    above, below = pessimistic_and_optimistic(
        distributions.from_laplace_mechanism,
        count,
        delta,
        parameter=scale,
        value_discretization_interval=1e-4,
    )
    lower, upper = bounds(Profile.laplace(scale=scale).self_compose(count), delta)
    assert lower <= above * (1 + 1e-6)
    assert below * (1 - 1e-6) <= upper
    assert upper <= above * (1 + ACCURACY)


@pytest.mark.parametrize("epsilon", [0.1, 1.0])
@pytest.mark.parametrize("count", [1, 7, 30])
def test_randomized_response(epsilon, count):
    """Composed as a distribution (their event composition ignores the count)."""
    import math

    noise = 3 / (math.exp(epsilon) + 2)
    above, below = pessimistic_and_optimistic(
        distributions.from_randomized_response,
        count,
        1e-4,
        noise_parameter=noise,
        num_buckets=3,
        value_discretization_interval=1e-4,
    )
    profile = Profile.randomized_response(epsilon=epsilon, buckets=3).self_compose(count)
    lower, upper = bounds(profile, 1e-4)
    assert lower <= above * (1 + 1e-6)
    assert below * (1 - 1e-6) <= upper
    assert upper <= above * (1 + ACCURACY) + count * 1e-4
