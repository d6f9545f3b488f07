"""Inner products with the columns of a strategy: the quick ways against matrices."""

from __future__ import annotations

import numpy as np
import pytest

import hockeystick as hs
from hockeystick import strategies
from hockeystick.schemes.simulation.columns import (
    MOST_DENSE_STEPS,
    Trajectories,
    columns_of,
    too_long,
)
from hockeystick.schemes.simulation.draw_kernels import fill_normal
from references.participating_plans import banded_matrix

STRATEGIES = {
    "identity": strategies.identity(13),
    "few bands": strategies.bsr(13, bands=4),
    "more taps than one pass": strategies.bsr(40, bands=11),
    "all bands": strategies.bsr(13, bands=13),
    "matrix": banded_matrix(13, 4),
}


def plan_of(strategy, scheme=None):
    """A plan whose scheme does not matter."""
    scheme = scheme or hs.Poisson(rate=0.1)
    return hs.Plan(sampling=scheme, steps=strategy.steps, strategy=strategy)


@pytest.fixture(params=STRATEGIES, name="case")
def a_case(request):
    """Columns and the matrix they come from."""
    strategy = STRATEGIES[request.param]
    return columns_of(plan_of(strategy)), strategy.to_matrix()


def test_lengths_and_products(case):
    """Also of columns that the end of the run cuts."""
    columns, matrix = case
    gram = matrix.T @ matrix
    np.testing.assert_allclose(columns.squared_norms, np.diagonal(gram), rtol=1e-13)
    weights = np.random.default_rng(1).random(matrix.shape[0])
    np.testing.assert_allclose(columns.products(weights), gram @ weights, rtol=1e-12)


def test_noise_is_standard_noise_times_the_matrix(case):
    """From the same random numbers."""
    columns, matrix = case
    noise, z = np.empty((2, 30, matrix.shape[0]))
    columns.noise(np.random.default_rng(2), noise)
    fill_normal(np.random.default_rng(2), z)
    np.testing.assert_allclose(noise, z @ matrix, rtol=1e-11, atol=1e-13)


def test_signal_is_the_gram_matrix_times_participations(case):
    """With copies, in the first and last steps too, and for nobody."""
    columns, matrix = case
    steps = matrix.shape[0]
    where = np.array([[0, 5, steps - 1], [3, 9, 0], [0, 0, 0]])
    times = np.array([[1, 2, 3], [1, 1, 7], [1, 1, 1]])
    number = np.array([3, 2, 0])
    x = np.zeros((3, steps))
    for row in range(3):
        for n in range(number[row]):
            x[row, where[row, n]] = times[row, n]
    found = np.empty((3, steps))
    columns.signal(Trajectories(where, times, number), found)
    np.testing.assert_allclose(found, x @ matrix.T @ matrix, rtol=1e-12)


@pytest.mark.parametrize("separation", [1, 2, 3, 5, 12])
def test_overlaps_bound_every_set_of_later_participations(case, separation):
    """And are reached where at most one later participation can overlap."""
    columns, matrix = case
    gram = matrix.T @ matrix
    steps = matrix.shape[0]
    found = columns.overlaps(separation)
    rng = np.random.default_rng(4)
    for i in range(steps):
        for _ in range(20):
            at, total = i, 0.0
            while True:
                at += separation + int(rng.integers(0, separation + 1))
                if at >= steps:
                    break
                total += gram[i, at]
            assert total <= found[i] * (1 + 1e-12)
        reach = gram[i, i + separation : i + 2 * separation].max(initial=0.0)
        if not gram[i, i + 2 * separation :].any():
            assert found[i] == pytest.approx(reach, rel=1e-12)


def test_long_matrices_are_refused():
    """But not Toeplitz strategies with few bands."""
    long = MOST_DENSE_STEPS + 1
    assert too_long(plan_of(strategies.bsr(long, bands=300))) is not None
    assert too_long(plan_of(strategies.bsr(long, bands=16))) is None
    assert too_long(plan_of(strategies.bsr(MOST_DENSE_STEPS, bands=300))) is None
    with pytest.raises(hs.errors.UnsupportedPlan, match=f"{MOST_DENSE_STEPS:,} steps"):
        hs.estimate_delta(
            plan_of(strategies.bsr(long, bands=300)), noise_multiplier=1.0, epsilon=1.0
        )


@pytest.mark.parametrize(
    ("steps", "bands", "simulated"),
    [
        (1_000_000, 1, True),
        (1_000_001, 1, False),
        (100_000, 200, True),
        (100_001, 200, False),
        (10**9, 1, False),
    ],
)
def test_runs_that_are_too_long(steps, bands, simulated):
    """Memory is bounded in the steps as well, so that nothing is begun that cannot end."""
    strategy = None if bands == 1 else hs.strategies.bsr(steps, bands=bands)
    plan = hs.Plan(sampling=hs.MinSep(rate=1e-6, separation=bands), steps=steps, strategy=strategy)
    assert ("monte-carlo" in hs.methods(plan)) is simulated
