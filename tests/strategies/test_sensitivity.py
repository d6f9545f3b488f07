"""Sensitivities against the enumeration of every participation pattern."""

from __future__ import annotations

import itertools
import pickle
import time

import numpy as np
import pytest

from hockeystick import strategies
from in_one_test import in_one_test
from references.factorizations import worst_length


def falling(rng, bands):
    """Coefficients that do not increase."""
    return np.sort(rng.random(bands))[::-1] + 1e-3


def rising(rng, bands):
    """Coefficients that do not fall."""
    return np.sort(rng.random(bands)) + 1e-3


def wild(rng, bands):
    """Any order, of very different sizes, some zero."""
    tail = rng.random(bands) ** 4 * (rng.random(bands) > 0.3)
    return np.concatenate(([0.1 + rng.random()], tail[1:]))


def toeplitz(rng, n, shape):
    """A Toeplitz strategy with any number of bands."""
    return strategies.from_coefficients(shape(rng, int(rng.integers(1, n + 1))), n)


def full(rng, n):
    """A sparse matrix with any number of bands."""
    matrix = np.tril(rng.random((n, n)) ** 3 * (rng.random((n, n)) > 0.5))
    matrix[np.diag_indices(n)] += 0.1
    return strategies.from_matrix(np.triu(matrix, -int(rng.integers(0, n))))


MAKERS = {
    "falling": lambda rng, n: toeplitz(rng, n, falling),
    "rising": lambda rng, n: toeplitz(rng, n, rising),
    "wild": lambda rng, n: toeplitz(rng, n, wild),
    "full": full,
}


def assert_sound(strategy, separation, participations):
    """Above every pattern; exact where it says so, with a pattern that is allowed and attains."""
    number = strategy.sensitivity(separation=separation, participations=participations)
    matrix = strategy.to_matrix()
    truth = worst_length(matrix, separation, participations)
    assert number >= truth * (1 - 1e-12)
    steps = list(number.pattern)
    assert len(steps) <= (participations or strategy.steps)
    assert all(b - a >= separation for a, b in itertools.pairwise(steps))
    if number.exact:
        assert number == pytest.approx(truth, rel=1e-11)
        reached = np.linalg.norm(matrix[:, steps].sum(axis=1))
        assert reached == pytest.approx(truth, rel=1e-11)
    if strategy.bands <= separation and strategy.coefficients is not None:
        assert number.exact
    return number


@in_one_test
@pytest.mark.parametrize("maker", MAKERS.values(), ids=MAKERS)
@pytest.mark.parametrize("n", [1, 2, 4, 7])
def test_every_separation_and_number(maker, n):
    """All arguments that make a difference, on random matrices."""
    rng = np.random.default_rng(n)
    for _ in range(4):
        strategy = maker(rng, n)
        for separation in range(1, n + 2):
            for participations in [None, *range(1, n + 2)]:
                assert_sound(strategy, separation, participations)


@pytest.mark.parametrize("separation", [1, 2, 3])
def test_falling_coefficients_are_exact(separation):
    """As early as possible is the worst pattern."""
    rng = np.random.default_rng(separation)
    for participations in (None, 1, 2, 3):
        number = assert_sound(toeplitz(rng, 8, falling), separation, participations)
        assert number.exact
        assert number.pattern[0] == 0


@pytest.mark.parametrize("separation", [3, 4, 9])
def test_banded_matrices_are_exact(separation):
    """Columns that are at least `bands` apart have no row in common, whatever their lengths."""
    rng = np.random.default_rng(5)
    for _ in range(5):
        matrix = np.triu(np.tril(rng.random((8, 8))), -2) + np.eye(8)
        for participations in (None, 1, 2):
            number = assert_sound(strategies.from_matrix(matrix), separation, participations)
            assert number.exact


def test_the_earliest_pattern_is_not_always_the_worst():
    """With a large entry in the corner the worst column is not the first."""
    matrix = np.eye(5)
    matrix[4, 3] = 3.0
    number = assert_sound(strategies.from_matrix(matrix), 2, 1)
    assert number.exact
    assert list(number.pattern) == [3]


def test_the_defaults_are_all_steps():
    """Every step takes part: the length of C 1."""
    for strategy in (strategies.bsr(20, 6), strategies.bisr(20, 4), strategies.blt(20, 2)):
        number = strategy.sensitivity()
        everything = np.linalg.norm(strategy.to_matrix().sum(axis=1))
        assert number == pytest.approx(everything, rel=1e-13)
        assert number.exact


def test_the_largest_column_is_one_participation():
    """For any separation."""
    strategy = strategies.band_mf(30, 5)
    for separation in (1, 4, 30, 1000):
        number = strategy.sensitivity(separation=separation, participations=1)
        assert number == pytest.approx(strategy.column_norms.max(), rel=1e-13)


def test_more_freedom_is_not_less_sensitive():
    """The bound falls with the separation and grows with the participations."""
    strategy = strategies.bsr(200, 50)
    by_number = [strategy.sensitivity(separation=7, participations=k) for k in range(1, 12)]
    by_gap = [strategy.sensitivity(separation=s, participations=5) for s in range(1, 60)]
    assert by_number == sorted(by_number)
    assert by_gap == sorted(by_gap, reverse=True)


@pytest.mark.parametrize("scale", [1.0, 3.0])
def test_huge_runs_are_instant(scale):
    """Independent noise over a million million steps."""
    strategy = strategies.from_coefficients([scale], 10**12)
    start = time.process_time()
    assert strategy.sensitivity() == scale * 1e6
    few = strategy.sensitivity(separation=10**9, participations=4)
    assert few == 2 * scale
    assert list(few.pattern) == [0, 10**9, 2 * 10**9, 3 * 10**9]
    assert strategies.bsr(10**12, 2).sensitivity(separation=2, participations=4).exact
    assert time.process_time() - start < 0.5


def test_long_runs_with_any_coefficients():
    """The bound lies between a pattern and what falling coefficients above them would give."""
    coefficients = np.array([1.0, 0.2, 0.6, 0.1, 0.5])
    number = strategies.from_coefficients(coefficients, 5000).sensitivity(
        separation=2, participations=40
    )
    above = np.maximum.accumulate(coefficients[::-1])[::-1]
    upper = strategies.from_coefficients(above, 5000).sensitivity(separation=2, participations=40)
    attained = np.zeros(5000)
    attained[:80:2] = 1.0
    lower = np.linalg.norm(np.convolve(coefficients, attained)[:5000])
    assert lower <= number * (1 + 1e-12)
    assert number <= upper


def test_a_sensitivity_survives_pickling():
    """The number and what is known about it."""
    number = strategies.from_coefficients([1.0, 3.0], 6).sensitivity(participations=2)
    copy = pickle.loads(pickle.dumps(number))
    assert copy == number
    assert (copy.exact, list(copy.pattern)) == (number.exact, list(number.pattern))
