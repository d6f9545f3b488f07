"""Maximum, minimum and symmetrisation of profiles."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given

from hockeystick import Profile
from hockeystick._numerics.divergence import delta_from_law
from hockeystick.errors import InvalidParameter, PrecisionError
from hockeystick.profile.refinement import Resolution
from hypothesis_strategies import narrow_pairs, pairs, quick, thinned
from in_one_test import in_one_test
from references import outcomes as plain
from references.sandwich import corners

# Together they take seconds; `make test` runs them.
pytestmark = pytest.mark.slow

GAUSSIAN = Profile.gaussian(noise_multiplier=1.0)
MEMBERS = {
    "gaussian": GAUSSIAN,
    "sampled": Profile.gaussian(noise_multiplier=0.6).subsample(0.2),
    "laplace": Profile.laplace(scale=1.3).self_compose(3),
    "response": Profile.randomized_response(epsilon=0.8, buckets=3),
    "composed": GAUSSIAN.subsample(0.1).self_compose(20),
    "epsilon-delta": Profile.from_epsilon_delta(0.5, 0.01),
    "allocated": Profile.gaussian(noise_multiplier=0.5).allocate(6),
}
COUPLES = [(a, b) for i, a in enumerate(MEMBERS) for b in list(MEMBERS)[i + 1 :]]
EPSILONS = (-0.4, 0.0, 0.3, 1.2)


def bounds(profile, epsilon, accuracy=4e-3):
    """The bounds that were reached, accurate or not."""
    try:
        return profile.delta_bounds(epsilon, accuracy=accuracy)
    except PrecisionError as error:
        return error.lower, error.upper


def directions(*profiles):
    """All of them forwards, then all of them reversed."""
    yield profiles
    yield tuple(profile.reverse() for profile in profiles)


def assert_in_order(lower, upper):
    """A lower bound below an upper bound, and close to it."""
    assert lower <= upper
    assert upper <= lower * 1.025 + 1e-12


@pytest.mark.parametrize(("name", "second_name"), thinned(COUPLES, normal=11))
def test_maximum_is_the_larger_one(name, second_name):
    """At every epsilon, in both directions, with both bounds."""
    first, second = MEMBERS[name], MEMBERS[second_name]
    for both, one, other in directions(first.maximum(second), first, second):
        for epsilon in EPSILONS:
            lower, upper = bounds(both, epsilon)
            lows, highs = zip(bounds(one, epsilon), bounds(other, epsilon), strict=True)
            assert_in_order(lower, upper)
            assert lower <= max(highs) * (1 + 1e-9)
            assert max(lows) <= upper * (1 + 1e-9)


@pytest.mark.parametrize("couple", COUPLES[::2], ids="-".join)
def test_minimum_is_below_both(couple):
    """At every epsilon, in both directions, and not below where only one of them matters."""
    first, second = (MEMBERS[name] for name in couple)
    for both, one, other in directions(first.minimum(second), first, second):
        for epsilon in EPSILONS:
            lower, upper = bounds(both, epsilon)
            _, highs = zip(bounds(one, epsilon), bounds(other, epsilon), strict=True)
            assert lower <= upper
            assert lower <= min(highs) * (1 + 1e-9)


@in_one_test
@pytest.mark.parametrize("couple", COUPLES[::2], ids="-".join)
def test_minimum_is_convex(couple):
    """The profile of a law is convex in e^epsilon, and between two chords of its members."""
    first, second = (MEMBERS[name] for name in couple)
    law = first.minimum(second).evaluator.laws(Resolution(0.05, 1e-15, 24.0)).upper
    gammas = np.linspace(0.2, 5.0, 49)
    values = np.array([delta_from_law(law, math.log(gamma)) for gamma in gammas])
    assert np.all(np.diff(values, 2) >= -1e-13)
    assert np.all(np.diff(values) <= 1e-13)


@quick
@given(pair=pairs(max_size=4))
def test_minimum_still_bounds_what_both_bound(pair):
    """Two bounds on one pair, coarsened differently: their minimum is one too, composed as well."""
    exact = plain.outcomes(*pair)
    coarse = [Profile.from_pmfs(*_worse(pair, k)) for k in range(2)]
    best = coarse[0].minimum(coarse[1])
    for profile, truth in (
        (best, exact),
        (best.reverse(), plain.reverse(exact)),
        (best.self_compose(2), plain.power(exact, 2)),
        (best.self_compose(2).reverse(), plain.reverse(plain.power(exact, 2))),
    ):
        for epsilon in corners(truth, 4):
            _, upper = bounds(profile, epsilon, accuracy=0.1)
            move = 4e-15 + 1e-12 * abs(epsilon)
            assert upper >= plain.hockey_stick(truth, epsilon + move) * (1 - 1e-9) - 1e-285


def _worse(pair, which):
    """A pair that dominates: an eighth of one common outcome is revealed."""
    p, q = (list(vector) for vector in pair)
    share = min(p[which], q[which]) / 8
    p[which] -= share
    q[which] -= share
    return [*p, share, 0.0], [*q, 0.0, share]


@pytest.mark.parametrize("noise", thinned([0.7, 30.0, 2.0], normal=1))
@pytest.mark.parametrize("factor", [1.0 + 1e-12, 1.3, 4.0, 20.0])
@pytest.mark.parametrize("count", [1, 2, 5])
def test_minimum_of_two_gaussians_composes(noise, factor, count):
    """The larger noise wins everywhere, so the minimum composes like it."""
    best = Profile.gaussian(noise_multiplier=noise).minimum(
        Profile.gaussian(noise_multiplier=noise * factor)
    )
    truth = Profile.gaussian(noise_multiplier=noise * factor).self_compose(count)
    for epsilon in (0.0, 0.3 / (noise * factor), 2.0 / (noise * factor)):
        lower, upper = bounds(best.self_compose(count), epsilon)
        want = truth.delta(epsilon)
        assert lower <= want * (1 + 1e-7)
        assert want * (1 - 1e-7) <= upper <= want * 1.025


def test_minimum_with_losses_next_to_zero():
    """0.1 + 0.2 - 0.3 is not quite 0; masses at such losses are counted once."""
    response = Profile.randomized_response
    nearly = response(epsilon=0.1).compose(response(epsilon=0.2)).compose(response(epsilon=0.3))
    for noise in (1.0, 2.0, 3.3, 4.0, 5.0):
        gaussian = Profile.gaussian(noise_multiplier=noise)
        both = nearly.minimum(gaussian).self_compose(3)
        for epsilon in (0.0, 0.1, 0.3):
            lower, upper = bounds(both, epsilon)
            assert_in_order(lower, upper)
            for alone in (nearly, gaussian):
                assert lower <= alone.self_compose(3).delta(epsilon)


@pytest.mark.parametrize("name", MEMBERS)
def test_symmetrize_is_the_larger_direction(name):
    """The worse of both directions, and itself when reversed."""
    profile = MEMBERS[name]
    symmetric = profile.symmetrize()
    for epsilon in EPSILONS:
        lower, upper = bounds(symmetric, epsilon)
        lows, highs = zip(bounds(profile, epsilon), bounds(profile.reverse(), epsilon), strict=True)
        assert_in_order(lower, upper)
        assert lower <= max(highs) * (1 + 1e-9)
        assert max(lows) <= upper * (1 + 1e-9)
        assert bounds(symmetric.reverse(), epsilon)[1] >= max(lows) * (1 - 1e-9)


@quick
@given(first=narrow_pairs(max_size=3), second=narrow_pairs(max_size=3))
def test_composed_maxima_bound_each_member(first, second):
    """The maximum, composed, is above the composition of either."""
    worst = Profile.from_pmfs(*first).maximum(Profile.from_pmfs(*second)).self_compose(2)
    for pair in (first, second):
        truth = plain.power(plain.outcomes(*pair), 2)
        for epsilon in corners(truth, 3):
            _, upper = bounds(worst, epsilon, accuracy=0.1)
            move = 4e-15 + 1e-12 * abs(epsilon)
            assert upper >= plain.hockey_stick(truth, epsilon + move) * (1 - 1e-9) - 1e-285


def test_upper_and_lower_do_not_mix():
    """Composing, or comparing, an upper with a lower bound is refused."""
    upper = Profile.laplace(scale=1.0)
    lower = Profile.laplace(scale=1.0, bound="lower")
    for operation in ("compose", "maximum", "minimum"):
        with pytest.raises(InvalidParameter):
            getattr(upper, operation)(lower)
        with pytest.raises(InvalidParameter):
            getattr(lower, operation)(upper)


def test_lower_bounds_are_not_composed_after_a_maximum():
    """The product of maxima can exceed the maximum of products: refused in every disguise."""
    lower = Profile.laplace(scale=1.0, bound="lower")
    other = Profile.randomized_response(epsilon=0.3, bound="lower")
    for worst in (lower.maximum(other), lower.symmetrize(), lower.maximum(other).subsample(0.5)):
        for hidden in (worst, worst.reverse(), worst.minimum(other)):
            for refused in (
                lambda p=hidden: p.self_compose(2),
                lambda p=hidden: p.compose(lower),
                lambda p=hidden: lower.compose(p),
                lambda p=hidden: p.allocate(3),
            ):
                with pytest.raises(InvalidParameter):
                    refused()
            # Alone, and sampled, it is still a lower bound on the maximum.
            assert hidden.delta(0.1) <= max(lower.delta(0.1), other.delta(0.1)) * (1 + 1e-9)


def test_lower_bounds_compose_otherwise():
    """Without a maximum a lower bound composes, and stays below the upper one."""
    lower = Profile.gaussian(noise_multiplier=1.0, bound="lower").subsample(0.1).self_compose(50)
    upper = Profile.gaussian(noise_multiplier=1.0).subsample(0.1).self_compose(50)
    assert lower.bound == "lower"
    assert lower.epsilon(1e-5) < upper.epsilon(1e-5)
    assert lower.epsilon(1e-5) >= upper.epsilon(1e-5) * (1 - 1e-3)
