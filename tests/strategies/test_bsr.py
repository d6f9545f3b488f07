"""The banded square root against a general matrix square root and closed forms."""

from __future__ import annotations

import math

import numpy as np
import pytest

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


def test_coefficients_fall_and_are_positive():
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
