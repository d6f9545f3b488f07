"""The law of the noise: its empirical covariance, for each way to compute it."""

from __future__ import annotations

import numpy as np
import pytest

from hockeystick import strategies
from hockeystick.strategies.recurrence import (
    AutoregressiveRecurrence,
    BufferedRecurrence,
    MovingAverageRecurrence,
    RowByRowRecurrence,
)
from in_one_test import in_one_test

N, COLUMNS = 8, 60_000
CASES = [
    (strategies.bsr(N, 3), AutoregressiveRecurrence),
    (strategies.band_mf(N, 4), AutoregressiveRecurrence),
    (strategies.bisr(N, 3), MovingAverageRecurrence),
    (strategies.band_inv_mf(N, 3), MovingAverageRecurrence),
    (strategies.blt(N, 2), BufferedRecurrence),
    (
        strategies.from_matrix(strategies.bsr(N, 4).to_matrix() + np.diag(np.arange(N))),
        RowByRowRecurrence,
    ),
]


@in_one_test
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("strategy", "recurrence"), CASES, ids=str)
def test_covariance(strategy, recurrence, dtype):
    """It is scale^2 C^-1 C^-T, each entry within five standard errors of 60,000 columns."""
    assert isinstance(strategy.recurrence, recurrence)
    rows = np.stack(list(strategy.noise(COLUMNS, scale=1.5, dtype=dtype, rng=11)))
    rows = rows.astype(np.float64)
    inverse = 1.5 * np.linalg.inv(strategy.to_matrix())
    expected = inverse @ inverse.T
    variances = np.diagonal(expected)
    spread = np.sqrt((np.outer(variances, variances) + expected**2) / COLUMNS)
    assert (np.abs(rows @ rows.T / COLUMNS - expected) <= 5 * spread).all()
    assert (np.abs(rows.mean(axis=1)) <= 5 * np.sqrt(variances / COLUMNS)).all()


@pytest.mark.parametrize(("strategy", "recurrence"), CASES, ids=str)
def test_whitened(strategy, recurrence):
    """C applied to the noise is independent standard noise: fourth moments are 3."""
    rows = np.stack(list(strategy.noise(COLUMNS, dtype=np.float64, rng=12)))
    z = strategy.to_matrix() @ rows
    # The fourth power of a standard normal variable has variance 96.
    assert (np.abs((z**4).mean(axis=1) - 3) <= 5 * np.sqrt(96 / COLUMNS)).all()
    neighbours = (rows[:, 1:] * rows[:, :-1]).mean(axis=1)
    variances = (np.linalg.inv(strategy.to_matrix()) ** 2).sum(axis=1)
    assert (np.abs(neighbours) <= 5 * variances / np.sqrt(COLUMNS - 1)).all()
