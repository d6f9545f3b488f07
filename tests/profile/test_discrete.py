"""Discrete pairs against brute force over outcomes and events."""

from __future__ import annotations

import math

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from hockeystick import Profile
from hockeystick.errors import PrecisionError
from hypothesis_strategies import epsilons, pairs, quick, rates
from in_one_test import in_one_test
from references import outcomes as plain
from references.sandwich import corners

# Together they take seconds; `make test` runs them.
pytestmark = pytest.mark.slow

# Losses of a pair of vectors are differences of logarithms: this far from exact.
LOG_ROUNDING = 4e-15


def bounds_at(profile, epsilon, accuracy=0.02):
    """The bounds that were reached, accurate or not."""
    try:
        return profile.delta_bounds(epsilon, accuracy=accuracy)
    except PrecisionError as error:
        return error.lower, error.upper


def assert_encloses(profile, pair, *, most=5):
    """Lower and upper bounds of the profile around the enumeration, in both directions."""
    for forward in (True, False):
        asked = profile if forward else profile.reverse()
        truth = pair if forward else plain.reverse(pair)
        for epsilon in corners(truth, most):
            move = LOG_ROUNDING + 1e-12 * abs(epsilon)
            lower, upper = bounds_at(asked, epsilon)
            assert lower <= plain.hockey_stick(truth, epsilon - move) * (1 + 1e-9) + 1e-285
            assert upper >= plain.hockey_stick(truth, epsilon + move) * (1 - 1e-9) - 1e-285


@quick
@given(pair=pairs(), epsilon=epsilons())
def test_delta_is_the_best_event(pair, epsilon):
    """The supremum over all 2^n events, for vectors with zeros and tiny masses."""
    exact = plain.outcomes(*pair)
    for profile, truth in (
        (Profile.from_pmfs(*pair), exact),
        (Profile.from_pmfs(*pair).reverse(), plain.reverse(exact)),
    ):
        lower, upper = profile.delta_bounds(epsilon)
        move = LOG_ROUNDING + 1e-12 * abs(epsilon)
        assert lower <= plain.best_event(truth, epsilon - move) * (1 + 1e-11) + 1e-290
        assert upper >= plain.best_event(truth, epsilon + move) * (1 - 1e-11) - 1e-290


@quick
@given(pair=pairs(max_size=3), count=st.integers(2, 6))
def test_self_composition(pair, count):
    """All tuples of outcomes, up to six runs."""
    assert_encloses(
        Profile.from_pmfs(*pair).self_compose(count), plain.power(plain.outcomes(*pair), count)
    )


@quick
@given(members=st.lists(pairs(max_size=3), min_size=2, max_size=4))
def test_composition_of_different_pairs(members):
    """Tuples over different mechanisms."""
    profile = Profile.from_pmfs(*members[0])
    for pair in members[1:]:
        profile = profile.compose(Profile.from_pmfs(*pair))
    assert_encloses(profile, plain.compose(*[plain.outcomes(*pair) for pair in members]))


@quick
@given(pair=pairs(max_size=3), steps=st.integers(2, 5))
def test_allocation(pair, steps):
    """One of up to five steps runs P, over all tuples."""
    assert_encloses(
        Profile.from_pmfs(*pair).allocate(steps), plain.allocate(plain.outcomes(*pair), steps)
    )


@in_one_test
@pytest.mark.parametrize("steps", [2, 3, 4, 5, 6])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 6.0])
def test_allocation_of_randomized_response(steps, epsilon):
    """Binary randomized response over up to six steps, both directions."""
    low = 1 / (1 + math.exp(epsilon))
    pair = plain.outcomes([1 - low, low], [low, 1 - low])
    profile = Profile.randomized_response(epsilon=epsilon).allocate(steps)
    assert_encloses(profile, plain.allocate(pair, steps), most=12)


@pytest.mark.parametrize("steps", [2, 3, 4])
@pytest.mark.parametrize("scale", [0.4, 2.0])
def test_allocation_of_a_discretised_laplace(steps, scale):
    """A truncated geometric pair around two centres, both directions."""
    ratio = math.exp(-1 / (2 * scale))
    weights = [ratio ** abs(k) for k in range(-2, 4)]
    total = math.fsum(weights)
    q = [w / total for w in weights]
    p = q[::-1]
    pair = plain.outcomes(p, q)
    assert_encloses(Profile.from_pmfs(p, q).allocate(steps), plain.allocate(pair, steps), most=8)


@quick
@given(pair=pairs(max_size=3), rate=rates(), count=st.integers(1, 3), steps=st.integers(1, 2))
def test_mixed_operations(pair, rate, count, steps):
    """Sampling, composition and allocation one after another."""
    exact = plain.outcomes(*pair)
    profile = Profile.from_pmfs(*pair)
    assert_encloses(
        profile.subsample(rate).self_compose(count).allocate(steps),
        plain.allocate(plain.power(plain.subsample(exact, rate), count), steps),
        most=3,
    )
    assert_encloses(
        profile.allocate(steps).self_compose(count).subsample(rate),
        plain.subsample(plain.power(plain.allocate(exact, steps), count), rate),
        most=3,
    )


@quick
@given(pair=pairs(max_size=3), other=pairs(max_size=3), count=st.integers(1, 3))
def test_mixed_directions(pair, other, count):
    """One mechanism forwards, another one backwards, composed."""
    exact = plain.compose(*[plain.outcomes(*pair)] * count, plain.reverse(plain.outcomes(*other)))
    profile = Profile.from_pmfs(*pair).self_compose(count)
    assert_encloses(profile.compose(Profile.from_pmfs(*other).reverse()), exact, most=3)


@pytest.mark.parametrize(
    "count",
    [1, 2, 100, *(pytest.param(n, marks=pytest.mark.long) for n in (1000, 12_345, 123_456))],
)
@pytest.mark.parametrize("delta", [1e-12, 1e-3, 0.3])
def test_mass_at_infinity_is_never_lost(count, delta):
    """At an absurdly large epsilon delta is 1 - (1 - delta)^n, however often it is composed."""
    profile = Profile.from_epsilon_delta(0.1, delta).self_compose(count)
    want = -math.expm1(count * math.log1p(-delta))
    for direction in (profile, profile.reverse()):
        lower, upper = direction.delta_bounds(1e6)
        assert lower <= want * (1 + 1e-9)
        assert want <= upper * (1 + 1e-9)
        assert upper == pytest.approx(want, rel=1e-6)
        if want < 0.99:
            assert direction.epsilon(want * 0.99) == math.inf


@quick
@given(pair=pairs(max_size=4), delta=st.floats(-30, -0.1).map(lambda e: 10.0**e))
def test_epsilon_of_a_pair(pair, delta):
    """Epsilon bounds against bisection on the outcomes."""
    exact = plain.outcomes(*pair)
    lower, upper = Profile.from_pmfs(*pair).epsilon_bounds(delta)
    if math.isinf(upper):
        infinite = math.fsum(p for p, q in zip(*pair, strict=True) if q == 0)
        assert infinite >= delta * (1 - 1e-9)
        return
    assume(upper < 1e3)
    move = LOG_ROUNDING + 1e-12 * upper
    assert plain.hockey_stick(exact, upper + move) <= delta * (1 + 1e-9)
    if lower > 0:
        assert plain.hockey_stick(exact, lower - move) >= delta * (1 - 1e-9)


def test_disjoint_supports_stay_disjoint():
    """A pair without common outcomes is not private, whatever else happens."""
    disjoint = Profile.from_pmfs([1.0, 0.0], [0.0, 1.0])
    others = [Profile.gaussian(noise_multiplier=2.0), Profile.laplace(scale=1.0).self_compose(3)]
    for profile in (disjoint, disjoint.self_compose(3), *(disjoint.compose(o) for o in others)):
        assert profile.delta(5.0) == 1.0
        assert profile.reverse().delta(5.0) == 1.0
    assert disjoint.subsample(0.25).delta(5.0) == pytest.approx(0.25, rel=1e-12)
    assert disjoint.allocate(7).delta(5.0) == pytest.approx(1.0, rel=1e-8)


def test_equal_vectors_are_perfectly_private():
    """P = Q has delta 0 at epsilon 0, also composed, sampled and allocated."""
    equal = Profile.from_pmfs([0.2, 0.8], [0.2, 0.8])
    for profile in (equal, equal.self_compose(5), equal.allocate(4), equal.subsample(0.3)):
        assert profile.delta(0.0) <= 1e-16
        assert profile.epsilon(1e-9) == 0.0
