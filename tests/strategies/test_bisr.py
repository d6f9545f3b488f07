"""The banded inverse square root against dense inverses."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.signal import lfilter

from hockeystick import strategies
from references.factorizations import prefix_root


@pytest.mark.parametrize(("n", "bands"), [(1, 1), (2, 2), (7, 1), (7, 2), (7, 5), (12, 12)])
def test_the_inverse_is_the_cut_off_inverse_root(n, bands):
    """C^-1 holds the first diagonals of the inverse of the root, and C is its inverse."""
    inverse = np.linalg.inv(prefix_root(n))
    kept = inverse - np.tril(inverse, -bands)
    strategy = strategies.bisr(n, bands)
    np.testing.assert_allclose(strategy.inverse_matrix(), kept, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(strategy.to_matrix(), np.linalg.inv(kept), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("bands", [2, 3, 16])
def test_bands(bands):
    """C has all steps as bands, its inverse the given number."""
    strategy = strategies.bisr(100, bands)
    assert (strategy.bands, strategy.inverse_bands) == (100, bands)


def test_all_bands_are_the_square_root():
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


def test_errors_against_dense_matrices():
    """Rows of A C^-1 are partial sums of the inverse's coefficients."""
    strategy = strategies.bisr(40, 6)
    rows = np.tril(np.ones((40, 40))) @ strategy.inverse_matrix()
    expected = (rows**2).sum(axis=1)
    np.testing.assert_allclose(strategy.squared_errors(), expected, rtol=1e-12)


def test_one_band_is_the_identity():
    """An inverse root with one band is independent noise."""
    assert strategies.bisr(9, 1) == strategies.identity(9)
