"""Bad input is refused by name, at every door; NaN never passes."""

from __future__ import annotations

import math

import numpy as np
import pytest

from hockeystick import Profile
from hockeystick.errors import HockeystickError, InvalidParameter
from hypothesis_strategies import thinned
from in_one_test import in_one_test

NAN = math.nan
PROFILES = {
    "closed form": Profile.gaussian(noise_multiplier=1.0),
    "sampled": Profile.gaussian(noise_multiplier=1.0).subsample(0.5),
    "laplace": Profile.laplace(scale=1.0),
    "numerical": Profile.gaussian(noise_multiplier=1.0).subsample(0.1).self_compose(3),
    "discrete": Profile.from_pmfs([0.4, 0.6], [0.5, 0.5]),
}
NOT_NUMBERS = [NAN, "1", None, [1.0, 2.0], 1j]


def check_refused(call, *arguments, **options):
    """InvalidParameter, with the name of the parameter in the message."""
    with pytest.raises(InvalidParameter) as caught:
        call(*arguments, **options)
    assert isinstance(caught.value, HockeystickError)
    assert isinstance(caught.value, ValueError)
    assert caught.value.name in str(caught.value)


@in_one_test
@pytest.mark.parametrize("value", [0.0, -1.0, math.inf, *NOT_NUMBERS])
def test_noise_and_scale(value):
    """Noise is a finite positive number."""
    check_refused(Profile.gaussian, noise_multiplier=value)
    check_refused(Profile.laplace, scale=value)


@in_one_test
@pytest.mark.parametrize("value", [0.0, -1.0, math.inf, *NOT_NUMBERS])
def test_randomized_response_epsilon(value):
    """Epsilon of randomized response is a finite positive number."""
    check_refused(Profile.randomized_response, epsilon=value)


@in_one_test
@pytest.mark.parametrize("value", [0, 1, -3, 2.0, True, NAN, "2", None])
def test_randomized_response_buckets(value):
    """Buckets are an integer of at least two."""
    check_refused(Profile.randomized_response, epsilon=1.0, buckets=value)


@pytest.mark.parametrize("value", [-1e-9, math.inf, *NOT_NUMBERS])
def test_epsilon_delta_pair_epsilon(value):
    """Epsilon is finite and not negative."""
    check_refused(Profile.from_epsilon_delta, value, 1e-5)


@in_one_test
@pytest.mark.parametrize("value", [-1e-9, 1.0, 2.0, *NOT_NUMBERS])
def test_epsilon_delta_pair_delta(value):
    """Delta is in [0, 1)."""
    check_refused(Profile.from_epsilon_delta, 1.0, value)


@in_one_test
@pytest.mark.parametrize(
    ("p", "q"),
    [
        ([0.5, 0.5], [0.5, 0.6]),
        ([0.5, 0.5], [1.0]),
        ([-0.1, 1.1], [0.5, 0.5]),
        ([NAN, 1.0], [0.5, 0.5]),
        ([math.inf, 0.0], [0.5, 0.5]),
        ([], []),
        ([[0.5, 0.5]], [[0.5, 0.5]]),
        (1.0, 1.0),
        ([0.0, 0.0], [0.5, 0.5]),
        (["a", "b"], [0.5, 0.5]),
        (None, [1.0]),
        ([0.5, 0.5], [0.5 + 1e-6, 0.5]),
    ],
)
def test_probability_vectors(p, q):
    """Two vectors of one length, non-negative, that sum to one."""
    check_refused(Profile.from_pmfs, p, q)
    check_refused(Profile.from_pmfs, q, p)


@in_one_test
@pytest.mark.parametrize(
    ("edges", "p", "q"),
    [
        ([0.0], [], []),
        ([0.0, 0.0], [1.0], [1.0]),
        ([1.0, -1.0], [1.0], [1.0]),
        ([-1.0, NAN, 1.0], [0.5, 0.5], [0.5, 0.5]),
        ([-1.0, 0.0, 1.0], [1.0], [1.0]),
        ([-1.0, 0.0, 1.0], [0.5, 0.6], [0.5, 0.5]),
        ([-1.0, 0.0, 1.0], [0.5, NAN], [0.5, 0.5]),
        ([0.5, 1.0], [1.0], [1.0]),
        ([-1.0, 0.0, 1.0], [0.6, 0.4], [0.4, 0.6]),
        ([-1.0, 0.0, 1.0], [0.4, 0.6], [1.0, 0.0]),
        ([-math.inf, math.inf], [1.0], [1.0]),
        ("edges", [1.0], [1.0]),
    ],
)
def test_cells(edges, p, q):
    """Increasing losses, one mass per cell, and each cell's ratio inside the cell."""
    check_refused(Profile.from_cells, edges, p=p, q=q)


@pytest.mark.parametrize("bound", ["middle", None, 1, "UPPER"])
def test_bound(bound):
    """A profile is an upper or a lower bound."""
    check_refused(Profile.gaussian, noise_multiplier=1.0, bound=bound)
    check_refused(Profile.from_pmfs, [1.0], [1.0], bound=bound)


@in_one_test
@pytest.mark.parametrize("name", PROFILES)
@pytest.mark.parametrize("value", [0.0, 1.0, -1e-9, 1.5, math.inf, -math.inf, *NOT_NUMBERS])
def test_delta_argument(name, value):
    """A delta is strictly between 0 and 1."""
    check_refused(PROFILES[name].epsilon, value)
    check_refused(PROFILES[name].epsilon_bounds, value)


@in_one_test
@pytest.mark.parametrize("name", PROFILES)
@pytest.mark.parametrize("value", NOT_NUMBERS)
def test_epsilon_argument(name, value):
    """An epsilon is a number."""
    check_refused(PROFILES[name].delta, value)
    check_refused(PROFILES[name].delta_bounds, value)


@pytest.mark.slow
@pytest.mark.parametrize("name", PROFILES)
@pytest.mark.parametrize("direction", ["forward", "reversed"])
@pytest.mark.parametrize(
    "epsilon", thinned([math.inf, 1e5, 1e300, -1e300, -math.inf, -1e5], normal=3)
)
def test_extreme_epsilons(name, direction, epsilon):
    """Very large and infinite epsilons are answered, with 0 or 1, or refused; never with NaN."""
    profile = PROFILES[name] if direction == "forward" else PROFILES[name].reverse()
    try:
        lower, upper = profile.delta_bounds(epsilon)
    except InvalidParameter:
        assert math.isinf(epsilon)
        return
    if epsilon > 0:
        assert 0.0 <= lower <= upper <= 1e-270
    else:
        assert lower == pytest.approx(1.0, rel=1e-7)
        assert upper == pytest.approx(1.0, rel=1e-7)


@in_one_test
@pytest.mark.parametrize("value", [0.0, -1.0, 0.51, 1e-6, math.inf, *NOT_NUMBERS])
def test_accuracy_argument(value):
    """An accuracy is between 1e-5 and one half."""
    for profile in PROFILES.values():
        check_refused(profile.epsilon, 1e-5, accuracy=value)
        check_refused(profile.delta, 1.0, accuracy=value)
        check_refused(profile.tradeoff, 0.5, accuracy=value)


@pytest.mark.parametrize("value", [-0.1, 1.1, NAN, [0.5, NAN], np.array([0.1, 2.0]), "a", None])
def test_tradeoff_argument(value):
    """Type I errors are in [0, 1]."""
    for profile in PROFILES.values():
        check_refused(profile.tradeoff, value)


@in_one_test
@pytest.mark.parametrize("value", [0.0, -0.1, 1.0000001, math.inf, *NOT_NUMBERS])
def test_rate_argument(value):
    """A sampling rate is in (0, 1]."""
    for profile in PROFILES.values():
        check_refused(profile.subsample, value)


@in_one_test
@pytest.mark.parametrize("value", [0, -1, 1.0, 2.5, True, NAN, "3", None])
def test_count_arguments(value):
    """Numbers of runs and steps are positive integers."""
    for profile in PROFILES.values():
        check_refused(profile.self_compose, value)
        check_refused(profile.allocate, value)


@pytest.mark.parametrize("value", [-1e-300, NAN, math.inf, "0"])
def test_slack_argument(value):
    """A slack is finite and not negative."""
    profile = PROFILES["closed form"]
    check_refused(profile.dominates, PROFILES["discrete"], slack=value)


@pytest.mark.parametrize("value", [np.int64(3), np.int32(3)])
def test_numpy_integers_pass(value):
    """NumPy integers are integers."""
    profile = PROFILES["discrete"]
    assert profile.self_compose(value).delta(0.1) == profile.self_compose(3).delta(0.1)
    assert profile.allocate(value).delta(0.1) == profile.allocate(3).delta(0.1)


def test_only_keywords_beyond_the_first_argument():
    """Parameters are named."""
    with pytest.raises(TypeError):
        Profile.gaussian(1.0)
    with pytest.raises(TypeError):
        PROFILES["discrete"].epsilon(1e-5, 1e-3)
