"""The optimal banded Toeplitz strategy: published numbers, generic optimisers, neighbours."""

from __future__ import annotations

import numpy as np
import pytest

from hockeystick import strategies
from hockeystick.strategies.band_mf import _objective
from hockeystick.strategies.workloads import error_weights, weighted_squares
from in_one_test import in_one_test
from references.factorizations import dense, error_times_sensitivity, generic_minimum

GOLDEN = {2: 504.2337, 4: 257.0400, 8: 134.0954, 16: 72.8399, 32: 42.0246, 64: 26.2678}


def error_of(strategy, error, workload=None):
    """The error that was optimised."""
    squared = {"mean": strategy.mean_squared_error, "max": strategy.max_squared_error}
    return squared[error](workload)


@pytest.mark.parametrize("bands", GOLDEN)
def test_published_errors(bands):
    """Mean squared error for 2000 steps at unit column norm."""
    strategy = strategies.band_mf(2000, bands)
    assert strategy.mean_squared_error() == pytest.approx(GOLDEN[bands], rel=1e-5)
    assert strategy.column_norms.max() == pytest.approx(1.0, rel=1e-14)
    assert strategy.bands == bands


@in_one_test
@pytest.mark.parametrize("error", ["mean", "max"])
@pytest.mark.parametrize("decay", [0.0, 0.5, 0.9])
@pytest.mark.parametrize(("n", "bands"), [(2, 2), (3, 2), (5, 3), (6, 4), (5, 5)])
def test_a_generic_optimiser_finds_nothing_better(n, bands, decay, error):
    """Over all non-negative coefficients, with dense inverses and numerical gradients."""
    workload = strategies.momentum(n, decay=decay)
    strategy = strategies.band_mf(n, bands, error=error, workload=workload)

    def value(tail):
        return error_times_sensitivity(dense([1.0, *tail], n), workload, error, [0])

    best = generic_minimum(value, bands - 1, seed=n)
    assert error_of(strategy, error, workload) == pytest.approx(best, rel=1e-6)


@pytest.mark.parametrize("error", ["mean", "max"])
@pytest.mark.parametrize(("n", "bands"), [(100_000, 2), (20_000, 4)])
def test_long_runs(n, bands, error):
    """The objective is flat at the answer, and it is better than its neighbours."""
    strategy = strategies.band_mf(n, bands, error=error)
    c = strategy.coefficients
    value, gradient = _objective(c, np.ones(n), weighted_squares(error_weights(error, n)))
    # Steps of one part in a thousand in any coefficient change the value much less.
    assert np.abs(gradient * c).max() <= 1e-4 * value
    for k in range(1, bands):
        for factor in (0.999, 1.001):
            moved = c.copy()
            moved[k] *= factor
            assert (
                _objective(moved, np.ones(n), weighted_squares(error_weights(error, n)))[0] > value
            )


def test_the_objective_is_the_error_at_unit_norm():
    """What is minimised is what is reported afterwards."""
    for error in ("mean", "max"):
        strategy = strategies.band_mf(50, 4, error=error)
        value, _ = _objective(
            strategy.coefficients, np.ones(50), weighted_squares(error_weights(error, 50))
        )
        assert error_of(strategy, error) == pytest.approx(value, rel=1e-12)


@pytest.mark.parametrize("error", ["mean", "max"])
def test_more_bands_are_not_worse(error):
    """The search space grows with the bands; one band is the identity."""
    errors = [
        error_of(strategies.band_mf(60, bands, error=error), error) for bands in (1, 2, 3, 5, 8, 20)
    ]
    assert errors == sorted(errors, reverse=True)
    assert errors[0] == error_of(strategies.identity(60), error)


@pytest.mark.parametrize("bands", [2, 16, 40])
def test_it_beats_the_square_root(bands):
    """At unit column norm the error is below that of the banded square root."""
    root = strategies.bsr(200, bands)
    rooted = root.mean_squared_error() * root.column_norms.max() ** 2
    assert strategies.band_mf(200, bands).mean_squared_error() < rooted


def test_coefficients_are_positive_and_do_not_increase():
    """The two properties that the docstring states."""
    for error in ("mean", "max"):
        coefficients = strategies.band_mf(300, 20, error=error).coefficients
        assert (coefficients > 0).all()
        assert (np.diff(coefficients) <= 0).all()


def test_smallest_runs():
    """One step, one band, and as many bands as steps."""
    assert strategies.band_mf(1, 1).coefficients.tolist() == [1.0]
    assert strategies.band_mf(7, 1) == strategies.identity(7)
    assert strategies.band_mf(7, 7).bands == 7
