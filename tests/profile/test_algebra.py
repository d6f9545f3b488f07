"""Laws of the algebra: order, powers, reversal, families."""

from __future__ import annotations

import itertools
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hockeystick import Profile
from hypothesis_strategies import quick
from in_one_test import in_one_test

GAUSSIAN = Profile.gaussian(noise_multiplier=1.3)
SAMPLED = GAUSSIAN.subsample(0.1)
LAPLACE = Profile.laplace(scale=2.0)
RESPONSE = Profile.randomized_response(epsilon=0.5, buckets=3)
MECHANISMS = {
    "gaussian": GAUSSIAN,
    "sampled": SAMPLED,
    "laplace": LAPLACE,
    "response": RESPONSE,
    "epsilon-delta": Profile.from_epsilon_delta(0.2, 1e-3),
    "allocated": GAUSSIAN.allocate(5),
    "composed": SAMPLED.self_compose(7).compose(RESPONSE),
}
EPSILONS = (0.0, 0.4)


def assert_overlap(first, second, epsilon):
    """Two ways to the same number: proven bounds must share a value, and be close to it."""
    (low, high), (other_low, other_high) = (
        p.delta_bounds(epsilon, accuracy=3e-3) for p in (first, second)
    )
    assert max(low, other_low) <= min(high, other_high) * (1 + 1e-12)
    assert high <= low * 1.02 + 1e-270


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_composition_does_not_depend_on_the_order(order):
    """Three mechanisms in any order, bracketed either way."""
    members = [SAMPLED.self_compose(3), LAPLACE, RESPONSE]
    a, b, c = (members[i] for i in order)
    reference = members[0].compose(members[1]).compose(members[2])
    for epsilon in EPSILONS:
        assert_overlap(a.compose(b).compose(c), reference, epsilon)
        assert_overlap(a.compose(b.compose(c)), reference, epsilon)


@in_one_test
@pytest.mark.parametrize("count", [2, 3, 5, 8])
@pytest.mark.parametrize("name", MECHANISMS)
def test_n_fold_is_n_times_one(name, count):
    """Self-composition counts every run."""
    profile = MECHANISMS[name]
    repeated = profile
    for _ in range(count - 1):
        repeated = repeated.compose(profile)
    for epsilon in EPSILONS:
        assert_overlap(profile.self_compose(count), repeated, epsilon)


@pytest.mark.parametrize("name", MECHANISMS)
def test_powers_multiply(name):
    """Six runs are twice three runs."""
    profile = MECHANISMS[name]
    for epsilon in EPSILONS:
        assert_overlap(profile.self_compose(3).self_compose(2), profile.self_compose(6), epsilon)


def test_gaussians_fuse():
    """Squares of 1/noise add, so that nothing is rounded."""
    composed = GAUSSIAN.self_compose(3).compose(Profile.gaussian(noise_multiplier=0.9))
    noise = 1 / math.sqrt(3 / 1.3**2 + 1 / 0.9**2)
    for delta in (1e-5, 1e-40):
        want = Profile.gaussian(noise_multiplier=noise).epsilon(delta)
        assert composed.epsilon(delta) == pytest.approx(want, rel=1e-9)


@pytest.mark.parametrize("name", MECHANISMS)
def test_reverse_twice_is_the_identity(name):
    """(Q, P) reversed is (P, Q) again, exactly."""
    profile = MECHANISMS[name]
    assert profile.reverse().reverse().expression == profile.expression
    for epsilon in EPSILONS:
        assert_overlap(profile.reverse().reverse(), profile, epsilon)


@pytest.mark.slow
@pytest.mark.parametrize("name", MECHANISMS)
@pytest.mark.parametrize(
    "operation",
    [
        lambda p: p.subsample(0.3),
        lambda p: p.allocate(4),
        lambda p: p.self_compose(3),
        lambda p: p.subsample(0.3).self_compose(2).allocate(2),
    ],
    ids=["subsample", "allocate", "self_compose", "all"],
)
def test_operations_act_before_reverse(name, operation):
    """Sampling a reversed profile means sampling the mechanism and then reversing."""
    profile = MECHANISMS[name]
    one, other = operation(profile.reverse()), operation(profile).reverse()
    assert_overlap(one, other, 0.4)
    assert_overlap(one.reverse(), other.reverse(), 0.4)


@pytest.mark.parametrize("name", MECHANISMS)
def test_rate_one_and_one_step_change_nothing(name):
    """Taking part for certain, once, or in the only step."""
    profile = MECHANISMS[name]
    for same in (profile.subsample(1.0), profile.self_compose(1), profile.allocate(1)):
        assert same.expression == profile.expression
        assert_overlap(same, profile, 0.2)


@quick
@given(first=st.floats(0.05, 1.0), second=st.floats(0.05, 1.0), epsilon=st.floats(0.0, 2.0))
def test_rates_multiply(first, second, epsilon):
    """Sampling twice is sampling once at the product of the rates."""
    twice = LAPLACE.subsample(first).subsample(second)
    once = LAPLACE.subsample(first * second)
    for a, b in ((twice, once), (twice.reverse(), once.reverse())):
        assert a.delta(epsilon) == pytest.approx(b.delta(epsilon), rel=1e-6, abs=1e-15)


def test_allocation_nests():
    """One of two blocks, and in it one of three steps: one of six steps."""
    nested = GAUSSIAN.allocate(3).allocate(2)
    for epsilon in EPSILONS:
        assert_overlap(nested, GAUSSIAN.allocate(6), epsilon)
        assert_overlap(nested.reverse(), GAUSSIAN.allocate(6).reverse(), epsilon)


@in_one_test
@pytest.mark.parametrize("name", MECHANISMS)
@pytest.mark.parametrize("epsilon", [0.05, 0.3, 1.0])
def test_both_directions_are_one_function(name, epsilon):
    """H(P || Q) at e^-epsilon and H(Q || P) at e^epsilon are tied by parity."""
    profile = MECHANISMS[name]
    forward = profile.delta_bounds(-epsilon)
    backward = profile.reverse().delta_bounds(epsilon)
    implied = [1 - math.exp(-epsilon) + math.exp(-epsilon) * value for value in backward]
    assert forward.lower <= implied[1] * (1 + 1e-9)
    assert implied[0] <= forward.upper * (1 + 1e-9)


def test_epsilon_composition_theorem():
    """n (epsilon, 0)-mechanisms are at most (n epsilon, 0) and no less than one."""
    profile = Profile.from_epsilon_delta(0.1).self_compose(20)
    assert profile.epsilon(1e-12) <= 2.0 * (1 + 1e-9)
    assert profile.delta(2.0 * (1 + 1e-9)) <= 1e-250
    assert profile.epsilon(1e-5) > 0.1
