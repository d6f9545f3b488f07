"""The banded square root and the banded inverse root against dense matrices and closed forms."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.signal import lfilter

from hockeystick import strategies
from references.factorizations import prefix_root


@pytest.mark.parametrize("n", [1, 2, 5, 12])
def test_all_bands_are_the_matrix_square_root(n):
    """C^2 = A: the whole matrix equals the root of the prefix sums."""
    strategy = strategies.bsr(n, n)
    np.testing.assert_allclose(strategy.to_matrix(), prefix_root(n), rtol=1e-9, atol=1e-12)
    squared = strategy.to_matrix() @ strategy.to_matrix()
    np.testing.assert_allclose(squared, np.tril(np.ones((n, n))), rtol=1e-13)


@pytest.mark.parametrize("bands", [1, 2, 4, 7])
def test_fewer_bands_cut_the_root_off(bands):
    """The first diagonals are kept as they are, the others are zero."""
    root = prefix_root(7)
    kept = root - np.tril(root, -bands)
    strategy = strategies.bsr(7, bands)
    np.testing.assert_allclose(strategy.to_matrix(), kept, rtol=1e-9, atol=1e-12)
    assert strategy.bands == bands


def test_coefficients_are_central_binomials():
    """c_k = binomial(2k, k) / 4^k, and the first is exactly 1."""
    coefficients = strategies.bsr(400, 400).coefficients
    exact = [math.comb(2 * k, k) / 4**k for k in range(400)]
    np.testing.assert_allclose(coefficients, exact, rtol=1e-13)
    assert coefficients[0] == 1.0


def test_coefficients_decrease_and_are_positive():
    """Each is smaller than the one before it."""
    coefficients = strategies.bsr(5000, 5000).coefficients
    assert (np.diff(coefficients) < 0).all()
    assert coefficients[-1] > 0


@pytest.mark.parametrize("n", [100, 3000, 100_000])
def test_errors_of_the_whole_root_are_its_own_rows(n):
    """A C^-1 = C, so that the squared errors are partial sums of the squared coefficients."""
    strategy = strategies.bsr(n, n)
    expected = np.cumsum(strategy.coefficients**2)
    np.testing.assert_allclose(strategy.squared_errors(), expected, rtol=1e-11)
    assert strategy.max_squared_error() == pytest.approx(expected[-1], rel=1e-11)


def test_one_band_is_the_identity():
    """A root with one band is independent noise."""
    assert strategies.bsr(9, 1) == strategies.identity(9)


def test_description():
    """The name, the parameters and a representation that can be typed."""
    strategy = strategies.bsr(9, 4)
    assert strategy.describe() == {"factorization": "bsr", "bands": 4}
    assert repr(strategy) == "bsr(9, bands=4)"


@pytest.mark.parametrize(("n", "bands"), [(1, 1), (2, 2), (7, 1), (7, 2), (7, 5), (12, 12)])
def test_the_inverse_is_the_cut_off_inverse_root(n, bands):
    """C^-1 holds the first diagonals of the inverse of the root, and C is its inverse."""
    inverse = np.linalg.inv(prefix_root(n))
    kept = inverse - np.tril(inverse, -bands)
    strategy = strategies.bisr(n, bands)
    np.testing.assert_allclose(strategy.inverse_matrix(), kept, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(strategy.to_matrix(), np.linalg.inv(kept), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("bands", [2, 3, 16])
def test_bands_of_the_inverse_root(bands):
    """C has all steps as bands, its inverse the given number."""
    strategy = strategies.bisr(100, bands)
    assert (strategy.bands, strategy.inverse_bands) == (100, bands)


def test_all_bands_of_the_inverse_are_the_square_root():
    """Without cutting off, root and inverse root are the same factorization."""
    root, inverse = strategies.bsr(300, 300), strategies.bisr(300, 300)
    np.testing.assert_allclose(inverse.coefficients, root.coefficients, rtol=1e-12)


@pytest.mark.parametrize(("n", "bands"), [(50, 4), (3000, 40), (3000, 1000), (3000, 3000)])
def test_coefficients_are_not_negative_and_start_at_one(n, bands):
    """Both the direct recursion and the one by FFT agree with a recursive filter."""
    strategy = strategies.bisr(n, bands)
    unit = np.zeros(n)
    unit[0] = 1.0
    filtered = lfilter([1.0], strategy.inverse_coefficients, unit)
    np.testing.assert_allclose(strategy.coefficients, filtered, rtol=1e-9)
    assert strategy.coefficients[0] == 1.0
    assert (strategy.coefficients >= 0).all()
    assert (np.diff(strategy.coefficients) <= 0).all()


def test_errors_of_the_inverse_root_against_dense_matrices():
    """Rows of A C^-1 are partial sums of the inverse's coefficients."""
    strategy = strategies.bisr(40, 6)
    rows = np.tril(np.ones((40, 40))) @ strategy.inverse_matrix()
    expected = (rows**2).sum(axis=1)
    np.testing.assert_allclose(strategy.squared_errors(), expected, rtol=1e-12)


def test_one_band_of_the_inverse_root_is_the_identity():
    """An inverse root with one band is independent noise."""
    assert strategies.bisr(9, 1) == strategies.identity(9)
