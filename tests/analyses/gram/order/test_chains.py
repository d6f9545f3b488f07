"""Chains: the recursions have the covariances that they stand for."""

from __future__ import annotations

import numpy as np
import pytest

from hockeystick.analyses.gram.order.chains import (
    correlations,
    line,
    mirrored,
    mirrored_covariance,
    pinned_ring,
)

RHOS = [0.0, 1e-9, 0.1, 0.597, 0.95, 0.9999]


def recursion_covariance(chain):
    """Of B_1, ..., B_b, from B_(i+1) = pull_i B_i + fresh noise, one row and column at a time."""
    bins = chain.variance.size
    result = np.zeros((bins, bins))
    result[0, 0] = chain.variance[0]
    for i, (pull, fresh) in enumerate(zip(chain.pull, chain.fresh, strict=True)):
        result[i + 1, : i + 1] = result[: i + 1, i + 1] = pull * result[i, : i + 1]
        result[i + 1, i + 1] = pull**2 * result[i, i] + fresh
    return result


def distances(bins):
    """|i - j| for all pairs of bins."""
    i = np.arange(bins)
    return np.abs(i[:, None] - i)


@pytest.mark.parametrize("rho", RHOS)
@pytest.mark.parametrize("bins", [1, 2, 7, 60])
def test_line_has_geometric_correlations(rho, bins):
    """The covariance of the recursion is rho^|i-j|, and nothing enters from a start."""
    chain = line(rho, bins)
    expected = rho ** distances(bins).astype(float)
    np.testing.assert_allclose(recursion_covariance(chain), expected, rtol=1e-12)
    assert not chain.start.any()


@pytest.mark.parametrize("rho", RHOS)
@pytest.mark.parametrize("bins", [2, 3, 7, 60])
def test_pinned_ring_with_its_start_is_the_periodic_chain(rho, bins):
    """B plus start times a unit normal X_1 has the correlations of a ring."""
    chain = pinned_ring(rho, bins)
    covariance = recursion_covariance(chain) + np.outer(chain.start, chain.start)
    d = distances(bins)
    expected = (rho ** d.astype(float) + rho ** (bins - d).astype(float)) / (1 + rho**bins)
    np.testing.assert_allclose(covariance, expected, rtol=1e-11, atol=1e-15)
    np.testing.assert_allclose(np.diag(recursion_covariance(chain)), chain.variance, rtol=1e-11)
    assert chain.variance[0] == 0.0


@pytest.mark.parametrize("rho", [0.3, 0.9])
def test_periodic_chain_is_stationary_and_markov(rho):
    """The inverse of the ring's covariance links neighbours only, the two ends included."""
    bins = 8
    inverse = np.linalg.inv(correlations(rho, bins, ring=True)[distances(bins)])
    apart = np.minimum(distances(bins), bins - distances(bins))
    assert np.abs(inverse[apart > 1]).max() < 1e-12 * np.abs(inverse).max()
    assert np.abs(inverse[apart == 1]).min() > 0.1
    np.testing.assert_allclose(inverse[apart == 0], inverse[0, 0], rtol=1e-12)


@pytest.mark.parametrize("rho", [*RHOS, 1 - 1e-6, 1 - 1e-9, 1 - 1e-15])
@pytest.mark.parametrize("bins", [2, 3, 25])
@pytest.mark.parametrize("chain_of", [line, pinned_ring])
def test_pulls_and_starts_are_between_zero_and_one(rho, bins, chain_of):
    """Later terms are e^(cx) with 0 <= c <= 1, however close rho comes to 1; no variance is < 0."""
    chain = chain_of(rho, bins)
    for factors in (chain.pull, chain.start, chain.variance):
        assert factors.min() >= 0.0
        assert factors.max() <= 1.0 + 1e-15
    assert chain.fresh.min() >= 0.0


@pytest.mark.parametrize("rho", [0.2, 0.8])
def test_pull_of_the_ring_returns_to_the_start(rho):
    """With n steps left, one step multiplies the state by sinh((n-1) a) / sinh(n a), rho = e^-a."""
    bins = 12
    left = bins - np.arange(1, bins - 1)
    a = -np.log(rho)
    expected = np.sinh((left - 1) * a) / np.sinh(left * a)
    np.testing.assert_allclose(pinned_ring(rho, bins).pull[1:], expected, rtol=1e-11)


@pytest.mark.parametrize("rho", RHOS)
@pytest.mark.parametrize("bins", [1, 2, 7, 60])
def test_mirrors_dominate_the_periodic_chain(rho, bins):
    """By a square with both signs and by entries that are not negative, and no more in total."""
    i = np.arange(1, bins + 1)
    square = rho ** (i - 0.5) - rho ** (bins - i + 0.5)
    periodic = correlations(rho, bins, ring=True)[distances(bins)]
    above = mirrored_covariance(rho, bins) - periodic
    rest = above - np.outer(square, square) / (1 + rho**bins)
    assert rest.min() >= -1e-15
    assert above.sum() == pytest.approx(rho**bins * periodic.sum(), rel=1e-9, abs=1e-12 * bins)


@pytest.mark.parametrize("rho", [*RHOS, 1 - 1e-6])
@pytest.mark.parametrize("bins", [1, 2, 7, 60])
def test_the_chain_between_mirrors_is_a_recursion(rho, bins):
    """With the stated covariance, pulls from 0 to 1, and nothing from a start."""
    chain = mirrored(rho, bins)
    expected = mirrored_covariance(rho, bins)
    np.testing.assert_allclose(recursion_covariance(chain), expected, rtol=1e-9, atol=1e-300)
    assert not chain.start.any()
    for factors in (chain.pull, chain.fresh):
        assert factors.min(initial=0.0) >= 0.0
    assert chain.pull.max(initial=0.0) <= 1.0
