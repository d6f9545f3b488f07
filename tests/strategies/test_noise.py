"""The noise stream against the dense product C^-1 Z with the same Z."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from hockeystick import strategies
from in_one_test import in_one_test
from references.factorizations import drawn

N = 12
STRATEGIES = [
    strategies.identity(N),
    strategies.from_coefficients([2.0], N),
    strategies.bsr(N, 4),
    strategies.bsr(N, N),
    strategies.bisr(N, 2),
    strategies.bisr(N, 5),
    strategies.band_mf(N, 3),
    strategies.band_inv_mf(N, 3),
    strategies.blt(N, 1),
    strategies.blt(N, 3),
    strategies.from_matrix(strategies.bsr(N, 4).to_matrix() * np.arange(1, N + 1)),
    strategies.from_matrix(np.tril(np.ones((N, N)))),
]
every_strategy = pytest.mark.parametrize("strategy", STRATEGIES, ids=repr)


@in_one_test
@every_strategy
@pytest.mark.parametrize("dimension", [1, 7, 5000])
def test_double_precision(strategy, dimension):
    """Every row to rounding, for rows within one block of the sums and over several."""
    rows = np.stack(list(strategy.noise(dimension, scale=3.0, dtype=np.float64, rng=5)))
    product = 3.0 * np.linalg.inv(strategy.to_matrix()) @ drawn(5, (N, dimension))
    assert rows.shape == (N, dimension)
    assert rows.dtype == np.float64
    np.testing.assert_allclose(rows, product, rtol=0, atol=1e-13 * np.abs(product).max())


@in_one_test
@every_strategy
@pytest.mark.parametrize(("dtype", "rounding"), [(np.float32, 2e-6), (np.float16, 2e-3)])
def test_lower_precision(strategy, dtype, rounding):
    """Single precision is computed in single, half precision is rounded from it."""
    rows = np.stack(list(strategy.noise(50, scale=0.5, dtype=dtype, rng=8)))
    z = drawn(8, (N, 50), np.float32).astype(np.float64)
    product = 0.5 * np.linalg.inv(strategy.to_matrix()) @ z
    assert rows.dtype == dtype
    np.testing.assert_allclose(rows, product, rtol=0, atol=rounding * np.abs(product).max())


def test_half_precision_is_single_precision_rounded():
    """Past rows are remembered before they are rounded."""
    strategy = strategies.bsr(N, 6)
    half = np.stack(list(strategy.noise(30, dtype=np.float16, rng=8)))
    single = np.stack(list(strategy.noise(30, dtype=np.float32, rng=8)))
    np.testing.assert_array_equal(half, single.astype(np.float16))


@in_one_test
@every_strategy
def test_rows_end_with_the_run(strategy):
    """One row for each step, then none, however often it is asked."""
    stream = strategy.noise(2, rng=1)
    assert len(list(stream)) == strategy.steps
    assert next(stream, None) is None
    assert next(stream, None) is None
    assert iter(stream) is stream


@pytest.mark.parametrize("dimension", [(3, 4), (2, 3, 2), (12,)])
def test_shapes(dimension):
    """The same numbers as those of a flat row."""
    strategy = strategies.blt(6, 2)
    flat = list(strategy.noise(12, rng=4))
    for row, expected in zip(strategy.noise(dimension, rng=4), flat, strict=True):
        assert row.shape == dimension
        np.testing.assert_array_equal(row.ravel(), expected)


@in_one_test
@every_strategy
def test_a_row_belongs_to_the_caller(strategy):
    """Overwriting a row changes none of the later ones."""
    expected = list(strategy.noise(4, rng=3))
    for row, kept in zip(strategy.noise(4, rng=3), expected, strict=True):
        np.testing.assert_array_equal(row, kept)
        row[:] = np.nan


def test_default_streams_differ():
    """No number appears in two of ten streams."""
    rows = [next(strategies.bsr(5, 2).noise(20, dtype=np.float64)) for _ in range(10)]
    assert len(np.unique(rows)) == 200


def test_no_noise_is_repeated():
    """Independent noise has as many different entries as it has entries."""
    rows = np.stack(list(strategies.identity(50).noise(200, dtype=np.float64, rng=2)))
    assert len(np.unique(rows)) == rows.size


def test_the_plan_draws_the_same_noise():
    """`Plan.noise` is its strategy's."""
    import hockeystick as hs

    strategy = strategies.bsr(8, 3)
    plan = hs.Plan(sampling=hs.Poisson(rate=0.1), steps=8, strategy=strategy)
    for row, same in zip(
        plan.noise(3, scale=2.0, rng=1), strategy.noise(3, scale=2.0, rng=1), strict=True
    ):
        np.testing.assert_array_equal(row, same)


@pytest.mark.parametrize(
    ("strategy", "rows"),
    [
        (strategies.bsr(40, 16), 16),
        (strategies.bisr(40, 16), 16),
        (strategies.blt(40, 4), 6),
    ],
    ids=repr,
)
def test_memory(strategy, rows):
    """At most 1.2 times bands single-precision rows; for BLT the buffers, the row and the last."""
    size = 200_000
    list(strategy.noise(size, rng=1))  # compiled before memory is measured
    tracemalloc.start()
    try:
        for _ in strategy.noise(size, rng=1):
            pass
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak <= 1.2 * rows * size * 4
