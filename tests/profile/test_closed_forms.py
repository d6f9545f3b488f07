"""Single mechanisms against formulas and quadrature."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hockeystick import Profile
from hypothesis_strategies import quick
from in_one_test import in_one_test
from references.gaussian import gaussian_delta, poisson_once
from references.outcomes import (
    exact,
    hockey_stick,
    number,
    outcomes,
    reverse,
    smallest_epsilon,
    subsample,
)


@in_one_test
@pytest.mark.parametrize("sigma", [0.05, 0.5, 1.0, 4.0, 50.0])
@pytest.mark.parametrize("delta", [1e-2, 1e-5, 1e-15, 1e-40, 1e-100])
def test_gaussian_epsilon(sigma, delta):
    """Both bounds enclose the fifty-digit profile, and closely, also at delta = 1e-40."""
    lower, upper = Profile.gaussian(noise_multiplier=sigma).epsilon_bounds(delta)
    if upper == 0:
        assert gaussian_delta(1 / sigma, 0.0) <= delta
        return
    assert gaussian_delta(1 / sigma, upper) <= delta <= gaussian_delta(1 / sigma, lower)
    assert upper - lower <= 1e-8 * upper


@in_one_test
@pytest.mark.parametrize("sigma", [0.05, 0.5, 1.0, 4.0, 50.0])
@pytest.mark.parametrize("deviations", [-3.0, 0.0, 2.0, 6.0, 13.0])
def test_gaussian_delta(sigma, deviations):
    """Both directions equal the fifty-digit closed form to nine digits."""
    mu = 1 / sigma
    epsilon = mu * (mu / 2 + deviations)
    value = gaussian_delta(mu, epsilon)
    profile = Profile.gaussian(noise_multiplier=sigma)
    for direction in (profile, profile.reverse()):
        lower, upper = direction.delta_bounds(epsilon)
        assert lower <= value <= upper
        assert upper <= lower * (1 + 1e-9)


@in_one_test
@pytest.mark.parametrize("scale", [0.05, 0.3, 1.0, 8.0])
@pytest.mark.parametrize("share", [-1.5, -0.9, -0.2, 0.0, 0.3, 0.9, 0.999])
def test_laplace_delta(scale, share):
    """1 - e^((epsilon - 1/scale)/2) inside the range, 1 - e^epsilon below it, 0 above."""
    reach = 1 / number(scale)
    epsilon = float(share * reach)
    value = 1 - exact.exp((number(epsilon) - reach) / 2)
    if share <= -1:
        value = 1 - exact.exp(number(epsilon))
    profile = Profile.laplace(scale=scale)
    for direction in (profile, profile.reverse()):
        lower, upper = direction.delta_bounds(epsilon)
        assert lower * (1 - 1e-12) <= value <= upper * (1 + 1e-12)
        assert upper <= lower * (1 + 1e-11)
    assert profile.delta(float(reach) * 1.001) == 0.0


@in_one_test
@pytest.mark.parametrize("buckets", [2, 3, 5, 100])
@pytest.mark.parametrize("epsilon", [1e-3, 0.5, 2.0, 30.0])
def test_randomized_response(buckets, epsilon):
    """The k-ary mechanism, written out as two probability vectors."""
    weight = exact.exp(number(epsilon))
    total = weight + buckets - 1
    p = [weight / total, 1 / total] + [1 / total] * (buckets - 2)
    q = [1 / total, weight / total] + [1 / total] * (buckets - 2)
    profile = Profile.randomized_response(epsilon=epsilon, buckets=buckets)
    for at in (0.0, 0.3 * epsilon, 0.9 * epsilon, -0.5 * epsilon):
        value = hockey_stick(outcomes(p, q), at)
        assert profile.delta(at) == pytest.approx(float(value), rel=1e-12)
        assert profile.reverse().delta(at) == pytest.approx(float(value), rel=1e-12)
    assert profile.delta(epsilon) == 0.0
    assert profile.epsilon(1e-300) == pytest.approx(epsilon, rel=1e-12)


@quick
@given(epsilon=st.floats(0, 20), delta=st.just(0.0) | st.floats(1e-15, 0.9))
def test_epsilon_delta_pair(epsilon, delta):
    """Exactly (epsilon, delta), and no smaller delta at that epsilon."""
    profile = Profile.from_epsilon_delta(epsilon, delta)
    for direction in (profile, profile.reverse()):
        assert direction.delta(epsilon) == pytest.approx(delta, rel=1e-12)
        if delta > 0:
            assert direction.epsilon(delta) <= epsilon * (1 + 1e-12)
            assert direction.epsilon(delta * 0.999) == math.inf


@quick
@given(epsilon=st.floats(0.01, 8), delta=st.just(0.0) | st.floats(1e-9, 0.5), at=st.floats(-9, 9))
def test_epsilon_delta_pair_is_the_worst(epsilon, delta, at):
    """The profile is the upper boundary of what (epsilon, delta) allows in both directions."""
    value = Profile.from_epsilon_delta(epsilon, delta).delta(at)
    e, d = number(epsilon), number(delta)
    low = (1 - d) / (1 + exact.exp(e))
    pair = [(d, 0), (low * exact.exp(e), low), (low, low * exact.exp(e)), (0, d)]
    assert value == pytest.approx(float(hockey_stick(pair, at)), rel=1e-11)


@in_one_test
@pytest.mark.slow
@pytest.mark.parametrize("reverse_it", [False, True])
@pytest.mark.parametrize("sigma", [0.4, 1.0, 3.0])
@pytest.mark.parametrize("rate", [0.01, 0.3, 0.9])
def test_subsampled_gaussian_against_quadrature(sigma, rate, reverse_it):
    """The shifted closed form equals the integral of the positive part, in both directions."""
    profile = Profile.gaussian(noise_multiplier=sigma).subsample(rate)
    if reverse_it:
        profile = profile.reverse()
    edge = -math.log1p(-rate) if reverse_it else 3.0
    for epsilon in (-0.5, -0.01, 0.0, 0.2 * edge, 0.6 * edge, 0.9 * edge):
        want = poisson_once(1 / sigma, rate, epsilon, reverse=reverse_it)
        assert profile.delta(epsilon) == pytest.approx(want, rel=2e-8)


@pytest.mark.parametrize("rate", [1e-6, 0.1, 0.999])
def test_add_direction_of_sampling_has_an_end(rate):
    """Without the example an output is never more than 1/(1 - rate) times likelier."""
    profile = Profile.gaussian(noise_multiplier=0.01).subsample(rate).reverse()
    edge = -math.log1p(-rate)
    assert profile.delta(edge * (1 + 1e-12)) == 0.0
    assert profile.epsilon(1e-9) <= edge
    assert profile.delta(edge * 0.9) > 0.0


@in_one_test
@pytest.mark.parametrize("rate", [1e-3, 0.2, 1.0])
@pytest.mark.parametrize("delta", [0.2, 1e-3, 1e-9])
def test_subsampled_discrete_pairs(rate, delta):
    """Epsilon of sampled randomized response in both directions, by bisection on outcomes."""
    profile = Profile.randomized_response(epsilon=1.5, buckets=4).subsample(rate)
    weight = math.exp(1.5)
    total = weight + 3
    pair = outcomes([weight / total, 1 / total, 2 / total], [1 / total, weight / total, 2 / total])
    for got, exact_pair in (
        (profile.epsilon(delta), subsample(pair, rate)),
        (profile.reverse().epsilon(delta), reverse(subsample(pair, rate))),
    ):
        assert got == pytest.approx(smallest_epsilon(exact_pair, delta), rel=1e-9, abs=1e-12)
