"""Dynamic programmes over bins against all tuples of bins and against dictionaries of states."""

from __future__ import annotations

import math
import time

import numpy as np
import pytest

from hockeystick import strategies
from hockeystick._numerics.moments import PowerMoments, allocated_moments
from hockeystick.analyses.renyi import ring
from hypothesis_strategies import thinned
from in_one_test import in_one_test
from references.ring import dictionary_moment, enumerated_moment

# Logs of moments: how far below and above the truth a reference in floating point may be.
BELOW, ABOVE = 4e-15, 1e-11


def distances(bins):
    """Distances on the ring."""
    i = np.arange(bins)
    apart = np.abs(i[:, None] - i)
    return np.minimum(apart, bins - apart)


def random_kernel(rng, bins, bands, scale=1.0):
    """Symmetric, not negative, banded on the ring; entries of very different sizes, some zero."""
    entries = scale * rng.random((bins, bins)) ** 3 * (rng.random((bins, bins)) > 0.2)
    upper = np.triu(entries)
    return np.where(distances(bins) < bands, upper + np.triu(upper, 1).T, 0.0)


def cyclic_kernel(diagonal, pull, bins):
    """Entries that depend on the distance only."""
    values = np.zeros(max(bins, len(pull) + 1))
    values[: len(pull) + 1] = [diagonal, *pull]
    return values[distances(bins)]


def assert_equal_from_above(found, wanted):
    """Logs of moments that are the same up to rounding, which goes up."""
    size = 1 + np.abs(wanted)
    assert np.all(found - wanted >= -BELOW * size)
    assert np.all(found - wanted <= ABOVE * size)


def enumerated(kernel, largest):
    """All orders by tuples."""
    return np.array([enumerated_moment(kernel, a) for a in range(largest + 1)])


def of_dictionaries(kernel, bands, largest):
    """All orders by dictionaries."""
    return np.array([dictionary_moment(kernel, bands, a) for a in range(largest + 1)])


@in_one_test
@pytest.mark.parametrize("scale", [0.01, 1.0, 20.0])
@pytest.mark.parametrize("bands", [1, 2, 3])
@pytest.mark.parametrize("bins", [1, 2, 3, 4, 5, 6])
def test_exact_moments_equal_the_sum_over_tuples(bins, bands, scale):
    """Any banded matrix, also on rings so short that the first and last windows overlap."""
    kernel = random_kernel(np.random.default_rng([bins, bands]), bins, bands, scale)
    largest = 5 if bins < 6 else 4
    found = ring.exact_moments(kernel, bands, largest).log
    assert_equal_from_above(found, enumerated(kernel, largest))


def test_exact_moments_at_the_largest_enumerated_size():
    """Six bins and five particles: 7776 tuples."""
    for bands in (1, 2, 3, 4):
        kernel = random_kernel(np.random.default_rng(bands), 6, bands)
        assert_equal_from_above(ring.exact_moments(kernel, bands, 5).log, enumerated(kernel, 5))


@in_one_test
@pytest.mark.parametrize("strategy", ["toeplitz", "full"])
@pytest.mark.parametrize("steps", [4, 5, 6, 10, 11, 13, 15])
@pytest.mark.parametrize("bands", [1, 2, 3])
@pytest.mark.parametrize("bins", [4, 5])
def test_exact_moments_of_strategies(strategy, steps, bands, bins):
    """One to three epochs, whole or not; the Gram matrix is then not Toeplitz, or not a ring."""
    if strategy == "toeplitz":
        chosen = strategies.bsr(steps, bands=bands)
    else:
        entries = np.random.default_rng([steps, bands]).random((steps, steps)) + 0.1
        chosen = strategies.from_matrix(np.tril(np.triu(entries, 1 - bands)))
    kernel = chosen.gram(spacing=bins) / 1.3**2
    assert ring.bandwidth(kernel) <= bands
    assert_equal_from_above(ring.exact_moments(kernel, bands, 4).log, enumerated(kernel, 4))


@pytest.mark.parametrize(
    ("bins", "bands", "largest"), [(12, 2, 9), (30, 2, 8), (60, 1, 10), (8, 3, 7), (14, 3, 5)]
)
def test_exact_moments_equal_dictionaries(bins, bands, largest):
    """More bins and particles than tuples can be listed for; more bands than the matrix has too."""
    kernel = random_kernel(np.random.default_rng(bins), bins, bands, 0.7)
    wanted = of_dictionaries(kernel, bands, largest)
    assert_equal_from_above(ring.exact_moments(kernel, bands, largest).log, wanted)
    wider = ring.exact_moments(kernel, bands + 1, largest).log
    assert_equal_from_above(wider, wanted)


@pytest.mark.parametrize(("bands", "bins"), [(2, 2), (2, 3), (3, 4), (3, 5), (3, 6), (4, 6)])
def test_dictionaries_equal_the_sum_over_tuples(bands, bins):
    """The references agree with each other on short rings, where pairs are easily counted twice."""
    kernel = random_kernel(np.random.default_rng(bins), bins, bands)
    wanted = enumerated(kernel, 4)
    assert of_dictionaries(kernel, bands, 4) == pytest.approx(wanted, rel=1e-12, abs=1e-14)


@pytest.mark.parametrize("bands", [1, 2, 3])
@pytest.mark.parametrize("epochs", [1, 3])
def test_independent_noise_is_random_allocation(bands, epochs):
    """C = I, with the programme for one band and with those for more."""
    bins, largest, noise = 20, 12, 1.5
    kernel = strategies.identity(bins * epochs).gram(spacing=bins) / noise**2
    m = np.arange(largest + 1)
    step = PowerMoments(m * (m - 1) * epochs / (2 * noise**2))
    wanted = allocated_moments(step, bins).log
    found = ring.exact_moments(kernel, bands, largest).log
    assert found == pytest.approx(wanted, rel=ABOVE, abs=ABOVE)
    # An incomplete last epoch: bins of two kinds, against the programme for two bands.
    kernel = strategies.identity(bins * epochs + 7).gram(spacing=bins) / noise**2
    mixed = ring.exact_moments(kernel, 1, largest).log
    assert ring.exact_moments(kernel, 2, largest).log == pytest.approx(mixed, rel=ABOVE, abs=ABOVE)
    assert np.all(mixed[2:] > wanted[2:])


@in_one_test
@pytest.mark.parametrize("scale", [0.1, 2.0])
@pytest.mark.parametrize(("bins", "bands"), [(2, 2), (7, 2), (13, 2), (9, 3), (14, 3), (13, 4)])
def test_clusters_on_a_ring_equal_the_exact_programme(bins, bands, scale):
    """Every order at which no cluster reaches around the ring; beyond them it refuses."""
    pull = scale * np.random.default_rng(bins).random(bands - 1)
    kernel = cyclic_kernel(scale, pull, bins)
    largest = (bins - 1) // (bands - 1)
    found = ring.ring_moments(scale, pull, bins, largest).log
    exact = ring.exact_moments(kernel, bands, largest).log
    assert found == pytest.approx(exact, rel=ABOVE, abs=ABOVE)
    with pytest.raises(AssertionError):
        ring.ring_moments(scale, pull, bins, largest + 1)


def test_clusters_may_contain_short_gaps():
    """Pulls at distance two only: bins of a cluster are not neighbours."""
    kernel = cyclic_kernel(0.3, [0.0, 1.1], 9)
    found = ring.ring_moments(0.3, np.array([0.0, 1.1]), 9, 4).log
    assert_equal_from_above(found, enumerated(kernel, 4))


def test_a_part_common_to_all_bins():
    """K + c 11^T: every pair of particles gains c, wherever they are."""
    kernel = random_kernel(np.random.default_rng(5), 5, 2)
    found = ring.with_common_part(ring.exact_moments(kernel, 2, 4), 0.37).log
    assert_equal_from_above(found, enumerated(kernel + 0.37, 4))


@pytest.mark.parametrize("bins", [1, 2, 5, 8, 13])
def test_bandwidth_and_envelope(bins):
    """The smallest band that holds all entries, and the largest entry at each distance."""
    rng = np.random.default_rng(bins)
    for bands in range(1, bins // 2 + 2):
        kernel = np.where(distances(bins) < bands, 1 + rng.random((bins, bins)), 0.0)
        kernel = (kernel + kernel.T) / 2
        assert ring.bandwidth(kernel) == bands
        shape = ring.envelope(kernel)
        for d, largest in enumerate(shape.largest):
            assert largest == kernel[distances(bins) == d].max()
        for spacing in range(1, bins // 2 + 1):
            chosen = spacing * np.arange(bins // spacing)
            part = ring.envelope(kernel[np.ix_(chosen, chosen)])
            fewer = shape.thinned(spacing)
            assert fewer.bins == chosen.size
            assert np.all(part.largest <= fewer.largest)
    assert ring.bandwidth(np.zeros((bins, bins))) == 1


def test_cyclic_only_if_the_ends_meet():
    """One epoch of a banded strategy is a line, two are a ring."""
    assert not ring.is_cyclic(strategies.bsr(8, bands=3).gram(spacing=8), 3)
    assert ring.is_cyclic(strategies.bsr(16, bands=3).gram(spacing=8), 3)


def seconds(function, repeats=1):
    """CPU time, the shortest of several runs."""
    found = []
    for _ in range(repeats):
        start = time.process_time()
        function()
        found.append(time.process_time() - start)
    return min(found)


@pytest.fixture(scope="module")
def dictionary_seconds():
    """CPU time of the reference on 50 bins with two bands at order 16: 0.2 s, here and now."""
    rows = strategies.bsr(150, bands=2).gram(spacing=50).tolist()
    return seconds(lambda: dictionary_moment(rows, 2, 16), 3)


@pytest.mark.slow
def test_fifty_times_as_fast_as_dictionaries(dictionary_seconds):
    """All orders to 16 on 50 bins with two bands, beside the largest order alone."""
    kernel = strategies.bsr(150, bands=2).gram(spacing=50)
    found = ring.exact_moments(kernel, 2, 16).log[16]
    assert found == pytest.approx(dictionary_moment(kernel, 2, 16), rel=1e-11)
    ours = seconds(lambda: ring.exact_moments(kernel, 2, 16), 20)
    assert dictionary_seconds >= 50 * ours


@pytest.mark.slow
@pytest.mark.parametrize(
    ("bins", "bands", "largest", "limit"),
    thinned([(300, 2, 64, 40.0), (100, 3, 32, 40.0), (1000, 1, 1000, 4.0)], normal=2),
)
def test_large_runs_are_quick(bins, bands, largest, limit, dictionary_seconds):
    """Three epochs, all orders at once, for as long as the reference needs for few small ones."""
    kernel = strategies.bsr(3 * bins, bands=bands).gram(spacing=bins) / 4.0
    ring.exact_moments(kernel, bands, 2)
    found = []
    spent = seconds(lambda: found.append(ring.exact_moments(kernel, bands, largest).log))
    assert spent < limit * dictionary_seconds
    pairs = math.log(np.exp(kernel).mean())
    assert -BELOW <= found[0][2] - pairs <= ABOVE
