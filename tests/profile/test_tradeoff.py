"""The trade-off function: the convex conjugate of the profile."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hockeystick import Profile
from hypothesis_strategies import pairs, quick
from references import outcomes as plain
from references.gaussian import gaussian_tradeoff

ALPHAS = np.array([0.0, 1e-9, 1e-4, 0.01, 0.1, 0.5, 0.9, 0.999, 1.0])


@pytest.mark.parametrize("mu", [0.1, 1.0, 4.0])
def test_gaussian_tradeoff(mu):
    """G_mu from both sides: the upper profile gives a lower bound, the lower one an upper bound."""
    noise = 1 / mu
    low = Profile.gaussian(noise_multiplier=noise).tradeoff(ALPHAS)
    high = Profile.gaussian(noise_multiplier=noise, bound="lower").tradeoff(ALPHAS)
    for alpha, below, above in zip(ALPHAS, low, high, strict=True):
        truth = gaussian_tradeoff(mu, alpha)
        assert below <= truth * (1 + 1e-9) + 1e-15
        assert above >= truth * (1 - 1e-9)
        assert above - below <= 1e-3


@quick
@given(pair=pairs(max_size=4), alpha=st.floats(0, 1))
def test_discrete_tradeoff_is_the_best_test(pair, alpha):
    """Neyman and Pearson against all mixtures of two rejection regions."""
    best = float(plain.most_powerful(plain.outcomes(*pair), alpha))
    assert Profile.from_pmfs(*pair).tradeoff(alpha) == pytest.approx(best, rel=1e-8, abs=1e-13)


@pytest.mark.slow
@pytest.mark.parametrize(
    "profile",
    [
        Profile.gaussian(noise_multiplier=1.0).subsample(0.2).self_compose(10),
        Profile.laplace(scale=0.8).self_compose(3),
        Profile.from_epsilon_delta(0.7, 0.01),
        Profile.gaussian(noise_multiplier=0.6).allocate(5).reverse(),
    ],
    ids=["sampled", "laplace", "epsilon-delta", "allocated"],
)
def test_tradeoff_is_the_conjugate(profile):
    """f(alpha) = sup over epsilon of 1 - delta(epsilon) - e^epsilon alpha."""
    epsilons = np.linspace(-6.0, 6.0, 121)
    deltas = np.array([profile.delta(float(e)) for e in epsilons])
    alphas = np.array([0.001, 0.01, 0.1, 0.3, 0.7])
    values = profile.tradeoff(alphas)
    for alpha, value in zip(alphas, values, strict=True):
        conjugate = float(np.max(1 - deltas - np.exp(epsilons) * alpha))
        # Each delta is above the truth by at most half a per cent; alpha = 0.001 by the grid.
        assert value >= conjugate - 1e-3
        assert value <= conjugate + 2e-2


@quick
@given(noise=st.floats(0.3, 5.0), alpha=st.floats(0.001, 0.999))
def test_tradeoff_is_a_tradeoff(noise, alpha):
    """Convex, decreasing, below 1 - alpha, and symmetric for a symmetric pair."""
    profile = Profile.gaussian(noise_multiplier=noise)
    left, middle, right = profile.tradeoff(np.array([alpha * 0.9, alpha, min(1.0, alpha * 1.1)]))
    assert left >= middle >= right
    assert middle <= 1 - alpha
    assert middle <= (left + right) / 2 + 1e-3 or alpha * 1.1 > 1
    # f is its own inverse.
    assert profile.tradeoff(middle) == pytest.approx(alpha, abs=5e-3)


def test_scalar_and_array():
    """A float for a float, an array for an array."""
    profile = Profile.laplace(scale=1.0)
    assert isinstance(profile.tradeoff(0.3), float)
    assert profile.tradeoff(np.array([0.3, 0.4])).shape == (2,)
    assert profile.tradeoff(0.3) == profile.tradeoff(np.array([0.3]))[0]


@pytest.mark.parametrize("noise", [0.02, 0.05])
def test_the_far_end_is_reached(noise):
    """At alpha = 0 a mechanism without mass at infinity cannot be told apart at all."""
    lower_profile = Profile.gaussian(noise_multiplier=noise, bound="lower")
    assert lower_profile.tradeoff(0.0) >= 1 - 1e-3


def test_mass_at_infinity_is_always_found():
    """At alpha = 0 the best test still catches what Q never produces."""
    assert Profile.from_epsilon_delta(1.0, 0.1).tradeoff(0.0) == pytest.approx(0.9, rel=1e-9)
    assert Profile.from_epsilon_delta(1.0, 0.1).tradeoff(1.0) == 0.0
    want = 1 - 0.1 - 0.05 * math.exp(1.0)
    assert Profile.from_epsilon_delta(1.0, 0.1).tradeoff(0.05) == pytest.approx(want, rel=1e-9)
