"""Numbers that must come out, with their printed digits."""

from __future__ import annotations

import math

import pytest

import hockeystick as hs
from in_one_test import in_one_test
from references.gaussian import gaussian_delta

GAUSSIAN = hs.Profile.gaussian
EPSILONS = (0.1, 0.25, 0.5, 1.0, 2.0)
# (noise, t, delta at these epsilons in the remove direction, the same with more atoms or None).
ALLOCATIONS = [
    (
        1.0,
        1000,
        (1.486e-4, 3.24e-8, 1.74e-10, 2.29e-13, 7.60e-18),
        (1.482e-4, 3.221e-8, 1.728e-10, 2.271e-13, 7.539e-18),
    ),
    (0.5, 100, (1.556e-1, 1.163e-1, 7.14e-2, 2.85e-2, 5.47e-3), None),
]


def last_digit(value):
    """Half a unit of the last of four printed digits."""
    return 0.5 * 10.0 ** (math.floor(math.log10(value)) - 3)


def test_poisson_at_the_default_accuracy():
    """Noise 1, rate 0.01, 10,000 steps, delta 1e-6: epsilon is 6.907."""
    profile = GAUSSIAN(noise_multiplier=1.0).subsample(0.01).self_compose(10_000)
    lower, upper = profile.epsilon_bounds(1e-6)
    assert 6.900 <= lower <= 6.9073 <= upper <= 6.915


def test_poisson_at_high_accuracy():
    """The same to 0.03 %."""
    profile = GAUSSIAN(noise_multiplier=1.0).subsample(0.01).self_compose(10_000)
    lower, upper = profile.epsilon_bounds(1e-6, accuracy=3e-4)
    assert 6.905 <= lower <= 6.9073 <= upper <= 6.910


def test_poisson_plan():
    """The plan covers both directions and gives the same number."""
    plan = hs.Plan(sampling=hs.Poisson(rate=0.01), steps=10_000)
    answer = hs.account(plan, noise_multiplier=1.0).answer(delta=1e-6)
    assert 6.900 <= answer.lower <= answer.value <= 6.915


@pytest.mark.slow
def test_calibration():
    """2,000 steps at rate 0.01 to (2, 1e-5) need a noise multiplier of 1.1493."""
    plan = hs.Plan(sampling=hs.Poisson(rate=0.01), steps=2000)
    found = hs.calibrate(plan, epsilon=2.0, delta=1e-5)
    assert found.noise_multiplier == pytest.approx(1.1493, rel=5e-4)
    assert found.guarantee.epsilon(1e-5) <= 2.0


@in_one_test
@pytest.mark.parametrize("delta", [1e-5, 1e-40])
@pytest.mark.parametrize("steps", [1, 100])
@pytest.mark.parametrize("noise", [0.5, 5.0])
def test_full_batch_is_the_gaussian(noise, steps, delta):
    """Epsilon of a full batch is that of one Gaussian mechanism with noise/sqrt(steps)."""
    plan = hs.Plan(sampling=hs.FullBatch(), steps=steps)
    answer = hs.account(plan, noise_multiplier=noise).answer(delta=delta)
    mu = math.sqrt(steps) / noise
    assert gaussian_delta(mu, answer.value) <= delta <= gaussian_delta(mu, answer.lower)
    assert answer.value - answer.lower <= 1e-3 * answer.value


@pytest.mark.slow
@pytest.mark.parametrize(("noise", "steps", "coarse", "fine"), ALLOCATIONS)
def test_allocation_curves(noise, steps, coarse, fine):
    """The measured curves within one per cent, and never below what 6000 atoms gave."""
    profile = GAUSSIAN(noise_multiplier=noise).allocate(steps)
    for k, epsilon in enumerate(EPSILONS):
        lower, upper = profile.delta_bounds(epsilon)
        assert upper == pytest.approx(coarse[k], rel=0.01)
        assert lower <= coarse[k] * 1.005
        if fine is not None:
            assert fine[k] - last_digit(fine[k]) <= upper <= fine[k] * 1.01
            assert lower <= fine[k] + last_digit(fine[k])


@pytest.mark.slow
def test_long_allocation():
    """One out of 10,000 steps at noise 1: delta(0.1) is 1.085e-11."""
    profile = GAUSSIAN(noise_multiplier=1.0).allocate(10_000)
    lower, upper = profile.delta_bounds(0.1)
    assert 1.0845e-11 <= upper <= 1.085e-11 * 1.01
    assert lower <= 1.0855e-11


def test_allocation_with_little_noise():
    """Noise 0.3, one out of 1000: delta(10) is 1.544e-4."""
    profile = GAUSSIAN(noise_multiplier=0.3).allocate(1000)
    lower, upper = profile.delta_bounds(10.0)
    assert upper == pytest.approx(1.544e-4, rel=0.01)
    assert lower <= 1.5445e-4
    assert upper >= 1.5435e-4


@pytest.mark.slow
@pytest.mark.parametrize(("epsilon", "value"), [(0.1, 1.482e-4), (1.0, 2.271e-13)])
def test_allocation_plan(epsilon, value):
    """The plan in the remove direction is the profile."""
    plan = hs.Plan(sampling=hs.RandomAllocation(picks=1, out_of=1000), steps=1000)
    got = hs.account(plan, noise_multiplier=1.0, direction="remove").delta(epsilon)
    assert value - last_digit(value) <= got <= value * 1.01


@pytest.mark.slow
def test_fifty_phases():
    """Fifty noise levels, 1,000 sampled steps each, lie between the extreme levels alone."""
    levels = [0.8 + 0.02 * k for k in range(50)]
    profile = GAUSSIAN(noise_multiplier=levels[0]).subsample(0.01).self_compose(1000)
    for level in levels[1:]:
        profile = profile.compose(
            GAUSSIAN(noise_multiplier=level).subsample(0.01).self_compose(1000)
        )
    lower, upper = profile.epsilon_bounds(1e-6)
    assert lower <= upper <= lower * (1 + 1.01e-3)
    for level, compare in ((levels[0], upper), (levels[-1], lower)):
        same = GAUSSIAN(noise_multiplier=level).subsample(0.01).self_compose(50_000)
        bounds = same.epsilon_bounds(1e-6, accuracy=0.01)
        assert compare <= bounds.upper if level == levels[0] else compare >= bounds.lower


def test_tiny_noise_is_harmless():
    """Noise 0.05 at rate 0.01, one step: epsilon is that of the mechanism, shifted."""
    profile = GAUSSIAN(noise_multiplier=0.05).subsample(0.01)
    want = GAUSSIAN(noise_multiplier=0.05).epsilon(1e-5 / 0.01)
    assert profile.epsilon(1e-5) == pytest.approx(want + math.log(0.01), rel=1e-6)


@pytest.mark.slow
def test_a_million_steps():
    """One out of a million works, in both directions."""
    profile = GAUSSIAN(noise_multiplier=1.0).allocate(1_000_000)
    lower, upper = profile.epsilon_bounds(1e-6)
    assert 0 < lower <= upper <= lower * 1.001 + 1e-6
    assert profile.reverse().epsilon(1e-6) <= upper
