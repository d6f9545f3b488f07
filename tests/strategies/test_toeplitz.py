"""Strategies by their coefficients: as they stand, without rescaling."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hockeystick import strategies
from hypothesis_strategies import quick
from references.factorizations import dense

# Either zero or far from underflow: a tail that underflows is not taken for zeros, see below.
TAILS = st.lists(
    st.floats(0.0, 1.0).map(lambda c: c if c > 1e-150 else 0.0), min_size=0, max_size=6
)


@quick
@given(st.floats(0.5, 4.0), TAILS, st.integers(0, 4))
def test_against_the_dense_matrix(first, tail, more):
    """The matrix, its inverse's coefficients, its column norms and its bands."""
    coefficients = [first, *tail]
    n = len(coefficients) + more
    strategy = strategies.from_coefficients(coefficients, n)
    matrix = dense(coefficients, n)
    np.testing.assert_array_equal(strategy.to_matrix(), matrix)
    np.testing.assert_allclose(strategy.column_norms, np.linalg.norm(matrix, axis=0), rtol=1e-14)
    inverse = np.linalg.inv(matrix)
    np.testing.assert_allclose(
        strategy.inverse_matrix(), inverse, rtol=1e-8, atol=1e-11 * np.abs(inverse).max()
    )
    assert strategy.bands == max(k for k in range(n) if matrix[k, 0] != 0) + 1
    assert strategy.coefficients.size == strategy.bands


def test_trailing_zeros_are_no_bands():
    """Nor are coefficients without any."""
    strategy = strategies.from_coefficients([2.0, 0.0, 1.0, 0.0, 0.0])
    assert (strategy.steps, strategy.bands) == (5, 3)
    assert strategy.describe() == {"factorization": "coefficients", "bands": 3}


def test_a_tail_that_underflows_has_no_trailing_zeros():
    """What is too small for floating point is not zero, so the zeros after it stay."""
    assert strategies.from_coefficients([1.0, 2e-309, 0.0]).bands == 3


def test_inverse_bands():
    """The geometric series has an inverse with two bands."""
    assert strategies.from_coefficients(0.5 ** np.arange(20)).inverse_bands == 2
    assert strategies.from_coefficients([1.0, 0.5], 20).inverse_bands == 20


def test_nothing_is_rescaled():
    """Twice the identity has columns of length two and a quarter of the error."""
    strategy = strategies.from_coefficients([2.0], 10)
    assert strategy.column_norms.tolist() == [2.0] * 10
    assert strategy.mean_squared_error() == pytest.approx(5.5 / 4, rel=1e-14)
    assert strategy.max_squared_error() == pytest.approx(10 / 4, rel=1e-14)


@pytest.mark.parametrize("size", [600, 1500])
def test_long_series_are_inverted_by_fft(size):
    """C times its inverse is the identity to rounding."""
    falling = strategies.from_coefficients(np.linspace(1.0, 0.1, size), 2 * size)
    product = np.convolve(falling.coefficients, falling.inverse_coefficients)[: 2 * size]
    product[0] -= 1.0
    assert np.abs(product).max() <= 1e-12


def test_a_strategy_is_a_value():
    """It keeps a copy, compares by matrix, can be pickled, and its arrays are read-only."""
    given = np.array([1.0, 0.5])
    strategy = strategies.from_coefficients(given, 4)
    given[1] = 3.0
    assert strategy.coefficients.tolist() == [1.0, 0.5]
    assert strategy == strategies.bsr(4, 2)
    assert hash(strategy) == hash(strategies.bsr(4, 2))
    assert strategy != strategies.bsr(5, 2)
    assert pickle.loads(pickle.dumps(strategy)) == strategy
    for array in (strategy.coefficients, strategy.inverse_coefficients, strategy.column_norms):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 3.0
