"""Sums of exponentials: their optimum, their coefficients, their limit."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from hockeystick import strategies
from references.factorizations import dense, error_times_sensitivity


def product(strategy, error="mean", **participation):
    """Squared error times squared sensitivity."""
    squared = {"mean": strategy.mean_squared_error, "max": strategy.max_squared_error}
    length = strategy.sensitivity(**(participation or {"participations": 1}))
    return squared[error]() * length**2


@pytest.mark.parametrize("buffers", [1, 2, 4])
def test_coefficients_are_sums_of_exponentials(buffers):
    """c_k = sum_i w_i r_i^(k-1) over the parameters that the noise is made with."""
    strategy = strategies.blt(300, buffers)
    parts = strategy.recurrence
    powers = parts.decays[None, :] ** np.arange(299)[:, None]
    expected = parts.diagonal * np.concatenate(([1.0], powers @ parts.weights))
    np.testing.assert_allclose(strategy.coefficients, expected, rtol=1e-12)
    assert ((parts.decays > 0) & (parts.decays < 1)).all()
    assert (parts.weights > 0).all()


@pytest.mark.parametrize(("n", "buffers"), [(1, 1), (2, 1), (3, 3), (40, 2)])
def test_inverse(n, buffers):
    """The inverse's coefficients are those of the dense inverse; the largest column is 1."""
    strategy = strategies.blt(n, buffers)
    inverse = np.linalg.inv(strategy.to_matrix())
    np.testing.assert_allclose(strategy.inverse_matrix(), inverse, rtol=1e-9, atol=1e-13)
    assert strategy.column_norms.max() == pytest.approx(1.0, rel=1e-14)


@pytest.mark.parametrize("error", ["mean", "max"])
@pytest.mark.parametrize("n", [3, 12])
def test_no_single_exponential_is_better(n, error):
    """One buffer beats a grid over decay and weight, and is close to its best."""
    best = min(
        error_times_sensitivity(
            dense([1.0, *(w * r ** np.arange(n - 1))], n), np.ones(n), error, [0]
        )
        for r in np.linspace(0.01, 0.99, 50)
        for w in np.linspace(0.02, 1.2, 60)
    )
    reached = product(strategies.blt(n, 1, error=error), error)
    assert reached <= best * (1 + 1e-9)
    assert reached == pytest.approx(best, rel=2e-3)


@pytest.mark.slow
@pytest.mark.parametrize("error", ["mean", "max"])
@pytest.mark.parametrize(
    "participation",
    [
        {},
        pytest.param({"separation": 20}, marks=pytest.mark.long),
        {"separation": 10, "participations": 3},
    ],
)
def test_more_buffers_are_not_worse(error, participation):
    """Each buffer more leaves the choice to have it unused."""
    values = [
        product(strategies.blt(60, buffers, error=error, **participation), error, **participation)
        for buffers in (1, 2, 3, 4)
    ]
    for fewer, more in itertools.pairwise(values):
        assert more <= fewer * (1 + 1e-8)


@pytest.mark.parametrize("n", [20, 150])
def test_few_buffers_come_close_to_the_best_matrix(n):
    """Five buffers lie between the best Toeplitz matrix and 0.5 per cent above it."""
    best = product(strategies.band_mf(n, n // 2))
    dense_best = min(best, product(strategies.bsr(n, n)))
    assert product(strategies.blt(n, 5)) <= 1.005 * dense_best


def test_the_largest_error_can_be_minimised():
    """Optimising the largest error gives a smaller one than optimising the mean, and vice versa."""
    mean, largest = strategies.blt(100, 2), strategies.blt(100, 2, error="max")
    assert largest.max_squared_error() < mean.max_squared_error()
    assert mean.mean_squared_error() < largest.mean_squared_error()


@pytest.mark.slow
@pytest.mark.parametrize("error", ["mean", pytest.param("max", marks=pytest.mark.long)])
def test_long_runs(error):
    """A hundred thousand steps, better than the square root with sixteen bands."""
    root = strategies.bsr(100_000, 16)
    assert product(strategies.blt(100_000, 2, error=error), error) < product(root, error)


@pytest.mark.slow
def test_the_search_does_not_overflow():
    """Settings where the best weights are far apart."""
    given = {"error": "max", "separation": 2}
    few, many = (strategies.blt(200, buffers, **given) for buffers in (5, 6))
    assert product(many, "max", separation=2) <= product(few, "max", separation=2) * (1 + 1e-8)


def test_description():
    """Buffers are called buffers."""
    assert strategies.blt(9, 2).describe() == {"factorization": "blt", "buffers": 2}
