"""Poisson sampling at rates within rounding of 1, and at tiny rates, against mpmath."""

from __future__ import annotations

from itertools import product

import mpmath as mp
import numpy as np
import pytest

import hockeystick as hs
from hockeystick.bounds.combined import SubsampledBound
from hockeystick.bounds.profiles import ProfileBound
from hypothesis_strategies import thinned
from in_one_test import in_one_test

pytestmark = pytest.mark.slow

NEAR_ONE = [*(1 - 10.0**-k for k in range(1, 16)), 1 - 2.3e-16, 1 - 2.0**-53]
TINY = [1e-3, 1e-10, 1e-100, 1e-200]
DIRECTIONS = ["remove", "add"]
# Digits that hold sums of numbers between 1 and 1e-300.
DIGITS = 360


def gaussian_delta(epsilon, rate, noise, direction):
    """The closed form: LR = 1 - r + r e^(mu x - mu^2/2) crosses e^epsilon once."""
    level, mu = mp.exp(mp.mpf(epsilon)), 1 / mp.mpf(noise)
    rest = 1 - mp.mpf(rate)
    inner = ((level if direction == "remove" else 1 / level) - rest) / rate
    if inner <= 0:
        return mp.mpf(0) if direction == "add" else 1 - level
    x = mp.log(inner) / mu + mu / 2
    if direction == "remove":
        return rest * mp.ncdf(-x) + rate * mp.ncdf(mu - x) - level * mp.ncdf(-x)
    return mp.ncdf(x) - level * (rest * mp.ncdf(x) + rate * mp.ncdf(x - mu))


def sampled_atoms(p, q, rate, steps):
    """All outcomes of the composition, with both masses."""
    rate = mp.mpf(rate)
    one = [((1 - rate) * b + rate * a, mp.mpf(b)) for a, b in zip(p, q, strict=True)]
    return [
        (mp.fprod(a for a, _ in draw), mp.fprod(b for _, b in draw))
        for draw in product(one, repeat=steps)
    ]


def atoms_delta(atoms, epsilon, direction):
    """The finite sum."""
    level = mp.exp(mp.mpf(epsilon))
    pairs = atoms if direction == "remove" else [(b, a) for a, b in atoms]
    return mp.fsum(max(a - level * b, mp.mpf(0)) for a, b in pairs)


def check(profile, direction, delta_of, *, deltas, digits=1e-7):
    """Both bounds on epsilon and delta are on their sides, and close; below, above, at the end."""
    for delta in deltas:
        found = profile.epsilon_bounds(delta, directions=[direction])
        assert delta_of(found.upper) <= delta
        assert found.lower == 0 or delta_of(found.lower) >= delta
        assert found.upper - found.lower <= digits * found.upper
        for epsilon in (found.lower, found.upper, found.upper * 0.97, found.upper * (1 + 1e-14)):
            bounds = profile.delta_bounds(epsilon, directions=[direction])
            assert bounds.lower <= delta_of(epsilon) <= bounds.upper


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("rate", thinned(NEAR_ONE, normal=3))
def test_gaussian_near_one(rate, direction):
    """The closed form, with little noise and with much."""
    with mp.workdps(DIGITS):
        for noise in (0.05, 0.2, 1.0):
            check(
                hs.Profile.gaussian(noise_multiplier=noise).subsample(rate),
                direction,
                lambda epsilon, noise=noise: gaussian_delta(epsilon, rate, noise, direction),
                deltas=(1e-12, 1e-6, 0.1),
            )


PAIRS = {
    "small and close": ([18 * 2.0**-52, 1 - 18 * 2.0**-52], [50 * 2.0**-52, 1 - 50 * 2.0**-52]),
    "response": ([0.5, 1e-26, 0.5], [1e-26, 0.5, 0.5]),
    "several": ([1e-30, 1e-8, 0.3, 0.7 - 1e-8], [0.6, 0.3, 0.1 - 1e-20, 1e-20]),
    "disjoint": ([0.0, 0.25, 0.75], [0.5, 0.25, 0.25]),
}


@in_one_test
@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("name", PAIRS)
@pytest.mark.parametrize("rate", thinned([*NEAR_ONE, *TINY, 0.9381293880203829], normal=8))
def test_discrete_pairs(rate, name, direction):
    """One step in closed form, and the composition of two, against all outcomes."""
    p, q = PAIRS[name]
    one = hs.Profile.from_pmfs(np.array(p), np.array(q)).subsample(rate)
    with mp.workdps(DIGITS):
        for steps in (1, 2):
            atoms = sampled_atoms(p, q, rate, steps)
            total = atoms_delta(atoms, 0.0, direction)
            check(
                one if steps == 1 else one.self_compose(2),
                direction,
                lambda epsilon, atoms=atoms: atoms_delta(atoms, epsilon, direction),
                deltas=[float(total * share) for share in (1e-6, 0.1, 0.9)],
                digits=1e-5,
            )


@in_one_test
@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("rate", thinned(NEAR_ONE, normal=6))
def test_bounds_near_one(rate, direction):
    """Upper bounds for a run in which the example takes part with this probability."""
    bound = SubsampledBound(ProfileBound(hs.Profile.gaussian(noise_multiplier=0.05)), rate)
    with mp.workdps(DIGITS):
        for delta in (1e-6, 0.1):
            options = {"directions": (direction,), "accuracy": 1e-3}
            epsilon = bound.epsilon(delta, **options).value
            assert gaussian_delta(epsilon, rate, 0.05, direction) <= delta
            for at in (epsilon, 0.97 * epsilon):
                true = gaussian_delta(at, rate, 0.05, direction)
                upper = bound.delta(at, **options).value
                assert true <= upper <= true * (1 + mp.mpf(1e-6)) + mp.mpf(1e-12)


@pytest.mark.parametrize("gap", [1e-6, 1e-12, 2.3e-16])
def test_accounts_of_one_step(gap):
    """One step with little noise, of an example that is all but certain to take part."""
    plan = hs.Plan(sampling=hs.Poisson(rate=1 - gap), steps=1)
    guarantee = hs.account(plan, noise_multiplier=0.05, direction="add")
    with mp.workdps(DIGITS):
        epsilon = guarantee.epsilon(1e-6)
        true = gaussian_delta(epsilon, 1 - gap, 0.05, "add")
        assert 0.999e-6 <= true <= 1e-6
        assert true <= guarantee.delta(epsilon)
