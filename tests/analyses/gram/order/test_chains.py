"""Chains: the recursions have the kernels that they stand for, and cuts only enlarge them."""

from __future__ import annotations

import numpy as np
import pytest

from hockeystick.analyses.gram.order.chains import (
    FAR_FROM_MIRRORS,
    ChainMixture,
    line,
    mirrored,
    mirrored_kernel,
    pinned_ring,
    ring_kernel,
)
from in_one_test import in_one_test

RHOS = [0.0, 1e-9, 0.1, 0.597, 0.95, 0.9999]


def recursion_covariance(chain):
    """Of X_1, ..., X_b, from X_(i+1) = pull_i X_i + fresh noise, one row and column at a time."""
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


def laplacian_kernel(rho, edges, bins):
    """(kappa + L)^-1 for the graph with these edges, over rho / (1 - rho^2)."""
    laplacian = np.zeros((bins, bins))
    for i, j in edges:
        laplacian[i, i] += 1
        laplacian[j, j] += 1
        laplacian[i, j] -= 1
        laplacian[j, i] -= 1
    kappa = (1 - rho) ** 2 / rho
    return np.linalg.inv(kappa * np.eye(bins) + laplacian) * (1 - rho**2) / rho


@in_one_test
@pytest.mark.parametrize("rho", RHOS)
@pytest.mark.parametrize("bins", [1, 2, 7, 60])
def test_line_has_geometric_correlations(rho, bins):
    """The covariance of the recursion is rho^|i-j|."""
    expected = rho ** distances(bins).astype(float)
    np.testing.assert_allclose(recursion_covariance(line(rho, bins)), expected, rtol=1e-12)


@in_one_test
@pytest.mark.parametrize("rho", RHOS)
@pytest.mark.parametrize("bins", [2, 3, 7, 60])
def test_pinned_ring_with_its_start_is_the_periodic_chain(rho, bins):
    """B plus start times a unit normal X_1 has the correlations of a ring, and pulls below 1."""
    chain = pinned_ring(rho, bins)
    covariance = recursion_covariance(chain) + np.outer(chain.start, chain.start)
    kernel = ring_kernel(rho, bins)
    expected = (kernel / kernel[0])[distances(bins)]
    np.testing.assert_allclose(covariance, expected, rtol=1e-11, atol=1e-15)
    assert chain.variance[0] == 0.0
    assert 0.0 <= chain.pull.min() <= chain.pull.max() <= 1.0


@in_one_test
@pytest.mark.parametrize("rho", [0.1, 0.597, 0.95])
@pytest.mark.parametrize("bins", [3, 8, 25])
def test_rings_and_paths_are_inverses_of_laplacians(rho, bins):
    """The closed forms are those of the graphs; far from mirrors a path has a little more."""
    path = [(i, i + 1) for i in range(bins - 1)]
    ring = ring_kernel(rho, bins)[distances(bins)]
    exact = laplacian_kernel(rho, [*path, (bins - 1, 0)], bins)
    np.testing.assert_allclose(ring, exact, rtol=1e-10)
    above = mirrored_kernel(rho, bins) - laplacian_kernel(rho, path, bins)
    assert above.min() > -1e-11
    assert above.max() < 3 * FAR_FROM_MIRRORS * ring.max()


@in_one_test
@pytest.mark.parametrize("rho", [0.1, 0.597, 0.95])
@pytest.mark.parametrize(("bins", "cuts"), [(12, 1), (12, 3), (24, 2), (24, 8)])
def test_cuts_dominate_the_ring_for_nothing(rho, bins, cuts):
    """Paths in the place of a ring: larger in the Loewner order, with the same total."""
    period = bins // cuts
    blocks = np.kron(np.eye(cuts), mirrored_kernel(rho, period))
    ring = ring_kernel(rho, bins)[distances(bins)]
    assert np.linalg.eigvalsh(blocks - ring)[0] > -1e-12 * ring.max()
    assert blocks.sum() == pytest.approx(ring.sum(), rel=10 * FAR_FROM_MIRRORS)


@pytest.mark.parametrize("rho", [0.3, 0.9])
def test_fewer_bins_on_a_ring_share_more(rho):
    """Whichever bins are left out, the others numbered anew have larger entries."""
    rng, bins = np.random.default_rng(1), 15
    whole = ring_kernel(rho, bins)[distances(bins)]
    for kept in (3, 9, 14):
        chosen = np.sort(rng.permutation(bins)[:kept])
        smaller = ring_kernel(rho, kept)[distances(kept)]
        assert np.all(whole[np.ix_(chosen, chosen)] <= smaller * (1 + 1e-14))


@in_one_test
@pytest.mark.parametrize("rho", [*RHOS, 1 - 1e-6])
@pytest.mark.parametrize("bins", [1, 2, 7, 60])
@pytest.mark.parametrize("beside", [0, 1, 5])
def test_the_chain_between_mirrors_is_a_recursion(rho, bins, beside):
    """With the stated covariance, and pulls and fresh variances that are allowed."""
    chain = mirrored(rho, bins, beside)
    whole = mirrored_kernel(rho, bins + 2 * beside)
    kept = slice(beside, beside + bins)
    np.testing.assert_allclose(
        recursion_covariance(chain), whole[kept, kept], rtol=1e-9, atol=1e-300
    )
    assert chain.fresh.min(initial=0.0) >= 0.0
    assert 0.0 <= chain.pull.min(initial=0.0) <= chain.pull.max(initial=0.0) <= 1.0


@pytest.mark.parametrize(("beside", "ring"), [(None, False), (0, False), (3, False), (None, True)])
def test_the_gram_matrix_is_that_of_the_recursion(beside, ring):
    """Common part, amplitudes and independent parts around the chain."""
    amplitudes = np.linspace(1.0, 0.5, 6)
    pair = ChainMixture(0.2, 1.3, 0.4, 0.7, amplitudes, beside, ring)
    chain = pair.chain_of_states()
    states = recursion_covariance(chain) + np.outer(chain.start, chain.start)
    inner = 1.3 * states + 0.4 * np.eye(6)
    expected = 0.2 + np.outer(amplitudes, amplitudes) * inner
    np.testing.assert_allclose(pair.gram(), expected, rtol=1e-12)
    assert pair.signal == pytest.approx(np.diagonal(inner).max(), rel=1e-12)
