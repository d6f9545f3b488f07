"""f-DP at any strength: curves are curves, orders are answers."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import hockeystick as hs
from hockeystick import fdp
from hypothesis_strategies import examples, pairs
from robustness.outcomes import outcome, refused
from robustness.values import counts, deltas, magnitudes, noises, rates

pytestmark = pytest.mark.slow

LEVELS = np.array([0.0, 1e-300, 1e-9, 0.01, 0.3, 1 - 1e-9, 1.0])


def assert_is_curve(errors: np.ndarray) -> None:
    """Between 0 and 1 - alpha, and falling."""
    assert np.all((errors >= 0) & (errors <= 1 - LEVELS + 1e-9))
    assert np.all(np.diff(errors) <= 1e-12)


@examples(60)
@given(st.just(0.0) | magnitudes(1e-12, 1e12), counts(1e9), deltas())
def test_gaussian_curves(mu: float, count: int, delta: float) -> None:
    """Their values, products and profiles."""
    curve = fdp.gdp(mu)
    assert_is_curve(outcome(lambda: curve(LEVELS)))
    assert_is_curve(outcome(lambda: curve.power(count)(LEVELS)))
    epsilon = outcome(lambda: curve.to_profile().epsilon(delta))
    assert refused(epsilon) or 0 <= epsilon < math.inf


@examples(48)
@given(pairs(), pairs())
def test_discrete_curves(first: tuple[list[float], ...], second: tuple[list[float], ...]) -> None:
    """Products, comparisons and attacks on any two of them."""
    one, other = fdp.from_pmfs(*first), fdp.from_pmfs(*second)
    for curve in (one, one.inverse(), one.symmetrize(), one.tensor(other)):
        assert_is_curve(outcome(lambda curve=curve: curve(LEVELS)))
    outcome(lambda: fdp.blackwell_order(one, other))
    assert 0 <= outcome(lambda: fdp.distance(one, other)) <= 1
    assert not math.isnan(outcome(lambda: fdp.tightest_mu(one)).mu)
    powers = outcome(lambda: fdp.true_positive_rate(one, false_positive_rate=LEVELS))
    assert np.all((powers >= 0) & (powers <= 1))


@examples(32)
@given(rates(), noises(), st.sampled_from(["small", "large"]))
def test_moments(rate: float, noise: float, regime: str) -> None:
    """Moments of the loss are numbers or refused."""
    outcome(lambda: fdp.loss_moments(rate=rate, noise_multiplier=noise))
    outcome(lambda: fdp.approximate_moments(rate=rate, noise_multiplier=noise, regime=regime))


@examples(16)
@given(noises(), rates(), st.floats(0.0, 1.0))
def test_attacks_on_profiles(noise: float, rate: float, level: float) -> None:
    """The rate of true positives is at least that of false ones, and a probability."""
    profile = hs.Profile.gaussian(noise_multiplier=noise).subsample(rate)
    found = outcome(
        lambda: fdp.true_positive_rate(profile, false_positive_rate=level, accuracy=0.5)
    )
    assert refused(found) or level * (1 - 1e-9) <= found <= 1
