"""The optimal banded inverse: generic optimisers, the inverse square root, participations."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.optimize import minimize

from hockeystick import strategies
from in_one_test import in_one_test
from references.factorizations import dense, error_times_sensitivity, worst_length

# Steps, bands of the inverse, separation, participations.
PATTERNS = [
    (4, 3, 1, 2),
    (8, 4, 2, None),
    (8, 8, 3, 2),
    (16, 8, 5, 3),
    (50, 8, 12, 2),
    (50, 8, 12, None),
    (200, 16, 50, None),
    (200, 16, 5, 3),
    (500, 16, 25, 5),
    (2000, 16, 16, None),
]


def product(strategy, error, *, separation=1, participations=1, workload=None):
    """Squared error times squared sensitivity, which scaling does not change."""
    squared = {"mean": strategy.mean_squared_error, "max": strategy.max_squared_error}
    length = strategy.sensitivity(separation=separation, participations=participations)
    return squared[error](workload) * length**2


@in_one_test
@pytest.mark.parametrize("error", ["mean", "max"])
@pytest.mark.parametrize("decay", [0.0, 0.5])
@pytest.mark.parametrize(("n", "bands"), [(2, 2), (3, 2), (4, 3), (6, 3), (5, 5)])
def test_a_generic_optimiser_finds_nothing_better(n, bands, decay, error):
    """Over inverses 1 - a_1 z - ... with a_k >= 0 of sum at most 1, for one participation."""
    workload = strategies.momentum(n, decay=decay)
    strategy = strategies.band_inv_mf(n, bands, error=error, workload=workload)

    def value(a):
        return error_times_sensitivity(np.linalg.inv(dense([1.0, *-a], n)), workload, error, [0])

    rng = np.random.default_rng(n)
    found = [
        minimize(
            value,
            rng.dirichlet(np.ones(bands))[1:],
            method="SLSQP",
            bounds=[(0.0, 1.0)] * (bands - 1),
            constraints={"type": "ineq", "fun": lambda a: 1.0 - a.sum()},
            options={"ftol": 1e-14, "maxiter": 500},
        ).fun
        for _ in range(4)
    ]
    reached = product(strategy, error, workload=workload)
    assert reached <= min(found) * (1 + 1e-6)


@in_one_test
@pytest.mark.parametrize("error", ["mean", "max"])
@pytest.mark.parametrize(("n", "bands"), [(2, 2), (10, 3), (100, 5), (1000, 16)])
def test_not_worse_than_the_inverse_square_root(n, bands, error):
    """For one participation."""
    optimised = strategies.band_inv_mf(n, bands, error=error)
    assert product(optimised, error) <= product(strategies.bisr(n, bands), error) * (1 + 1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("error", ["mean", "max"])
@pytest.mark.parametrize(("n", "bands", "separation", "participations"), PATTERNS)
def test_not_worse_than_the_inverse_square_root_with_participations(
    n, bands, separation, participations, error
):
    """Squared error times squared sensitivity, for the participations it is made for."""
    given = {"separation": separation, "participations": participations}
    optimised = strategies.band_inv_mf(n, bands, error=error, **given)
    root = strategies.bisr(n, bands)
    assert product(optimised, error, **given) <= product(root, error, **given) * (1 + 1e-9)


@pytest.mark.parametrize(("separation", "participations"), [(2, 2), (3, None), (1, 2)])
def test_made_for_participations(separation, participations):
    """Better for its own participations than the one that is made for a single one."""
    given = {"separation": separation, "participations": participations}
    own = strategies.band_inv_mf(10, 3, **given)
    other = strategies.band_inv_mf(10, 3)
    assert product(own, "mean", **given) <= product(other, "mean", **given) * (1 + 1e-9)
    assert own.sensitivity(**given) >= worst_length(own.to_matrix(), **given) * (1 - 1e-12)


@pytest.mark.parametrize("error", ["mean", "max"])
def test_more_bands_are_not_worse(error):
    """The search space grows with the bands."""
    values = [
        product(strategies.band_inv_mf(100, bands, error=error), error)
        for bands in (1, 2, 3, 5, 8, 16)
    ]
    for fewer, more in itertools.pairwise(values):
        assert more <= fewer * (1 + 1e-9)


@pytest.mark.parametrize(("n", "bands"), [(1, 1), (5, 1), (5, 5), (200, 7)])
def test_shape(n, bands):
    """Largest column 1, a banded inverse, no negative entries, inverse of each other."""
    strategy = strategies.band_inv_mf(n, bands)
    assert strategy.column_norms.max() == pytest.approx(1.0, rel=1e-13)
    assert strategy.inverse_bands <= bands
    assert (strategy.coefficients >= 0).all()
    product_of_both = strategy.to_matrix() @ strategy.inverse_matrix()
    np.testing.assert_allclose(product_of_both, np.eye(n), atol=1e-13)


def test_description():
    """What is not the default is told."""
    strategy = strategies.band_inv_mf(20, 3, separation=5, error="max")
    assert strategy.describe() == {
        "factorization": "band-inv-mf",
        "bands": 3,
        "separation": 5,
        "error": "max",
    }
