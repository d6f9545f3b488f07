"""Chernoff's bound in its relative-entropy form."""

from __future__ import annotations

import math

import mpmath
import pytest

from hockeystick.montecarlo.concentration import (
    draws_to_tell,
    interval,
    relative_entropy,
    upper_edge,
)
from in_one_test import in_one_test


def exact_entropy(a, b):
    """With fifty digits."""
    with mpmath.workdps(50):
        x, y = mpmath.mpf(a), mpmath.mpf(b)
        first = x * mpmath.log(x / y) if x > 0 else mpmath.mpf(0)
        second = (1 - x) * mpmath.log((1 - x) / (1 - y)) if x < 1 else mpmath.mpf(0)
        return float(first + second)


@in_one_test
@pytest.mark.parametrize(
    ("a", "b"),
    [
        (0.3, 0.7),
        (0.7, 0.3),
        (0.0, 1e-6),
        (0.0, 0.4),
        (1.0, 0.4),
        (1e-5, 1.1e-5),
        (9.9e-6, 1e-5),
        (1e-9, 1e-3),
        (0.5, 0.5 * (1 + 2e-5)),
        (1e-5, 1e-5 * (1 + 9e-5)),
        (1e-5, 1e-5 * (1 + 2e-4)),
        (0.999, 0.9991),
    ],
)
def test_relative_entropy(a, b):
    """Also of rare and of close probabilities."""
    assert relative_entropy(a, b) == pytest.approx(exact_entropy(a, b), rel=1e-6)


def test_relative_entropy_of_certainties():
    """No draws tell a probability from itself; one draw tells it from the impossible."""
    assert relative_entropy(0.2, 0.2) == 0
    assert relative_entropy(0.0, 0.0) == relative_entropy(1.0, 1.0) == 0
    assert relative_entropy(0.1, 0.0) == relative_entropy(0.9, 1.0) == math.inf


@in_one_test
@pytest.mark.parametrize("expectation", [0.003, 0.1, 0.5, 0.93])
@pytest.mark.parametrize("draws", [10, 200])
@pytest.mark.parametrize("miss", [0.3, 0.05, 1e-4])
def test_coverage_for_bernoulli_draws(expectation, draws, miss):
    """The exact probability that an interval or edge misses is at most what is stated."""
    exponent = math.log(1 / miss) / draws
    outside = too_low = 0.0
    for heads in range(draws + 1):
        ways = math.comb(draws, heads)
        chance = ways * expectation**heads * (1 - expectation) ** (draws - heads)
        low, high = interval(heads / draws, draws=draws, miss=miss)
        assert low <= heads / draws <= high
        outside += 0.0 if low <= expectation <= high else chance
        too_low += chance if upper_edge(heads / draws, exponent) < expectation else 0.0
    assert outside <= miss
    assert too_low <= miss


def test_an_interval_is_not_wider_than_it_has_to_be():
    """Its ends are where the bound is met."""
    low, high = interval(0.2, draws=1_000, miss=0.01)
    for edge in (low, high):
        assert 1_000 * relative_entropy(0.2, edge) == pytest.approx(math.log(200), rel=1e-6)


def test_ends_at_certainties():
    """Nothing seen leaves room above; everything seen leaves none."""
    assert upper_edge(0.0, 0.01) == pytest.approx(-math.expm1(-0.01), rel=1e-9)
    assert upper_edge(1.0, 0.01) == 1
    assert interval(0.0, draws=100, miss=0.1)[0] == 0


@pytest.mark.parametrize(("threshold", "expectation"), [(0.5, 0.6), (1e-5, 1.2e-5), (0.0, 0.01)])
def test_draws_to_tell(threshold, expectation):
    """As many as bring the bound to the wanted probability."""
    draws = draws_to_tell(threshold, expectation, miss=1e-3)
    bound = -draws * exact_entropy(threshold, expectation)
    assert bound == pytest.approx(math.log(1e-3), rel=1e-6)


def test_draws_to_tell_bernoulli_means_apart():
    """The exact tail of Bernoulli draws is below the bound, and not absurdly far."""
    draws = math.ceil(draws_to_tell(0.3, 0.5, miss=0.01))
    tail = sum(math.comb(draws, k) for k in range(math.floor(0.3 * draws) + 1)) / 2**draws
    assert 1e-5 < tail <= 0.01


@pytest.mark.parametrize(("threshold", "expectation"), [(0.5, 0.5), (0.6, 0.5), (math.nan, 0.5)])
def test_what_no_draws_can_tell(threshold, expectation):
    """An expectation that is not above the threshold."""
    assert draws_to_tell(threshold, expectation, miss=0.01) == math.inf
