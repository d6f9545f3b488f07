"""Learning rates that change: errors and gradients against dense matrices."""

from __future__ import annotations

import numpy as np
import pytest

from hockeystick import strategies
from hockeystick.errors import InvalidParameter
from hockeystick.strategies.band_inv_mf import _objective as inverse_objective
from hockeystick.strategies.band_mf import _objective as banded_objective
from hockeystick.strategies.blt import _objective as buffered_objective
from hockeystick.strategies.blt import _start
from hockeystick.strategies.iterates import OPTIMISED_COLUMNS
from hockeystick.strategies.workloads import as_workload
from in_one_test import in_one_test
from references.factorizations import dense

N = 11
RATES = [0.5, 1.0, 0.9, 0.7, 0.0, 0.6, 0.4, 0.3, 0.3, 0.2, 0.1]
SCHEDULES = pytest.mark.parametrize("rates", ["cosine", "linear", RATES], ids=str)
DECAYS = pytest.mark.parametrize("decay", [0.0, 0.9])
STRATEGIES = [
    strategies.identity(N),
    strategies.bsr(N, 3),
    strategies.bisr(N, 3),
    strategies.blt(N, 2),
    strategies.from_matrix(strategies.bsr(N, 4).to_matrix() * np.arange(1, N + 1)),
]


def dense_workload(rates, decay, n=N):
    """L diag(rates) M as matrices."""
    eta = strategies.learning_rates(rates, steps=n)
    return np.tril(np.ones((n, n))) @ np.diag(eta) @ dense(decay ** np.arange(n), n)


@SCHEDULES
@DECAYS
def test_the_workload_is_what_the_optimizer_applies(rates, decay):
    """PyTorch's SGD: the velocity is filtered first, then multiplied with the learning rate."""
    gradients = np.random.default_rng(2).standard_normal(N)
    velocity = position = 0.0
    positions = []
    eta = strategies.learning_rates(rates, steps=N)
    for rate, gradient in zip(eta, gradients, strict=True):
        velocity = decay * velocity + gradient
        position += rate * velocity
        positions.append(position)
    np.testing.assert_allclose(dense_workload(rates, decay) @ gradients, positions, rtol=1e-12)


@in_one_test
@SCHEDULES
@DECAYS
@pytest.mark.parametrize("strategy", STRATEGIES, ids=repr)
def test_errors_against_dense_matrices(strategy, rates, decay):
    """Squared rows of A C^-1, for Toeplitz matrices and for any other."""
    workload = strategies.iterates(N, momentum=decay, learning_rates=rates)
    product = dense_workload(rates, decay) @ np.linalg.inv(strategy.to_matrix())
    rows = (product**2).sum(axis=1)
    np.testing.assert_allclose(strategy.squared_errors(workload), rows, rtol=1e-10)
    assert strategy.mean_squared_error(workload) == pytest.approx(rows.mean(), rel=1e-10)


def test_matrices_in_several_blocks():
    """Rows of A are made 256 at a time, each block from the last row of the one before."""
    n = 600
    strategy = strategies.bsr(n, 4)
    workload = strategies.iterates(n, momentum=0.5, learning_rates="cosine")
    full = strategies.from_matrix(strategy.to_matrix())
    np.testing.assert_allclose(
        full.squared_errors(workload), strategy.squared_errors(workload), rtol=1e-9
    )


def gradient_error(function, x):
    """The largest difference from central differences, relative to the largest slope."""
    value, gradient = function(x)
    slopes = []
    for k in range(x.size):
        step = np.zeros(x.size)
        step[k] = 1e-5
        slopes.append((function(x + step)[0] - function(x - step)[0]) / 2e-5)
    return np.abs(gradient - slopes).max() / max(np.abs(slopes).max(), value)


@SCHEDULES
@DECAYS
def test_gradients(rates, decay):
    """Of all three optimised strategies; the value is the error of dense matrices."""
    workload = as_workload(strategies.iterates(N, momentum=decay, learning_rates=rates), N)
    given = {"target": workload.target, "measure": workload.measure("mean")}
    pattern = np.eye(N)[0]
    c = np.array([1.0, 0.7, 0.4, 0.3])
    assert gradient_error(lambda x: banded_objective(x, *given.values()), c) < 1e-7
    d = np.array([1.0, -0.4, -0.2])
    separate = {**given, "pattern": pattern, "separation": N}
    assert gradient_error(lambda x: inverse_objective(x, **separate), d) < 1e-7
    x = _start(N, 2, (0.3, 3.0))
    assert gradient_error(lambda y: buffered_objective(y, **given, pattern=pattern), x) < 1e-7
    product = dense_workload(rates, decay) @ np.linalg.inv(dense(c, N))
    expected = (product**2).sum() / N * (c @ c)
    largest = strategies.learning_rates(rates, steps=N).max()
    value = banded_objective(c, *given.values())[0]
    assert value == pytest.approx(expected / largest**2, rel=1e-12)


@pytest.mark.parametrize("steps", [OPTIMISED_COLUMNS - 1, 5 * OPTIMISED_COLUMNS + 3])
@pytest.mark.parametrize("schedule", ["cosine", "linear"])
def test_few_columns_are_close_to_all(steps, schedule):
    """Exact up to 256 steps, and within a thousandth beyond."""
    workload = as_workload(strategies.iterates(steps, momentum=0.9, learning_rates=schedule), steps)
    strategy = strategies.bsr(steps, 8)
    g = np.convolve(workload.target, strategy.inverse_coefficients)[:steps]
    exact = workload.squared_rows(g).mean()
    tolerance = 1e-12 if steps < OPTIMISED_COLUMNS else 1e-3
    assert workload.measure("mean")(g)[0] == pytest.approx(exact, rel=tolerance)


@pytest.mark.parametrize(
    "made",
    [
        lambda **given: strategies.band_mf(60, 4, **given),
        lambda **given: strategies.band_inv_mf(60, 4, **given),
        lambda **given: strategies.blt(60, 2, **given),
    ],
)
def test_what_is_optimised_for_a_schedule_is_better_for_it(made):
    """And worse for prefix sums; its largest column has length 1."""
    workload = strategies.iterates(60, momentum=0.9, learning_rates="cosine")
    tuned, plain = made(workload=workload), made()
    assert tuned.mean_squared_error(workload) < 0.999 * plain.mean_squared_error(workload)
    assert tuned.mean_squared_error() > 1.001 * plain.mean_squared_error()
    assert tuned.column_norms.max() == pytest.approx(1.0, rel=1e-12)
    assert tuned.parameters["workload"] == "given"


def test_constant_rates_are_momentum():
    """By name, by default and as ones; another constant only scales the error."""
    expected = strategies.momentum(5, decay=0.8)
    for rates in (None, "constant", np.ones(5)):
        found = strategies.iterates(5, momentum=0.8, learning_rates=rates)
        np.testing.assert_array_equal(found, expected)
    tenth = strategies.iterates(5, momentum=0.8, learning_rates=np.full(5, 0.1))
    strategy = strategies.bsr(5, 2)
    error = strategy.mean_squared_error(tenth)
    assert error == pytest.approx(0.01 * strategy.mean_squared_error(expected), rel=1e-12)


@pytest.mark.parametrize(
    "rates", ["square", [1.0], [1.0, -1.0], [0.0, 0.0], [1.0, np.nan], [np.inf, 1.0], [[1.0, 1.0]]]
)
def test_impossible_rates_are_refused(rates):
    """Unknown names, another number of them, negative, none, infinite."""
    with pytest.raises(InvalidParameter, match="learning_rates must be"):
        strategies.iterates(2, learning_rates=rates)


def test_what_is_not_offered():
    """The largest error, more steps than are sensible, a workload for other steps."""
    workload = strategies.iterates(4, learning_rates="linear")
    with pytest.raises(InvalidParameter, match="error must be 'mean'"):
        strategies.band_mf(4, 2, error="max", workload=workload)
    with pytest.raises(InvalidParameter, match="steps must be at most"):
        strategies.iterates(200_000, learning_rates="linear")
    with pytest.raises(InvalidParameter, match="one for 5 steps"):
        strategies.band_mf(5, 2, workload=workload)
    with pytest.raises(InvalidParameter, match="momentum must be in"):
        strategies.iterates(4, momentum=1.0)
