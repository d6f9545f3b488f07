"""Shares of the noise among blocks whose columns meet."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import minimize

from hockeystick import strategies
from hockeystick.analyses.poisson_reduction import shared_length


def longest_step(logits, c, size):
    """The longest step with the shares that belong to the logits, rows of the run alike."""
    rows = size + c.size - 1
    blocks = -(-rows // size)
    by_row = np.full(blocks * size, -np.inf)
    by_row[:rows] = logits
    by_row = by_row.reshape(blocks, size)
    shares = np.exp(by_row - by_row.max(axis=0))
    shares = (shares / shares.sum(axis=0)).ravel()
    return max(float((c**2 / shares[i : i + c.size]).sum()) for i in range(size))


@pytest.mark.parametrize("bands", [1, 2, 7, 16])
def test_single_steps(bands):
    """Shares in proportion to the coefficients: their sum."""
    c = strategies.bsr(20, bands=bands).coefficients
    assert shared_length(c, 1) == pytest.approx(c.sum(), rel=1e-12)


@pytest.mark.parametrize(("bands", "size"), [(2, 2), (3, 2), (4, 4), (5, 3), (3, 6)])
def test_no_shares_are_better(bands, size):
    """A general search from several starts finds nothing shorter, and ends nearby."""
    c = strategies.bsr(20, bands=bands).coefficients
    found = shared_length(c, size) ** 2
    rng = np.random.default_rng(bands)
    results = [
        minimize(
            longest_step,
            rng.normal(size=size + bands - 1),
            args=(c, size),
            method="Nelder-Mead",
            options={"maxiter": 6000, "maxfev": 6000, "xatol": 1e-7, "fatol": 1e-9},
        ).fun
        for _ in range(3)
    ]
    assert found <= min(results) * (1 + 1e-3)
    assert found >= min(results) * (1 - 2e-2)


@pytest.mark.parametrize(("bands", "size"), [(4, 3), (16, 4), (16, 16), (8, 40)])
def test_between_one_column_and_equal_shares(bands, size):
    """Not shorter than a column on its own, and not longer than with equal shares."""
    c = strategies.band_mf(50, bands=bands).coefficients
    classes = 1 + math.ceil((bands - 1) / size)
    alone = np.linalg.norm(c)
    assert alone < shared_length(c, size) <= math.sqrt(classes) * alone


def test_longer_blocks_have_shorter_columns():
    """The longer the blocks, the fewer of them meet in a row."""
    c = strategies.bsr(200, bands=32).coefficients
    lengths = [shared_length(c, size) for size in (1, 2, 4, 8, 16, 32, 64)]
    assert lengths == sorted(lengths, reverse=True)


def test_coefficients_that_are_zero():
    """Rows that nobody uses take no share and do no harm."""
    assert shared_length(np.array([1.0, 0.0, 0.0, 1.0]), 3) == pytest.approx(
        math.sqrt(2 + 2), rel=0.3
    )
    assert math.isfinite(shared_length(np.array([1.0, 0.0, 1e-160]), 2))
