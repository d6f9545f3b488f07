"""Mean and largest squared errors of prefix sums, momentum and other workloads."""

from __future__ import annotations

import numpy as np
import pytest

from hockeystick import strategies
from in_one_test import in_one_test
from references.factorizations import row_errors

N = 9
STRATEGIES = [
    strategies.identity(N),
    strategies.bsr(N, 3),
    strategies.bsr(N, N),
    strategies.bisr(N, 3),
    strategies.band_mf(N, 3),
    strategies.band_inv_mf(N, 3),
    strategies.blt(N, 2),
    strategies.from_coefficients([2.0, 0.0, 3.0], N),
    strategies.from_matrix(strategies.bsr(N, 4).to_matrix() * np.arange(1, N + 1)),
]
WORKLOADS = {
    "prefix sums": np.ones(N),
    "momentum": strategies.momentum(N, decay=0.9),
    "single steps": [1.0],
    "differences": [1.0, -1.0],
    "window": [1.0, 1.0, 1.0],
}


@in_one_test
@pytest.mark.parametrize("workload", WORKLOADS.values(), ids=WORKLOADS)
@pytest.mark.parametrize("strategy", STRATEGIES, ids=repr)
def test_against_dense_matrices(strategy, workload):
    """Rows of A C^-1 by a general inverse."""
    rows = row_errors(strategy.to_matrix(), workload)
    np.testing.assert_allclose(strategy.squared_errors(workload), rows, rtol=1e-11)
    assert strategy.mean_squared_error(workload) == pytest.approx(rows.mean(), rel=1e-11)
    assert strategy.max_squared_error(workload) == pytest.approx(rows.max(), rel=1e-11)


@in_one_test
@pytest.mark.parametrize("strategy", STRATEGIES, ids=repr)
def test_prefix_sums_are_the_default(strategy):
    """Without a workload, with None and with ones."""
    ones = strategies.prefix_sums(N)
    assert strategy.mean_squared_error() == strategy.mean_squared_error(ones)
    assert strategy.max_squared_error(None) == strategy.max_squared_error(ones)


def test_independent_noise():
    """(n + 1) / 2 on average, n at most."""
    strategy = strategies.identity(2000)
    assert strategy.mean_squared_error() == pytest.approx(1000.5, rel=1e-14)
    assert strategy.max_squared_error() == pytest.approx(2000, rel=1e-14)


def test_momentum_is_what_the_optimiser_applies():
    """Iterates of gradient descent with momentum are the workload times the gradients."""
    gradients = np.random.default_rng(2).standard_normal(N)
    velocity = position = 0.0
    positions = []
    for gradient in gradients:
        velocity = 0.7 * velocity + gradient
        position += velocity
        positions.append(position)
    workload = strategies.momentum(N, decay=0.7)
    np.testing.assert_allclose(np.convolve(workload, gradients)[:N], positions, rtol=1e-12)


def test_momentum_without_decay_is_prefix_sums():
    """Nothing is carried over."""
    np.testing.assert_array_equal(strategies.momentum(5, decay=0.0), strategies.prefix_sums(5))


@pytest.mark.parametrize("bands", [4, 600, 1500])
def test_long_runs(bands):
    """Directly and by FFT, against the recursion itself."""
    strategy = strategies.from_coefficients(np.linspace(1.0, 0.2, bands), 3000)
    c, b = strategy.coefficients, np.zeros(3000)
    for t in range(3000):
        past = b[max(0, t - bands + 1) : t][::-1]
        b[t] = (1.0 - c[1 : past.size + 1] @ past) / c[0]
    np.testing.assert_allclose(strategy.squared_errors(), np.cumsum(b**2), rtol=1e-11)
