"""Moments of the add direction against integrals over two and three bins and against simulation."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import pytest

import hockeystick as hs
from hockeystick import strategies
from hockeystick._numerics.law import Resolution
from hockeystick.analyses.renyi import ring
from hockeystick.analyses.renyi.bins import BinMoments, reversed_moments
from in_one_test import in_one_test
from references.ring import add_divergence, enumerated_moment

RESOLUTION = Resolution(0.02, 1e-20, 24.0)
LARGEST = 5
# The integrals agree with finer ones to this accuracy, in the log.
QUADRATURE = 1e-9
ROUNDING = 1e-12

SMALL = {
    "two bins alike": np.array([[1.0, 0.3], [0.3, 1.0]]),
    "two bins apart": np.array([[2.0, 0.0], [0.0, 0.5]]),
    "two bins, one weak": np.array([[1.5, 0.2], [0.2, 0.1]]),
    "three bins of a strategy": strategies.bsr(7, bands=2).gram(spacing=3) / 2.0,
    "three bins, one epoch": strategies.bisr(3, bands=2).gram(spacing=3),
    "three bins apart": np.diag([0.4, 0.9, 1.3]),
}


class Mixture(NamedTuple):
    """Bins that are known by their inner products."""

    kernel: np.ndarray


def integrated(kernel, order):
    """log E_Q[LR^(1 - order)]: the trapezoidal rule in independent standard normal variables."""
    bins = kernel.shape[0]
    root = np.linalg.cholesky(kernel)
    # LR^(1 - order) moves the mass by about (order - 1) times the length of a mean.
    reach = 9.0 + (order - 1) * math.sqrt(float(kernel.max()))
    z, step = np.linspace(-reach, reach, 161, retstep=True)
    axes = np.meshgrid(*[z] * bins, indexing="ij", sparse=True)
    exponent = sum(-(x**2) / 2 for x in axes)
    terms = [
        sum(root[i, j] * axes[j] for j in range(i + 1)) - kernel[i, i] / 2 for i in range(bins)
    ]
    top = np.maximum.reduce(np.broadcast_arrays(*terms))
    log_lr = top + np.log(sum(np.exp(term - top) for term in terms) / bins)
    exponent = exponent + (1 - order) * log_lr
    peak = float(exponent.max())
    total = float(np.exp(exponent - peak).sum())
    return peak + math.log(total) + bins * math.log(step / math.sqrt(2 * math.pi))


@pytest.mark.slow
@pytest.mark.parametrize("case", SMALL)
def test_both_bounds_are_above_the_integral(case):
    """The variational bound, and the best of it and of bins far apart."""
    kernel = SMALL[case]
    variational = reversed_moments(kernel, LARGEST).log
    best = BinMoments(Mixture(kernel), 1e6)(LARGEST, reverse=True, resolution=RESOLUTION).power
    apart = best.apart
    assert apart <= 1e-18
    for order in (2, 3, LARGEST):
        truth = integrated(kernel, order)
        assert truth > 0
        assert variational[order] >= truth - QUADRATURE
        assert best.log[order] >= truth - QUADRATURE
        assert best.log[order] <= variational[order]


@pytest.mark.parametrize("case", ["two bins apart", "three bins apart"])
def test_bins_far_apart_are_the_better_bound_without_correlation(case):
    """With independent bins of equal length the bound is as exact as the law it comes from."""
    kernel = SMALL[case]
    equal = np.eye(kernel.shape[0]) * kernel.max()
    found = BinMoments(Mixture(equal), 1e6)(LARGEST, reverse=True, resolution=RESOLUTION).power.log
    loose = reversed_moments(equal, LARGEST).log
    for order in (2, LARGEST):
        truth = integrated(equal, order)
        assert truth - QUADRATURE <= found[order] <= truth * (1 + 1e-3)
        assert loose[order] > truth * (1 + 1e-3)


@pytest.mark.parametrize("bins", [1, 2, 7])
def test_one_mean_for_all_bins_is_one_gaussian(bins):
    """The bound is then the moment itself, e^(a (a - 1) g / 2)."""
    found = reversed_moments(np.full((bins, bins), 0.7), 9).log
    a = np.arange(10)
    assert found == pytest.approx(0.7 * a * (a - 1) / 2, rel=1e-12)


def kernels():
    """Random Gram matrices and those of strategies, of several sizes and lengths."""
    rng = np.random.default_rng(3)
    for bins in (1, 2, 5, 30):
        for scale in (0.01, 1.0, 30.0):
            means = scale * rng.random((bins, bins)) ** 4
            yield means.T @ means
    for steps in (40, 50, 120):
        yield strategies.bsr(steps, bands=8).gram(spacing=40) / 4.0
        yield strategies.bisr(steps, bands=4).gram(spacing=40) / 4.0


@in_one_test
@pytest.mark.parametrize("kernel", list(kernels()), ids=lambda kernel: f"{len(kernel)} bins")
def test_never_above_uniform_weights(kernel):
    """Lemma 3.4 is where the search begins."""
    found = reversed_moments(kernel, 24).log
    assert found[0] == 0.0
    for order in range(2, 25):
        uniform = (order - 1) * add_divergence(kernel, order)
        assert found[order] <= uniform + ROUNDING * (1 + uniform)


def test_better_than_uniform_weights_where_bins_differ():
    """An incomplete second epoch: bins that take part once deserve more weight."""
    kernel = strategies.identity(15).gram(spacing=10) / 0.5**2
    found = reversed_moments(kernel, 8).log
    assert found[8] < 0.9 * 7 * add_divergence(kernel, 8)


@in_one_test
@pytest.mark.parametrize(
    "kernel",
    # Where any privacy is left; beyond, the search stops early, up to a tenth above the best.
    [kernel for kernel in kernels() if kernel.max() < 1000],
    ids=lambda kernel: f"{len(kernel)} bins",
)
def test_every_order_is_as_good_as_the_best_weights(kernel):
    """At the optimum log w_i = -K_ii/2 - (a - 1)(K w)_i + constant; the bound reaches its value."""
    order = 6
    found = reversed_moments(kernel, order).log[order] / (order - 1)
    weights = np.full(len(kernel), 1 / len(kernel))
    # Exponentiated gradient with a small stride: slow, and independent of the search under test.
    stride = 1 / (1 + (order - 1) * float(kernel.max()))
    for _ in range(4000):
        gradient = np.diagonal(kernel) / 2 + (order - 1) * (kernel @ weights) + np.log(weights)
        weights = weights * np.exp(-stride * (gradient - gradient.min()))
        weights = np.maximum(weights / weights.sum(), 1e-300)
    relative = weights @ np.log(weights * len(kernel))
    quadratic = (order - 1) / 2 * (weights @ kernel @ weights)
    best = float(weights @ np.diagonal(kernel) / 2 + relative + quadratic)
    assert best * (1 - 1e-6) <= found <= best * 1.01


@pytest.mark.parametrize("bands", [1, 3, 8])
def test_simulated_moments_are_not_above(bands):
    """Twenty bins: the lower end of a confidence interval at six standard errors."""
    bins, draws = 20, 200_000
    kernel = strategies.bsr(3 * bins, bands=bands).gram(spacing=bins) / 2.5**2
    rng = np.random.default_rng(bands)
    root = np.linalg.cholesky(kernel + 1e-13 * np.eye(bins))
    xi = rng.standard_normal((draws, bins)) @ root.T - np.diagonal(kernel) / 2
    inverse = 1 / np.exp(xi).mean(axis=1)
    variational = reversed_moments(kernel, 4).log
    best = BinMoments(Mixture(kernel), 1e6)(4, reverse=True, resolution=RESOLUTION).power.log
    for order in (2, 3, 4):
        powers = inverse ** (order - 1)
        lower = powers.mean() - 6 * powers.std() / math.sqrt(draws)
        upper = powers.mean() + 6 * powers.std() / math.sqrt(draws)
        assert math.log(lower) <= best[order] <= variational[order]
        # It is a bound on this quantity and not on another one.
        assert best[order] <= 4 * math.log(upper)


@pytest.mark.parametrize("case", ["three bins of a strategy", "three bins, one epoch"])
def test_remove_direction_of_the_same_object(case):
    """Also not below the sum over tuples, with and without orders beyond the banded ones."""
    kernel = SMALL[case]
    moments = BinMoments(Mixture(kernel), 1e6)
    short = moments(LARGEST, reverse=False, resolution=RESOLUTION).power.log
    long = moments(300, reverse=False, resolution=RESOLUTION).power.log
    assert short.size == LARGEST + 1
    assert long.size == 301
    assert long[: LARGEST + 1] == pytest.approx(short, rel=1e-12)
    for order in range(2, LARGEST + 1):
        assert short[order] >= enumerated_moment(kernel, order) * (1 - 1e-13)
    assert ring.bandwidth(kernel) == 2


def test_bands_that_are_longer_than_a_group():
    """Above 4,000 bins groups may be shorter than wide bands: then other bounds are taken."""
    strategy = hs.strategies.bsr(5000, bands=2400)
    plan = hs.Plan(sampling=hs.BallsInBins(bins=5000), steps=5000, strategy=strategy)
    found = hs.account(plan, noise_multiplier=5.0, method="renyi", budget=1e6)
    known = hs.account(plan, noise_multiplier=5.0, method="gaussian")
    assert 0 < found.epsilon(1e-5) < known.epsilon(1e-5)
