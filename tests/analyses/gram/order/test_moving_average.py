"""Factors of matrices with few bands: just above and just below, or none."""

from __future__ import annotations

import numpy as np
import pytest

from hockeystick.analyses.gram.order.moving_average import (
    MovingAverage,
    few_bands_above,
    few_bands_below,
    two_bands,
)
from in_one_test import in_one_test


def banded(rng, *, ring):
    """A random matrix with two bands, and the factors it was made of."""
    bins = int(rng.integers(3, 12))
    here, ahead = rng.uniform(0.5, 1.0, bins), rng.uniform(0.05, 0.45, bins)
    if not ring:
        ahead[-1] = 0.0
    return MovingAverage(0.0, np.column_stack((here, ahead)), ring).gram()


@in_one_test
@pytest.mark.parametrize("ring", [False, True])
@pytest.mark.parametrize("seed", range(8))
def test_factors_enclose_the_matrix(seed, ring):
    """The one above is nowhere smaller, the one below nowhere larger, and both are close."""
    kernel = banded(np.random.default_rng([ring, seed]), ring=ring)
    above, below = two_bands(kernel)
    rounding = 1e-13 * kernel.max()
    assert np.all(above.gram() >= kernel - rounding)
    assert np.all(below.gram() <= kernel + rounding)
    np.testing.assert_allclose(above.gram(), below.gram(), rtol=1e-9, atol=rounding)
    opened = below.cut_open()
    assert not opened.closes
    assert np.all(opened.gram() <= kernel + rounding)


@pytest.mark.parametrize(
    "kernel",
    [
        np.ones((4, 4)),
        np.eye(5) + 0.1 * np.eye(5, k=2) + 0.1 * np.eye(5, k=-2),
        np.array([[1.0, 0.9, 0.0, 0.9], [0.9, 1, 0.9, 0], [0, 0.9, 1, 0.9], [0.9, 0, 0.9, 1]]),
        np.eye(1),
    ],
)
def test_other_matrices_have_no_factors(kernel):
    """Further bands, neighbours too close for two, or a single bin."""
    assert two_bands(kernel) is None


def triangular(rng, bins, bands):
    """A matrix with so many bands on a line, made of factors without a variable beyond its end."""
    factors = np.triu(np.tril(rng.uniform(0.1, 1.0, (bins, bins)), bands - 1))
    return factors @ factors.T


@in_one_test
@pytest.mark.parametrize("bands", [1, 2, 3, 4])
@pytest.mark.parametrize("seed", range(4))
def test_few_bands_enclose_the_matrix(seed, bands):
    """Just above and just below; with fewer bands allowed there is nothing above."""
    kernel = triangular(np.random.default_rng([bands, seed]), 9, bands)
    above, below = few_bands_above(kernel, 4), few_bands_below(kernel, 4)
    assert above.bands == below.bands == max(bands, 2)
    for pair in (above, below):
        np.testing.assert_allclose(pair.gram(), kernel, rtol=1e-9, atol=1e-12)
    assert np.all(np.diagonal(above.gram()) > np.diagonal(kernel))
    assert np.all(np.diagonal(below.gram()) < np.diagonal(kernel))
    if bands > 1:
        assert few_bands_above(kernel, bands - 1) is None


def test_a_ring_is_cut_open_below_and_has_nothing_above():
    """What bins have in common across the end is left out, and no more."""
    lags = np.array([1.5, 0.8, 0.5, 0.0, 0.0, 0.0, 0.0, 0.5, 0.8])
    i = np.arange(9)
    kernel = lags[np.abs(i[:, None] - i)]
    assert few_bands_above(kernel, 4) is None
    below = few_bands_below(kernel, 4).gram()
    near = np.abs(i[:, None] - i) < 3
    np.testing.assert_allclose(below[near], kernel[near], rtol=1e-9)
    assert not below[~near].any()


@pytest.mark.parametrize(
    "kernel",
    [
        np.ones((4, 4)),
        np.array([[1.0, 0.9, 0.0], [0.9, 1.0, 0.9], [0.0, 0.9, 1.0]]),
        np.array([[1.0, 0.1, 0.4], [0.1, 1.0, 0.9], [0.4, 0.9, 1.0]]),
    ],
)
def test_matrices_without_factors(kernel):
    """Singular, not positive definite, or with a negative factor."""
    assert few_bands_above(kernel, 4) is None


@pytest.mark.parametrize(("bands", "ring"), [(1, False), (3, True)])
def test_other_numbers_of_bands_are_refused(bands, ring):
    """The recursion keeps at least one variable, and closes a ring over one."""
    with pytest.raises(ValueError, match="two bands"):
        MovingAverage(0.0, np.ones((5, bands)), ring=ring)
