"""Balls-in-bins with correlated noise: `renyi` and `conditional` against the truth."""

from __future__ import annotations

import itertools
import time

import numpy as np
import pytest

import hockeystick as hs
from hockeystick.analyses.conditional.bound import ConditionalBound
from hockeystick.profile.resolution import BOTH
from hypothesis_strategies import thinned

PROVEN = ("gaussian", "renyi", "conditional")


def plan_of(strategy: hs.strategies.Strategy, bins: int) -> hs.Plan:
    """The strategy's steps under balls-in-bins."""
    return hs.Plan(sampling=hs.BallsInBins(bins=bins), steps=strategy.steps, strategy=strategy)


def random_plan(rng: np.random.Generator) -> tuple[hs.Plan, float]:
    """Any strategy, two to twelve bins, up to three epochs, whole or not; and a noise for it."""
    bins = int(rng.integers(2, 13))
    steps = int(rng.integers(max(2, bins // 2), 3 * bins + 1))
    bands = int(rng.integers(1, min(steps, 6) + 1))
    factors = [
        lambda: hs.strategies.identity(steps),
        lambda: hs.strategies.bsr(steps, bands),
        lambda: hs.strategies.bisr(steps, bands),
        lambda: hs.strategies.from_coefficients(np.append(1.0, rng.random(bands - 1)), steps=steps),
        lambda: hs.strategies.from_matrix(np.eye(steps) + np.tril(rng.random((steps, steps)), -1)),
    ]
    strategy = factors[int(rng.integers(len(factors)))]()
    longest = float(np.sqrt(np.diagonal(strategy.gram(spacing=bins)).max()))
    return plan_of(strategy, bins), longest * float(rng.uniform(0.5, 3.0))


@pytest.mark.slow
@pytest.mark.parametrize("seed", thinned(range(8), normal=1))
def test_no_claim_is_below_monte_carlo(seed):
    """On random plans, in both directions, no delta is below the simulated lower bound."""
    rng = np.random.default_rng(seed + 11)
    informative = 0
    for case in range(12):
        plan, noise = random_plan(rng)
        used = min(plan.sampling.bins, plan.steps)
        share = used / plan.sampling.bins
        levels = plan.strategy.summed_columns(spacing=plan.sampling.bins) / noise
        conditional = ConditionalBound(lambda levels=levels: levels)
        for direction, epsilon in itertools.product(("remove", "add"), (0.1, 0.5)):
            seen = hs.estimate_delta(
                plan, noise_multiplier=noise, epsilon=epsilon, direction=direction,
                draws=20_000, miss=1e-7, rng=case,
            )  # fmt: skip
            for method in ("gaussian", "renyi"):
                claim = hs.account(
                    plan, noise_multiplier=noise, method=method, direction=direction, budget=1e6
                )
                assert claim.delta(epsilon) >= seen.low, (plan, noise, method)
            if share == 1:
                claimed = conditional.delta_at(1e-3, epsilon, direction, 0.2)
                assert claimed >= seen.low, (plan, noise, "conditional")
            informative += seen.low > 1e-3
    assert informative > 12


@pytest.mark.slow
@pytest.mark.parametrize("seed", thinned(range(8), normal=1))
def test_epsilons_are_above_monte_carlo(seed):
    """The simulated lower bound on delta at a method's own epsilon is at most the delta asked."""
    plan, noise = random_plan(np.random.default_rng(seed))
    for method, direction in itertools.product(PROVEN, ("remove", "add")):
        guarantee = hs.account(
            plan, noise_multiplier=noise, method=method, direction=direction, accuracy=0.02
        )
        seen = hs.estimate_delta(
            plan, noise_multiplier=noise, epsilon=guarantee.epsilon(0.01), direction=direction,
            draws=50_000, miss=1e-6, rng=seed,
        )  # fmt: skip
        assert seen.low <= 0.01, (plan, noise, method, direction)


@pytest.mark.slow
@pytest.mark.parametrize(("bins", "steps"), [(4, 4), (4, 10), (10, 4)])
@pytest.mark.parametrize("noise", thinned([1.0, 3.0], normal=1))
def test_no_method_is_below_the_exact_profile(bins, steps, noise):
    """With independent noise the truth is known: both methods lie above it, in both directions."""
    plan = plan_of(hs.strategies.identity(steps), bins)
    for direction, delta in (("remove", 1e-2), ("add", 1e-6)):
        exact, *others = (
            hs.account(plan, noise_multiplier=noise, method=method, direction=direction)
            for method in ("profile", "renyi", "conditional")
        )
        lower = exact.answer(delta=delta).lower
        assert lower is not None
        assert all(other.epsilon(delta) >= lower for other in others)


@pytest.mark.slow
def test_auto_takes_the_tighter_one():
    """The answer is the smallest of the proven ones, and says which method gave it."""
    plan = plan_of(hs.strategies.bsr(9, 3), 3)
    proven = [name for name, kind in hs.methods(plan).items() if kind == "proven"]
    assert proven == [*PROVEN, "gram"]
    for noise in (0.7, 4.0):
        found = {
            method: hs.account(plan, noise_multiplier=noise, method=method, budget=1e5).epsilon(
                1e-5
            )
            for method in proven
        }
        best = hs.account(plan, noise_multiplier=noise, budget=1e5).answer(delta=1e-5)
        assert best.value == min(found.values())
        assert found[best.method] == best.value


@pytest.mark.slow
def test_an_answer_says_how_it_was_found():
    """The Renyi order with the bands that it keeps; the probability of the bad event."""
    plan = plan_of(hs.strategies.bsr(300, 4), 100)
    renyi = hs.account(plan, noise_multiplier=2.0, method="renyi").answer(delta=1e-5).details
    assert renyi["effective_bandwidth"] == 4
    assert renyi["exact_moments"] is True
    assert float(str(renyi["order"])) > 2
    short = plan_of(hs.strategies.bsr(20, 4), 5)
    conditional = hs.account(short, noise_multiplier=9.0, method="conditional", accuracy=0.05)
    details = conditional.answer(delta=1e-5).details
    assert 0 < float(str(details["bad_event"])) < 1e-5


@pytest.mark.slow
def test_a_larger_budget_never_hurts():
    """More operations keep more of the matrix."""
    plan = plan_of(hs.strategies.bisr(300, 8), 60)
    values = [
        hs.account(plan, noise_multiplier=6.0, method="renyi", budget=budget).epsilon(1e-5)
        for budget in (1e3, 1e5, 1e7)
    ]
    assert values == sorted(values, reverse=True)
    assert values[-1] < 0.98 * values[0]


@pytest.mark.slow
@pytest.mark.parametrize("method", ["renyi", "conditional"])
def test_idle_bins_dilute(method):
    """With more bins than steps the run is that of the used bins, subsampled."""
    strategy = hs.strategies.bsr(10, 2)
    diluted = hs.account(plan_of(strategy, 40), noise_multiplier=2.0, method=method, accuracy=0.02)
    used = hs.account(plan_of(strategy, 10), noise_multiplier=2.0, method=method, accuracy=0.02)
    inner = used.epsilon(4e-4)
    assert diluted.epsilon(1e-4) <= np.log1p(np.expm1(inner) / 4) * (1 + 0.03)
    assert diluted.epsilon(1e-4) < 0.7 * inner


@pytest.mark.slow
@pytest.mark.parametrize("method", ["renyi", "conditional"])
def test_guarantees_compose(method):
    """Two runs together cost more than one and at most what the profile says of both."""
    plan = plan_of(hs.strategies.bsr(6, 3), 3)
    one = hs.account(plan, noise_multiplier=6.0, method=method, accuracy=0.02)
    both = one.compose(one)
    assert one.epsilon(1e-5) < both.epsilon(1e-5) < 2.2 * one.epsilon(1e-6)
    assert both.kind == "proven"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("steps", "bins"), thinned([(80, 10), (300, 30), (600, 60), (2_000, 100)], normal=1)
)
def test_conditional_is_quick_on_a_long_run(steps, bins):
    """Both directions in under a minute of CPU time."""
    levels = hs.strategies.bsr(steps, 4).summed_columns(spacing=bins) / 12.0
    bound = ConditionalBound(lambda: levels)
    start = time.process_time()
    epsilon = bound.epsilon(1e-5, directions=BOTH, accuracy=1e-3).value
    assert time.process_time() - start < 60
    assert 0 < epsilon < 10
