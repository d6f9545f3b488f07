"""Strategies kept in full, against dense linear algebra and against their Toeplitz versions."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from hockeystick import strategies
from references.factorizations import row_errors


def random_matrix(seed, n, bands):
    """Non-negative, lower triangular, banded."""
    rng = np.random.default_rng(seed)
    matrix = np.triu(np.tril(rng.random((n, n))), 1 - bands)
    matrix[np.diag_indices(n)] += 0.5
    return matrix


@pytest.mark.parametrize(("n", "bands"), [(1, 1), (6, 1), (6, 3), (6, 6), (300, 4)])
def test_against_dense_algebra(n, bands):
    """Entries, inverse, column norms, errors and bandwidth."""
    matrix = random_matrix(n + bands, n, bands)
    strategy = strategies.from_matrix(matrix)
    assert strategy.bands == bands
    assert strategy.steps == n
    np.testing.assert_array_equal(strategy.to_matrix(), matrix)
    np.testing.assert_allclose(strategy.column_norms, np.linalg.norm(matrix, axis=0), rtol=1e-14)
    if n < 100:
        np.testing.assert_allclose(
            strategy.inverse_matrix(), np.linalg.inv(matrix), rtol=1e-9, atol=1e-12
        )
        for workload in (np.ones(n), strategies.momentum(n, decay=0.7), [1.0]):
            np.testing.assert_allclose(
                strategy.squared_errors(workload), row_errors(matrix, workload), rtol=1e-9
            )


def test_blocks_of_columns():
    """More steps than are solved for at a time."""
    toeplitz = strategies.bsr(600, 5)
    full = strategies.from_matrix(toeplitz.to_matrix())
    for workload in (None, strategies.momentum(600, decay=0.9)):
        np.testing.assert_allclose(
            full.squared_errors(workload), toeplitz.squared_errors(workload), rtol=1e-10
        )


@pytest.mark.parametrize("strategy", [strategies.bsr(9, 4), strategies.bisr(9, 3)], ids=repr)
def test_numbers_of_the_same_toeplitz_strategy(strategy):
    """The same matrix has the same numbers, whichever way it is kept."""
    full = strategies.from_matrix(strategy.to_matrix())
    assert full.bands == strategy.bands
    assert full.coefficients is None
    assert full.inverse_coefficients is None
    assert full.mean_squared_error() == pytest.approx(strategy.mean_squared_error(), rel=1e-13)
    for separation in (1, 2, 5):
        assert full.sensitivity(separation=separation) == pytest.approx(
            strategy.sensitivity(separation=separation), rel=1e-13
        )


def test_the_inverse_of_a_banded_inverse_is_banded():
    """Here without any rounding."""
    inverse = np.eye(5) - 0.5 * np.eye(5, k=-1)
    strategy = strategies.from_matrix(np.linalg.inv(inverse))
    assert (strategy.bands, strategy.inverse_bands) == (5, 2)


def test_a_matrix_is_a_value():
    """It keeps a copy, gives copies, compares by entries and can be pickled."""
    given = np.array([[1.0, 0.0], [0.5, 2.0]])
    strategy = strategies.from_matrix(given)
    given[1, 0] = 7.0
    strategy.to_matrix()[1, 0] = 7.0
    same = strategies.from_matrix([[1, 0], [0.5, 2]])
    assert strategy == same
    assert hash(strategy) == hash(same)
    assert strategy != strategies.from_matrix(given)
    assert pickle.loads(pickle.dumps(strategy)) == strategy
    with pytest.raises(ValueError, match="read-only"):
        strategy.column_norms[0] = 3.0


def test_description():
    """The name and the bandwidth."""
    strategy = strategies.from_matrix([[1, 0, 0], [1, 1, 0], [0, 0, 1]])
    assert strategy.describe() == {"factorization": "matrix", "bands": 2}
