"""Replaced examples, and groups of them."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy.stats import norm

import hockeystick as hs
from hockeystick._numerics.law import Resolution, Side
from hockeystick.profile.expressions.replaced import Chained, ReplacedGaussian


def replaced(gradients, rate, noise, epsilon):
    """H(P || Q) of one step by quadrature in the plane of two gradients."""
    grid = np.linspace(-8, 8, 481) * noise
    x, y = np.meshgrid(grid, grid)
    cell = (grid[1] - grid[0]) ** 2

    def density(a, b):
        return norm.pdf(x, a, noise) * norm.pdf(y, b, noise)

    p, q = ((1 - rate) * density(0, 0) + rate * density(*gradient) for gradient in gradients)
    return float(np.maximum(p - math.exp(epsilon) * q, 0.0).sum() * cell)


@pytest.mark.parametrize(("rate", "noise"), [(0.01, 1.0), (0.3, 0.7), (0.999, 2.0), (1.0, 1.5)])
def test_a_replaced_example_is_worst_when_it_changes_sign(rate, noise):
    """No pair of gradients of length at most 1 exceeds the bound; opposite ones reach it."""
    profile = hs.Profile.replaced_gaussian(noise_multiplier=noise, rate=rate)
    rng = np.random.default_rng(5)
    for epsilon in (0.0, 0.1, 0.3):
        lower, upper = profile.delta_bounds(epsilon)
        worst = replaced([(1, 0), (-1, 0)], rate, noise, epsilon)
        # The quadrature is exact to half a per cent here.
        assert lower * (1 - 5e-3) <= worst <= upper * (1 + 5e-3)
        for _ in range(4):
            gradients = rng.normal(size=(2, 2))
            gradients /= np.maximum(np.linalg.norm(gradients, axis=1), 1.0)[:, None]
            assert replaced(gradients, rate, noise, epsilon) <= upper * (1 + 5e-3)


def test_one_replaced_example_lies_between_one_added_and_a_chain():
    """At least one added or removed, at most one removed and then another one added."""
    run = hs.Profile.gaussian(noise_multiplier=1.0).subsample(0.05).self_compose(20)
    direct = hs.Profile.replaced_gaussian(noise_multiplier=1.0, rate=0.05).self_compose(20)
    chains = run.chain(run.reverse()), run.reverse().chain(run)
    for delta in (1e-2, 1e-5, 1e-9):
        assert run.epsilon(delta) < direct.epsilon(delta) < min(c.epsilon(delta) for c in chains)
    # The pair is its own mirror image.
    assert direct.reverse().epsilon(1e-5) == pytest.approx(direct.epsilon(1e-5), rel=1e-3)


def test_full_batches_have_twice_the_sensitivity():
    """Rate 1 is the Gaussian mechanism at half the noise, and so is a chain of two."""
    assert repr(hs.Profile.replaced_gaussian(noise_multiplier=2.0, rate=1.0)) == repr(
        hs.Profile.gaussian(noise_multiplier=1.0)
    )
    step = hs.Profile.gaussian(noise_multiplier=2.0)
    exact = hs.Profile.gaussian(noise_multiplier=1.0)
    for delta in (0.1, 1e-5, 1e-30):
        lower, upper = step.chain(step.reverse()).epsilon_bounds(delta)
        assert lower <= exact.epsilon(delta) <= upper * (1 + 1e-9)


@pytest.mark.parametrize("size", [1, 2, 5])
def test_groups_of_the_gaussian_mechanism_add_their_mu(size):
    """[DongRothSu22]: k-fold group privacy of mu-GDP is k mu-GDP, in both directions."""
    step = hs.Profile.gaussian(noise_multiplier=4.0)
    exact = hs.Profile.gaussian(noise_multiplier=4.0 / size)
    for delta in (0.01, 1e-8):
        for group in (step.group(size), step.group(size).reverse()):
            lower, upper = group.epsilon_bounds(delta)
            assert lower <= exact.epsilon(delta) <= upper * (1 + 1e-9)


def test_groups_of_pure_mechanisms():
    """k members of an epsilon-DP mechanism are k epsilon-DP, and no less is claimed."""
    found = hs.Profile.from_epsilon_delta(0.5, 0.0).group(3)
    assert found.epsilon(1e-12) == pytest.approx(1.5, rel=1e-6)
    apart = hs.Profile.from_epsilon_delta(0.5, 1e-3).group(2)
    # delta + e^epsilon delta: an event of the pair in between weighs e^epsilon as much.
    assert apart.delta(1.0) == pytest.approx(1e-3 * (1 + math.exp(0.5)), rel=1e-3)


def test_no_chain_of_small_discrete_pairs_exceeds_the_bound():
    """All events of P over M to Q: three laws on four outputs, chained by their own pairs."""
    rng = np.random.default_rng(9)
    for _ in range(20):
        p, m, q = rng.dirichlet(np.full(4, rng.choice([0.4, 1.0, 4.0])), 3)
        chained = hs.Profile.from_pmfs(p, m).chain(hs.Profile.from_pmfs(m, q))
        for epsilon in (0.0, 0.3, 1.0, 2.5):
            events = itertools.product([0.0, 1.0], repeat=4)
            truth = max(float(np.dot(e, p - math.exp(epsilon) * q)) for e in events)
            assert truth <= chained.delta(epsilon) * (1 + 1e-9) + 1e-15


def test_laws_are_pairs():
    """Masses of P and Q add up to 1, and p = q e^loss, on both sides."""
    pair = ReplacedGaussian(1.0, 0.1)
    for expression in (pair, Chained(pair, pair.reverse()), Chained(pair, pair)):
        for side in Side:
            law = expression.law(side, Resolution(0.05, 1e-20, 8.0))
            assert law.p.sum() + law.p_infinite == pytest.approx(1.0, abs=1e-9)
            assert law.q.sum() + law.q_zero == pytest.approx(1.0, abs=1e-9)
            assert np.all(np.diff(law.loss) > 0)
            there = (law.p > 1e-250) & (law.q > 1e-250)
            assert np.allclose(np.log(law.p[there] / law.q[there]), law.loss[there], atol=1e-9)


@pytest.mark.parametrize(("noise", "size", "epsilon"), [(0.02, 2, 5200.0), (0.05, 5, 5100.0)])
def test_lower_bounds_of_groups_at_little_noise(noise, size, epsilon):
    """Masses that underflow are not taken for infinite losses on the lower side."""
    exact = hs.Profile.gaussian(noise_multiplier=noise / size).delta(epsilon)
    try:
        lower, upper = hs.Profile.gaussian(noise_multiplier=noise).group(size).delta_bounds(epsilon)
    except hs.errors.PrecisionError as error:
        lower, upper = error.lower, error.upper
    assert lower <= exact * (1 + 1e-9)
    assert exact <= upper * (1 + 1e-9)


def test_rates_that_floating_point_cannot_tell_apart_are_refused():
    """P and Q differ by rate / noise; far below 1e-6 of that digits are lost."""
    with pytest.raises(hs.errors.InvalidParameter, match="rate"):
        hs.Profile.replaced_gaussian(noise_multiplier=1.0, rate=1e-9)
    with pytest.raises(hs.errors.InvalidParameter, match="rate"):
        hs.Profile.replaced_gaussian(noise_multiplier=1e6, rate=1e-3)
    truth = 1e-6 * math.erf(1 / math.sqrt(2))
    lower, upper = hs.Profile.replaced_gaussian(noise_multiplier=1.0, rate=1e-6).delta_bounds(0.0)
    assert lower <= truth <= upper
