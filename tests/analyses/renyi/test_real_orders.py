"""Moments at real orders: above the truth, near it, and of use where noise is low."""

from __future__ import annotations

import numpy as np
import pytest

import hockeystick as hs
from hockeystick._numerics.law import Resolution
from hockeystick.analyses.renyi import mixture_moments as bounds
from hockeystick.analyses.renyi import ring
from hockeystick.analyses.renyi.bound import REAL_ORDERS
from hockeystick.profile import Profile
from hockeystick.profile.expressions.mechanisms import GaussianPair
from references.ring import enumerated_moment

RESOLUTION = Resolution(0.02, 1e-20, 8.0)


@pytest.mark.parametrize("reverse", [True, False])
@pytest.mark.parametrize("mu", [0.3, 1.0, 3.0])
def test_moments_of_a_law_are_above_the_formula(mu, reverse):
    """A Gaussian pair: e^(a (a - 1) mu^2 / 2), from above and closely.

    Orders for which the tail that is cut, and charged, does not matter.
    """
    orders = REAL_ORDERS[REAL_ORDERS * mu <= 7.0]
    found = GaussianPair(mu).moment_nodes(orders, reverse=reverse, resolution=RESOLUTION)
    exact = orders * (orders - 1) * mu**2 / 2
    assert (found.log >= exact - 1e-12).all()
    np.testing.assert_allclose(found.log, exact, rtol=1e-2, atol=1e-3)


@pytest.mark.parametrize("rate", [0.01, 0.5])
def test_sampled_steps_are_above_quadrature(rate):
    """Powers of 1 - q + q LR under Q, composed 3 times."""
    mu, steps = 2.0, 3
    pair = Profile(GaussianPair(mu)).subsample(rate).self_compose(steps)
    found = pair.expression.moment_nodes(REAL_ORDERS, reverse=False, resolution=RESOLUTION)
    x = np.linspace(-15, 25, 40_001)
    density = np.exp(-(x**2) / 2) / np.sqrt(2 * np.pi) * (x[1] - x[0])
    ratio = 1 - rate + rate * np.exp(mu * x - mu**2 / 2)
    exact = steps * np.log([float(density @ ratio**a) for a in REAL_ORDERS])
    assert (found.log >= exact - 1e-11).all()
    np.testing.assert_allclose(found.log, exact, rtol=1e-2, atol=1e-4)


def test_low_noise_has_small_orders():
    """Poisson at noise 0.3: what integers alone say is six times as much."""
    plan = hs.Plan(sampling=hs.Poisson(rate=0.01), steps=100)
    guarantee = hs.account(plan, noise_multiplier=0.3, method="renyi")
    found, truth = guarantee.answer(delta=1e-5), hs.account(plan, noise_multiplier=0.3)
    assert truth.epsilon(1e-5) < found.value < 32.05
    assert 1 < found.details["order"] < 2


def kernels():
    """Three bins each: apart, alike, and in between, at low and high noise."""
    rng = np.random.default_rng(5)
    for scale in (0.05, 1.0, 8.0):
        means = rng.random((3, 3)) * np.sqrt(scale)
        yield means @ means.T
        yield scale * np.eye(3)
        yield np.full((3, 3), scale)


@pytest.mark.parametrize("kernel", list(kernels()))
def test_real_moments_of_bins_are_above_quadrature(kernel):
    """E_Q[LR^a] for 1 <= a <= 2 by Gauss-Hermite; also from bounds by distance, which are above."""
    orders = np.array([1.0, 1.05, 1.3, 1.7, 2.0])
    nodes, weights = np.polynomial.hermite_e.hermegauss(48)
    z = np.array(np.meshgrid(nodes, nodes, nodes)).reshape(3, -1)
    mass = np.array(np.meshgrid(weights, weights, weights)).reshape(3, -1).prod(axis=0)
    values, vectors = np.linalg.eigh(kernel)
    xi = vectors @ (np.sqrt(np.maximum(values, 0.0))[:, None] * z)
    ratio = np.exp(xi - np.diagonal(kernel)[:, None] / 2).mean(axis=0)
    exact = np.log([float(mass @ ratio**a) / mass.sum() for a in orders])
    found = bounds.real_moments(kernel, orders)
    assert (found >= exact - 1e-6 * (1 + exact)).all()
    assert found[-1] == pytest.approx(np.log(np.exp(kernel).mean()), rel=1e-9, abs=1e-12)
    lags = np.array([np.diagonal(kernel, d).max() for d in range(3)])
    assert (bounds.real_moments(lags, orders) >= found - 1e-12).all()


def test_many_bins_need_no_matrix():
    """From bounds by distance, in groups or not, moments are above those of the matrix."""
    kernel = hs.strategies.bsr(60, bands=3).gram(spacing=20) / 2.0
    lags = np.array([np.diagonal(kernel, d).max() for d in range(20)])
    exact = [np.log(enumerated_moment(kernel, order)) for order in (2, 3)]
    whole = bounds.mixture_moments(lags, 8, 1e6).moments.log
    assert (whole[2:4] >= exact).all()
    shape = ring.envelope(kernel)
    assert shape.bins == ring.envelope(lags).bins
    np.testing.assert_array_equal(shape.largest, ring.envelope(lags).largest)


def test_groups_are_above_the_ring(monkeypatch):
    """Bins beside groups are left out: larger moments, by little where groups are long."""
    shape = ring.Envelope(np.array([0.5, 0.2, 0.1] + 58 * [0.0]), 120)
    before = bounds._truncated(shape, 3, 8).log
    monkeypatch.setattr(bounds, "SEARCH", bounds.MixtureSearch(longest_ring=40))
    bins, copies = bounds._group(shape, 3)
    assert (bins + 2) * copies <= 120
    after = bounds._truncated(shape, 3, 8).log
    assert (after[2:] > before[2:]).all()
    np.testing.assert_allclose(after[2:], before[2:], rtol=0.1)


def test_a_million_bins():
    """A Toeplitz strategy with any number of bins, without a matrix; beyond, a sentence."""
    bins = 1_000_000
    strategy = hs.strategies.bsr(bins, bands=4)
    plan = hs.Plan(sampling=hs.BallsInBins(bins=bins), steps=bins, strategy=strategy)
    found = hs.account(plan, noise_multiplier=1.0, method="renyi", budget=1e6)
    assert found.epsilon(1e-5) < hs.account(plan, noise_multiplier=1.0, method="gaussian").epsilon(
        1e-5
    )
