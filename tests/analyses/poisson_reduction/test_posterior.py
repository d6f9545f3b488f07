"""How often the chance of taking part exceeds its bound."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import integrate

import hockeystick as hs
from hockeystick._numerics.law import Resolution, Side
from hockeystick.analyses.poisson_reduction.allocation import _cumulant, excess_at_failure
from in_one_test import in_one_test

RESOLUTION = Resolution(0.01, 1e-25, 8.0)


def law(profile):
    """The upper law of one step."""
    return profile.expression.law(Side.UPPER, RESOLUTION)


@in_one_test
@pytest.mark.parametrize("noise", [0.5, 1.0, 3.0])
@pytest.mark.parametrize("s", [1e-3, 0.1, 1.0, 20.0, 400.0])
def test_cumulant_of_the_gaussian(noise, s):
    """Just above the integral."""

    def integrand(z):
        w = math.exp(z / noise - 0.5 / noise**2)
        return math.exp(-(z**2) / 2) / math.sqrt(2 * math.pi) * math.exp(s * (1 - w) - s)

    integral, _ = integrate.quad(integrand, -14, 14, limit=800, points=[-4, -2, 0, 2])
    exact = math.log(integral) + s
    assert exact * (1 - 1e-6) <= _cumulant(law(hs.Profile.gaussian(noise_multiplier=noise)), s)
    assert _cumulant(law(hs.Profile.gaussian(noise_multiplier=noise)), s) <= exact * (1 + 1e-3)


@pytest.mark.parametrize(
    ("profile", "steps", "failure"),
    [
        (hs.Profile.gaussian(noise_multiplier=1.0), 20, 0.05),
        (hs.Profile.gaussian(noise_multiplier=2.0), 50, 0.01),
        (hs.Profile.randomized_response(epsilon=1.0), 30, 0.02),
    ],
)
def test_failures_are_as_rare_as_claimed(profile, steps, failure):
    """Simulated walks exceed the bound at most as often, with and without the example."""
    bound = excess_at_failure(law(profile), steps, math.log(failure)) * steps
    found = law(profile)
    rng = np.random.default_rng(3)
    size = (40_000, steps)
    without = np.exp(rng.choice(found.loss, size, p=found.q / found.q.sum()))
    with_one = without.copy()
    with_one[np.arange(size[0]), rng.integers(steps, size=size[0])] = np.exp(
        rng.choice(found.loss, size[0], p=found.p / found.p.sum())
    )
    for ratios in (without, with_one):
        highest = np.cumsum(1 - ratios, axis=1).max(axis=1)
        share = float(np.mean(highest >= bound))
        assert share <= failure
    assert np.mean(np.cumsum(1 - without, axis=1).max(axis=1) >= bound / 3) > failure / 10


def test_hoeffding_is_never_better():
    """For a pure mechanism the corrected constant of Theorem 3.2 is an upper bound on this one."""
    for epsilon, steps, failure in [(0.5, 100, 1e-6), (1.0, 1000, 1e-9), (3.0, 10**6, 1e-12)]:
        step = law(hs.Profile.randomized_response(epsilon=epsilon))
        found = excess_at_failure(step, steps, math.log(failure))
        hoeffding = math.sinh(epsilon) * math.sqrt(2 * math.log(1 / failure) / steps)
        assert 0 < found <= hoeffding


@pytest.mark.parametrize("steps", [2, 10, 1000, 10**6])
def test_rarer_failures_need_more_room(steps):
    """The bound grows as the failure shrinks, and falls with the number of steps."""
    step = law(hs.Profile.gaussian(noise_multiplier=0.8))
    values = [excess_at_failure(step, steps, x) for x in (-1.0, -10.0, -100.0, -1000.0)]
    assert values == sorted(values)
    assert values[0] > 0
    assert excess_at_failure(step, 4 * steps, -10.0) < values[1]
