"""Balls-in-bins with two bins against integration: every method, both directions, composed too."""

from __future__ import annotations

import numpy as np
import pytest

import hockeystick as hs
from hypothesis_strategies import thinned
from references.two_bins import two_bins_delta

# Together they take seconds; `make test` runs them.
pytestmark = pytest.mark.slow

EPSILONS = (0.0, 0.7)
PLANS = {
    "one epoch": (2, hs.strategies.bsr(2, 2), 1.5),
    "three epochs": (2, hs.strategies.bsr(6, 3), 4.0),
    "a half epoch more": (2, hs.strategies.bsr(5, 2), 2.0),
    "rising": (2, hs.strategies.from_coefficients([0.5, 1.0, 0.7], steps=4), 3.0),
    "lopsided": (2, hs.strategies.from_matrix([[0.1, 0], [3.0, 0.2]]), 2.0),
    "idle bins": (5, hs.strategies.bsr(2, 2), 1.0),
}


def kernel_of(name: str) -> tuple[hs.Plan, float, np.ndarray, float]:
    """The plan, its noise, the inner products over the variance, and the share that takes part."""
    bins, strategy, noise = PLANS[name]
    plan = hs.Plan(sampling=hs.BallsInBins(bins=bins), steps=strategy.steps, strategy=strategy)
    return plan, noise, strategy.gram(spacing=bins) / noise**2, min(bins, strategy.steps) / bins


@pytest.mark.parametrize("name", thinned(PLANS, normal=4))
@pytest.mark.parametrize(
    "method",
    [
        "gaussian",
        "renyi",
        "conditional",
        pytest.param("auto", marks=pytest.mark.long),
    ],
)
def test_no_delta_is_below_the_truth(name, method):
    """The integral is exact to about a tenth of a per cent."""
    plan, noise, kernel, share = kernel_of(name)
    for direction in ("remove", "add"):
        guarantee = hs.account(
            plan, noise_multiplier=noise, method=method, direction=direction, accuracy=0.02
        )
        for epsilon in EPSILONS:
            truth = two_bins_delta(kernel, epsilon, direction, share=share)
            assert guarantee.delta(epsilon) >= truth * (1 - 2e-3)


@pytest.mark.slow
@pytest.mark.parametrize("name", thinned(["one epoch", "lopsided", "idle bins"], normal=2))
@pytest.mark.parametrize("method", ["renyi", "conditional"])
def test_no_composed_delta_is_below_the_truth(name, method):
    """Two runs together: the profile that stands for a method bounds the product."""
    plan, noise, kernel, share = kernel_of(name)
    for direction in ("remove", "add"):
        one = hs.account(
            plan, noise_multiplier=noise, method=method, direction=direction, accuracy=0.02
        )
        two = one.compose(one)
        for epsilon in EPSILONS:
            truth = two_bins_delta(kernel, epsilon, direction, share=share, runs=2)
            assert two.delta(epsilon) >= truth * (1 - 5e-3)


@pytest.mark.slow
def test_auto_takes_the_tighter_one_at_small_deltas():
    """A lopsided run at high noise, where `conditional` is far below `renyi`: auto sees it."""
    strategy = hs.strategies.from_matrix([[0.1, 0, 0], [1e3, 0.1, 0], [1, 1, 0.1]])
    plan = hs.Plan(sampling=hs.BallsInBins(bins=3), steps=3, strategy=strategy)
    deltas = {
        method: hs.account(plan, noise_multiplier=1e4, method=method).delta(0.3)
        for method in ("renyi", "conditional", "auto")
    }
    assert deltas["conditional"] < 0.2 * deltas["renyi"]
    assert deltas["auto"] == pytest.approx(deltas["conditional"], rel=0.01)


@pytest.mark.parametrize("noise", [0.05, 0.01, 1e-5])
def test_tiny_noise_has_a_finite_bound(noise):
    """Moments of the add direction do not depend on laws that have degenerated."""
    plan = hs.Plan(
        sampling=hs.BallsInBins(bins=4), steps=12, strategy=hs.strategies.bsr(12, bands=3)
    )
    guarantee = hs.account(plan, noise_multiplier=noise, method="renyi", direction="add")
    assert 0 < guarantee.epsilon(1e-5) < 100 / noise**2


def test_too_many_bins_are_refused_for_what_they_are():
    """The message names the limit, not the strategy."""
    strategy = hs.strategies.bsr(20_000, 3)
    plan = hs.Plan(sampling=hs.BallsInBins(bins=10_000), steps=20_000, strategy=strategy)
    assert list(hs.methods(plan)) == ["gaussian", "renyi", "gram"]
    with pytest.raises(hs.errors.UnsupportedPlan, match="at most 8,000"):
        hs.account(plan, noise_multiplier=3.0, method="conditional")
