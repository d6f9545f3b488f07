"""Questions at the ends of the ranges are answered, and within seconds."""

from __future__ import annotations

import time

import pytest

import hockeystick as hs
from hockeystick.bounds import UpperBound
from hockeystick.bounds.profiles import ProfileBound
from hockeystick.errors import PrecisionError
from hockeystick.guarantee import Analysis, Guarantee

pytestmark = pytest.mark.slow

# Seconds of one process, after compilation.
LONGEST = 10.0
STEP = hs.Profile.gaussian(noise_multiplier=1.0)


def seconds_of(ask):
    """The answer and the processor time that it took, once everything is compiled."""
    ask()
    start = time.process_time()
    answer = ask()
    return answer, time.process_time() - start


@pytest.mark.parametrize("direction", ["add", "both"])
def test_delta_beyond_the_largest_loss(direction):
    """The loss of five sampled steps is at most 5 log(1/0.9) < 0.6 in the add direction."""
    plan = hs.Plan(sampling=hs.Poisson(rate=0.1), steps=5, strategy=hs.strategies.blt(5, buffers=2))

    def ask():
        return hs.account(plan, noise_multiplier=3.47, direction=direction).delta(0.6)

    value, seconds = seconds_of(ask)
    assert seconds < LONGEST
    assert value == 0 if direction == "add" else 0 < value < 0.19


def test_delta_at_a_huge_epsilon():
    """A delta that no law resolves is not refined."""
    plan = hs.Plan(
        sampling=hs.UserMinSep(rate=0.5, separation=30, examples_per_user=1),
        steps=30,
        strategy=hs.strategies.bisr(30, bands=8),
    )
    for method in ("auto", "poisson-reduction"):
        guarantee = hs.account(plan, noise_multiplier=0.1, method=method)
        value, seconds = seconds_of(lambda guarantee=guarantee: guarantee.delta(1e6))
        assert seconds < LONGEST
        assert value <= 1e-275


@pytest.mark.parametrize("method", ["auto", "profile"])
def test_bins_at_little_noise(method):
    """The loss of the add direction is at most log(5/3): two of five bins take part."""
    plan = hs.Plan(sampling=hs.BallsInBins(bins=5), steps=2)

    def ask():
        found = hs.account(plan, noise_multiplier=0.01, method=method, direction="add")
        return found.answer(delta=2.6e-5)

    answer, seconds = seconds_of(ask)
    assert seconds < LONGEST
    assert 0.5107 < answer.lower <= answer.value < 0.51083
    found = hs.calibrate(plan, epsilon=0.55, delta=2.6e-5, method=method, direction="add")
    assert found.guarantee.epsilon(2.6e-5) <= 0.55


class Failing(ProfileBound):
    """A tight bound that misses its accuracy."""

    def epsilon(self, delta, *, directions, accuracy):
        """Known up to a factor."""
        raise PrecisionError("not reached", lower=1.0, upper=5.0)

    delta = epsilon


class Answering(ProfileBound):
    """A bound with an answer."""

    def epsilon(self, delta, *, directions, accuracy):
        """A number."""
        return UpperBound(3.0)

    delta = epsilon


def test_methods_in_reserve_answer_where_others_fail():
    """The reserve is asked only after a failure, and never inherited by a composition."""
    failing = Analysis("profile", "proven", Failing(STEP, exact=True))
    reserve = Analysis("renyi", "proven", Answering(STEP))
    alone = Guarantee((failing,))
    with pytest.raises(PrecisionError):
        alone.epsilon(1e-5)
    helped = Guarantee((failing,), reserve=lambda: (reserve,))
    assert helped.answer(delta=1e-5).method == "renyi"
    assert helped.epsilon(1e-5) == 3.0
    assert helped.answer(delta=1e-5).value == 3.0
    exact = Guarantee(
        (Analysis("profile", "proven", ProfileBound(STEP, exact=True)),),
        reserve=lambda: pytest.fail("asked without need"),
    )
    assert exact.epsilon(1e-5) > 3
    assert exact.compose(exact).reserve is tuple


def test_delta_next_to_one():
    """What is left of 1 may be smaller than delta by far, and the tail is chosen for it."""
    profile = hs.Profile.gaussian(noise_multiplier=1.0).subsample(0.01).self_compose(1000)
    start = time.process_time()
    assert profile.epsilon(1 - 1e-6) == 0
    assert time.process_time() - start < LONGEST
