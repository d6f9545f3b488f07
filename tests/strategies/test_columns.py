"""Sums of columns a fixed number of steps apart, and their Gram matrix, against dense matrices."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hockeystick import strategies
from hockeystick.strategies.columns import (
    summed_columns,
    toeplitz_gram,
    toeplitz_summed_columns,
)
from hypothesis_strategies import quick
from in_one_test import in_one_test


def toeplitz(c, steps):
    """The lower-triangular Toeplitz matrix with these coefficients."""
    matrix = np.zeros((steps, steps))
    for lag, value in enumerate(c[:steps]):
        matrix += value * np.eye(steps, k=-lag)
    return matrix


def one_by_one(matrix, spacing):
    """Column i: the sum of the columns i, i + spacing, ..., as long as there are any."""
    steps = len(matrix)
    columns = [
        sum(matrix[:, j] for j in range(i, steps, spacing)) for i in range(min(spacing, steps))
    ]
    return np.stack(columns, axis=1)


def coefficients(seed, bands):
    """Positive first, others of very different sizes, some zero."""
    rng = np.random.default_rng(seed)
    c = rng.random(bands) ** 4 * (rng.random(bands) > 0.2)
    c[0] = 0.1 + rng.random()
    return c


shapes = st.tuples(st.integers(1, 30), st.integers(1, 40), st.integers(1, 30), st.integers(0, 99))


@quick
@given(shape=shapes)
def test_toeplitz_equals_dense(shape):
    """Any steps, bins and bands: more bins than steps, incomplete epochs, bands beyond both."""
    assert_like_dense(*shape)


@in_one_test
@pytest.mark.parametrize(
    ("steps", "spacing", "bands"),
    [
        (12, 4, 2),
        (12, 4, 9),
        (13, 4, 3),
        (13, 4, 13),
        (7, 7, 3),
        (7, 6, 7),
        (5, 9, 2),
        (5, 9, 5),
        (5, 1, 3),
        (1, 1, 1),
        (1, 4, 1),
        (30, 10, 1),
        (31, 10, 11),
    ],
)
def test_toeplitz_at_the_corners(steps, spacing, bands):
    """The shapes where whole and incomplete epochs, bins and bands meet."""
    assert_like_dense(steps, spacing, bands, 0)


def assert_like_dense(steps, spacing, bands, seed):
    """Columns exactly, inner products up to floating point, zeros as zeros."""
    c = coefficients(seed, min(bands, steps))
    dense = one_by_one(toeplitz(c, steps), spacing)
    columns = toeplitz_summed_columns(c, steps, spacing)
    assert columns.shape == dense.shape == (steps, min(spacing, steps))
    assert columns == pytest.approx(dense, rel=1e-14)
    assert summed_columns(toeplitz(c, steps), spacing) == pytest.approx(dense, rel=1e-14)
    gram = toeplitz_gram(c, steps, spacing)
    wanted = dense.T @ dense
    assert gram == pytest.approx(wanted, rel=1e-13)
    assert np.array_equal(gram, gram.T)
    assert np.all(gram[wanted == 0] == 0)


@quick
@given(steps=st.integers(1, 20), spacing=st.integers(1, 25), seed=st.integers(0, 99))
def test_any_matrix(steps, spacing, seed):
    """Matrices that are not Toeplitz, through the strategy that holds them."""
    matrix = np.tril(np.random.default_rng(seed).random((steps, steps)) + 0.1)
    wanted = one_by_one(matrix, spacing)
    strategy = strategies.from_matrix(matrix)
    assert strategy.summed_columns(spacing=spacing) == pytest.approx(wanted, rel=1e-14)
    assert strategy.gram(spacing=spacing) == pytest.approx(wanted.T @ wanted, rel=1e-13)


@in_one_test
@pytest.mark.parametrize("name", ["identity", "bsr", "bisr", "band-mf", "band-inv-mf", "blt"])
@pytest.mark.parametrize(("steps", "spacing"), [(24, 8), (20, 8), (6, 8), (24, 24), (9, 1)])
def test_strategies(name, steps, spacing):
    """Every factorization answers as its matrix does."""
    options = {"identity": {}, "blt": {"buffers": 2}}.get(name, {"bands": 3})
    strategy = strategies.FACTORIZATIONS[name](steps, **options)
    wanted = one_by_one(strategy.to_matrix(), spacing)
    assert strategy.summed_columns(spacing=spacing) == pytest.approx(wanted, rel=1e-12)
    assert strategy.gram(spacing=spacing) == pytest.approx(wanted.T @ wanted, rel=1e-12)
