"""Moments of likelihood ratios against sums over all cases."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest

import hockeystick as hs
from hockeystick._numerics.law import Resolution, from_losses
from hockeystick._numerics.moments import (
    PowerMoments,
    allocated_moments,
    composed_moments,
    moments_of_law,
    subsampled_moments,
)
from in_one_test import in_one_test

RESOLUTION = Resolution(0.05, 1e-12, 24.0)


def partitions(n, largest=None):
    """The integer partitions of n, parts in falling order."""
    if n == 0:
        yield ()
    for first in range(min(n, largest or n), 0, -1):
        for rest in partitions(n - first, first):
            yield (first, *rest)


def by_partitions(order, steps, moment):
    """Theorem 4.6 as a sum over partitions, with the corrected count of assignments."""
    total = 0.0
    for parts in partitions(order):
        if len(parts) <= steps:
            ways = math.perm(steps, len(parts))
            for part in set(parts):
                ways //= math.factorial(parts.count(part))
            orders = math.factorial(order)
            for part in parts:
                orders //= math.factorial(part)
            total += ways * orders * math.prod(moment(part) for part in parts)
    return total / steps**order


RANDOMIZERS = {
    "gaussian 0.5": hs.Profile.gaussian(noise_multiplier=0.5),
    "gaussian 1": hs.Profile.gaussian(noise_multiplier=1.0),
    "gaussian 3": hs.Profile.gaussian(noise_multiplier=3.0),
    "laplace": hs.Profile.laplace(scale=0.7),
    "randomized response": hs.Profile.randomized_response(epsilon=1.3, buckets=3),
}


def moments(profile, largest, *, reverse=False):
    """log E[LR^m] of a profile."""
    return profile.expression.power_moments(largest, reverse=reverse, resolution=RESOLUTION)


@in_one_test
@pytest.mark.parametrize("name", RANDOMIZERS)
@pytest.mark.parametrize("steps", range(1, 9))
def test_allocation_equals_the_sum_over_partitions(name, steps):
    """All orders up to 12, below and above the number of steps."""
    once = moments(RANDOMIZERS[name], 12).log
    found = moments(RANDOMIZERS[name].allocate(steps), 12).log
    for order in range(1, 13):
        expected = math.log(by_partitions(order, steps, lambda m: math.exp(once[m])))
        assert found[order] == pytest.approx(expected, rel=1e-11, abs=1e-13)


@pytest.mark.parametrize("steps", [1, 2, 7, 50, 10**6])
def test_without_information_every_moment_is_one(steps):
    """At infinite noise the partitions add up to steps^order."""
    found = allocated_moments(PowerMoments(np.zeros(41)), steps).log
    assert np.all((found >= 0) & (found <= 1e-12))


@pytest.mark.parametrize("steps", [3, 10, 31])
def test_both_recurrences_agree(steps):
    """Orders that one pass reaches are the same when larger ones force the other."""
    step = moments(hs.Profile.gaussian(noise_multiplier=1.1), 2 * steps)
    short = allocated_moments(PowerMoments(step.log[: steps + 2]), steps).log
    long = allocated_moments(step, steps).log
    assert long[: steps + 2] == pytest.approx(short, rel=1e-12, abs=1e-13)


def test_tiny_divergences_keep_their_digits():
    """At a million steps log E[LR^2] = log(1 + (e - 1)/t) to ten digits."""
    found = moments(hs.Profile.gaussian(noise_multiplier=1.0).allocate(10**6), 5).log[2]
    assert found == pytest.approx(math.log1p(math.expm1(1.0) / 1e6), rel=1e-9)


@pytest.mark.parametrize("rate", [Fraction(1, 3), Fraction(9, 10)])
def test_subsampling_is_the_binomial_theorem(rate):
    """Against rational arithmetic for a pair of two outcomes."""
    ratios, masses = (Fraction(3, 2), Fraction(1, 2)), (Fraction(1, 2), Fraction(1, 2))
    plain = [sum(q * w**m for w, q in zip(ratios, masses, strict=True)) for m in range(9)]
    given = PowerMoments(np.log([float(x) for x in plain]))
    found = subsampled_moments(given, float(rate)).log
    for m in range(9):
        exact = sum(q * (1 - rate + rate * w) ** m for w, q in zip(ratios, masses, strict=True))
        assert found[m] == pytest.approx(math.log(exact), rel=1e-12, abs=1e-15)


def test_atoms_at_infinity_are_kept_apart():
    """Subsampling thins the mass that no moment sees, composition unites it, one pick keeps it."""
    law = from_losses(np.array([-0.3, 0.4]), np.array([0.5, 0.45]), p_infinite=0.05)
    once = moments_of_law(law, 6)
    assert once.apart == 0.05
    assert subsampled_moments(once, 0.5).apart == pytest.approx(0.025)
    assert allocated_moments(once, 7).apart == 0.05
    assert composed_moments([(once, 2)]).apart == pytest.approx(1 - 0.95**2)


def test_moments_of_a_law_are_sums_over_atoms():
    """Both directions of a discrete pair, by definition."""
    p, q = np.array([0.5, 0.3, 0.2]), np.array([0.2, 0.3, 0.5])
    profile = hs.Profile.from_pmfs(p, q)
    for m, reverse in itertools.product(range(1, 8), (False, True)):
        top, bottom = (q, p) if reverse else (p, q)
        expected = math.log(float(np.sum(bottom * (top / bottom) ** m)))
        assert moments(profile, 8, reverse=reverse).log[m] == pytest.approx(
            expected, rel=1e-12, abs=1e-14
        )


def test_rounding_only_goes_up():
    """Against forty digits, no moment is below the truth."""
    mpmath.mp.dps = 40
    mu, steps = mpmath.mpf(1) / 2, 12
    found = moments(hs.Profile.gaussian(noise_multiplier=2.0).allocate(steps), 10).log
    d = [mpmath.exp(m * (m - 1) * mu**2 / 2) for m in range(11)]
    series = [mpmath.mpf(1)] + [mpmath.mpf(0)] * 10
    for _ in range(steps):
        series = [
            sum(series[i] * d[n - i] / mpmath.factorial(n - i) for i in range(n + 1))
            for n in range(11)
        ]
    for m in range(1, 11):
        exact = mpmath.log(series[m] * mpmath.factorial(m) / mpmath.mpf(steps) ** m)
        assert 0 <= found[m] - exact <= 1e-12
