"""The method `gram`: never below a simulated run, and its lower bound never above."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest

import hockeystick as hs
from hypothesis_strategies import thinned

BUDGETS = (1e4, 1e5)
STRATEGIES = {
    "bsr": (hs.strategies.bsr(6, 4), 6),
    "bsr, two epochs": (hs.strategies.bsr(10, 5), 5),
    "bisr": (hs.strategies.bisr(8, 3), 8),
    "bisr, three epochs": (hs.strategies.bisr(12, 2), 4),
    "band_mf": (hs.strategies.band_mf(12, 4), 6),
    "coefficients": (hs.strategies.from_coefficients([1.0, 0.2, 0.8], steps=7), 5),
    "dense matrix": (hs.strategies.from_matrix(np.tril(np.arange(1.0, 37.0).reshape(6, 6))), 6),
}


def plan_of(strategy, bins):
    """The strategy's steps under balls-in-bins."""
    return hs.Plan(sampling=hs.BallsInBins(bins=bins), steps=strategy.steps, strategy=strategy)


def noise_of(plan, *, factor=1.0):
    """A multiple of the longest mean."""
    gram = plan.strategy.gram(spacing=plan.sampling.bins)
    return factor * math.sqrt(float(np.diagonal(gram).max()))


def gram_of(plan, noise, *, direction="both", budget=1e6):
    """The guarantee of the method."""
    return hs.account(
        plan, noise_multiplier=noise, method="gram", direction=direction, budget=budget
    )


def one_way(claim, direction):
    """The same claim in one direction; laws that were computed are shared."""
    return replace(claim, directions=(direction,))


def bands_of(plan, noise, *, direction, epsilons, seed=1):
    """Bands around delta in one direction; each misses with less than a chance of 1e-7."""
    found = hs.estimate_profile(
        plan, noise_multiplier=noise, epsilons=epsilons, direction=direction,
        draws=20_000, miss=1e-7, seed=seed,
    )  # fmt: skip
    return found[direction]


def assert_delta_is_sound(claim, plan, noise, *, direction, seed=1):
    """delta(0.3) from both sides; returns whether the band says anything."""
    answer = one_way(claim, direction).answer(epsilon=0.3)
    (band,) = bands_of(plan, noise, direction=direction, epsilons=[0.3], seed=seed)
    assert answer.value >= band.low
    assert answer.lower is None or answer.lower <= band.high
    return band.low > 0


def assert_epsilon_is_sound(claim, plan, noise, *, direction, seed=1):
    """epsilon(0.02) from both sides; returns whether the band says anything."""
    answer = one_way(claim, direction).answer(delta=0.02)
    lowest = answer.lower or 0.0
    upper, lower = bands_of(
        plan, noise, direction=direction, epsilons=[answer.value, lowest], seed=seed
    )
    assert upper.low <= 0.02
    assert lowest == 0 or lower.high >= 0.02
    return lower.low > 0


CHECKS = {"delta": assert_delta_is_sound, "epsilon": assert_epsilon_is_sound}


@pytest.mark.slow
@pytest.mark.parametrize("budget", thinned([1e4, 3e5], normal=1))
@pytest.mark.parametrize("name", STRATEGIES)
def test_against_simulated_runs(name, budget):
    """Neither bound is on the wrong side of the bands, in both directions, coarse or fine."""
    plan = plan_of(*STRATEGIES[name])
    noise = noise_of(plan)
    claim = gram_of(plan, noise, budget=budget)
    for check in CHECKS.values():
        for direction in ("remove", "add"):
            assert check(claim, plan, noise, direction=direction)


def random_strategy(rng, steps):
    """Any kind of non-negative strategy, some with a single far band or one full row."""
    bands = int(rng.integers(2, min(steps, 6) + 1))
    far = np.eye(steps) + rng.uniform(0.5, 2.0) * np.eye(steps, k=-int(rng.integers(1, steps)))
    row = rng.uniform(0.1, 1.0) * np.eye(steps)
    row[-1] = np.sort(rng.uniform(0.1, 1.0, steps))[::-1]
    made = [
        lambda: hs.strategies.bsr(steps, bands),
        lambda: hs.strategies.bisr(steps, bands),
        lambda: hs.strategies.from_coefficients(np.append(1.0, rng.random(bands - 1)), steps=steps),
        lambda: hs.strategies.from_matrix(np.eye(steps) + np.tril(rng.random((steps, steps)), -1)),
        lambda: hs.strategies.from_matrix(far),
        lambda: hs.strategies.from_matrix(row),
    ]
    return made[int(rng.integers(len(made)))]()


@pytest.mark.slow
@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(seed, marks=pytest.mark.long) for seed in range(1, 5))]
)
def test_random_plans_against_simulated_runs(seed):
    """Three plans (ten in the long run) of 2 to 8 bins, whole epochs or not, both directions."""
    rng = np.random.default_rng([7, seed])
    informative, count = 0, 10 if seed else 3
    for case in range(count):
        bins = int(rng.integers(2, 9))
        steps = int(rng.integers(max(2, bins // 2), 2 * bins + 1))
        plan = plan_of(random_strategy(rng, steps), bins)
        noise = noise_of(plan, factor=float(rng.uniform(0.5, 2.0)))
        claims = [gram_of(plan, noise, budget=budget) for budget in BUDGETS]
        for direction in ("remove", "add"):
            for claim, check in zip(claims, rng.permutation(list(CHECKS)), strict=True):
                informative += CHECKS[check](claim, plan, noise, direction=direction, seed=case)
    assert informative >= 2 * count


# Coefficients, epochs and bins for which each kind of majorant is the best, with a noise factor.
SHAPES = {
    "between mirrors": (hs.strategies.bsr(72, 12), 24, 1.0),
    "between gaps": (hs.strategies.bsr(90, 2), 30, 1.0),
    "every 2 bins": (hs.strategies.from_coefficients(np.ones(8), steps=96), 32, 0.7),
    "revealed bin": (hs.strategies.from_coefficients(np.ones(8), steps=96), 32, 0.1),
}


@pytest.mark.slow
@pytest.mark.parametrize("shape", SHAPES)
def test_every_kind_of_majorant(shape):
    """Mirrors, gaps and every so-many-th bin: each decides somewhere, and is sound there."""
    strategy, bins, factor = SHAPES[shape]
    plan = plan_of(strategy, bins)
    noise = noise_of(plan, factor=factor)
    claim = gram_of(plan, noise, budget=1e4)
    assert one_way(claim, "remove").answer(epsilon=0.3).details["majorant"].count(shape)
    assert assert_delta_is_sound(claim, plan, noise, direction="remove")
    assert assert_epsilon_is_sound(claim, plan, noise, direction="add")


def test_a_single_far_band():
    """Bins nine apart share much, all others nothing: the lower bound must not exceed the truth."""
    plan = plan_of(hs.strategies.from_matrix(np.eye(14) + 2.0 * np.eye(14, k=-9)), 14)
    assert_both_ways(plan)


def assert_both_ways(plan, *, factor=1.0):
    """delta(0.3) is sound in both directions at a coarse budget."""
    noise = noise_of(plan, factor=factor)
    claim = gram_of(plan, noise, budget=1e4)
    for direction in ("remove", "add"):
        assert assert_delta_is_sound(claim, plan, noise, direction=direction)


@pytest.mark.parametrize("last", [1.0, 0.3])
def test_all_bins_share_one_row(last):
    """A common part, constant or falling, and nothing else between bins: no chain at all."""
    matrix = 0.5 * np.eye(6)
    matrix[-1] = np.linspace(1.0, last, 6)
    assert_both_ways(plan_of(hs.strategies.from_matrix(matrix), 6))


def test_fewer_steps_than_bins():
    """Some examples never take part: still an upper bound, and a smaller one than if all did."""
    strategy = hs.strategies.bsr(4, 3)
    plan = plan_of(strategy, 7)
    assert_both_ways(plan, factor=0.7)
    noise = noise_of(plan, factor=0.7)
    some, everyone = (gram_of(one, noise, budget=1e4) for one in (plan, plan_of(strategy, 4)))
    for direction in ("remove", "add"):
        assert one_way(some, direction).delta(0.3) < one_way(everyone, direction).delta(0.3)


@pytest.mark.parametrize("bins", [1, 2, 5])
def test_independent_noise_is_exact(bins):
    """With the identity the matrix is diagonal: the numbers are those of `profile`."""
    plan = plan_of(hs.strategies.identity(2 * bins), bins)
    exact = hs.account(plan, noise_multiplier=1.3, method="profile")
    claim = gram_of(plan, 1.3)
    assert claim.answer(delta=1e-5)[:2] == exact.answer(delta=1e-5)[:2]
    assert claim.answer(epsilon=0.5)[:2] == exact.answer(epsilon=0.5)[:2]
    assert claim.kind == "proven"


def test_the_profile_is_a_bound():
    """In both directions, at many epsilons, against bands, and never below the lower bound."""
    plan = plan_of(*STRATEGIES["bsr"])
    noise = noise_of(plan)
    claim = gram_of(plan, noise, budget=1e4)
    epsilons = [0.0, 0.1, 0.3, 0.6, 1.0]
    for direction in ("remove", "add"):
        bands = bands_of(plan, noise, direction=direction, epsilons=epsilons)
        profile = claim.profile if direction == "remove" else claim.profile.reverse()
        for epsilon, band in zip(epsilons, bands, strict=True):
            assert profile.delta(epsilon) >= band.low
    assert claim.profile.epsilon(1e-3) >= claim.answer(delta=1e-3).lower


@pytest.mark.slow
def test_composition():
    """Two runs together: more than either, at most what adding up gives, above a simulation."""
    plan = plan_of(*STRATEGIES["bsr, two epochs"])
    noise = noise_of(plan, factor=1.5)
    claim = gram_of(plan, noise, budget=1e5)
    both = claim.compose(claim)
    assert both.kind == "proven"
    for delta in (1e-2, 1e-4):
        assert claim.epsilon(delta) < both.epsilon(delta)
        assert both.epsilon(delta) <= 2.05 * claim.profile.epsilon(delta / 2)
    gram = plan.strategy.gram(spacing=plan.sampling.bins) / noise**2
    for epsilon in (0.3, 1.0):
        value, error = composed_twice(gram, epsilon, draws=40_000)
        assert value > 8 * error
        assert both.delta(epsilon) >= value - 6 * error


def composed_twice(gram, epsilon, *, draws):
    """delta of two independent runs in the direction remove: a mean and its standard error."""
    rng = np.random.default_rng(5)
    root = np.linalg.cholesky(gram)
    ratio = np.ones(draws)
    for _ in range(2):
        chosen = rng.integers(len(gram), size=draws)
        exponents = rng.normal(size=(draws, len(gram))) @ root.T - np.diagonal(gram) / 2
        ratio *= np.exp(exponents + gram[chosen]).mean(axis=1)
    payoff = np.maximum(1 - math.exp(epsilon) / ratio, 0.0)
    return payoff.mean(), payoff.std() / math.sqrt(draws)


@pytest.mark.slow
def test_auto_is_never_worse():
    """With "auto" this method is one of several, and the smallest number is given."""
    plan = plan_of(*STRATEGIES["bisr"])
    noise = noise_of(plan)
    auto = hs.account(plan, noise_multiplier=noise, budget=1e5)
    alone = gram_of(plan, noise, budget=1e5)
    assert "gram" in hs.methods(plan)
    assert auto.epsilon(1e-4) <= alone.epsilon(1e-4)
    assert auto.delta(0.5) <= alone.delta(0.5)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "count"),
    thinned([("bsr", 8), ("bsr", 16), ("dense matrix", 16), ("band_mf", 16)], normal=1),
)
def test_more_noise_is_better(name, count):
    """epsilon decreases with the noise, up to one per cent, from low noise to high noise."""
    plan = plan_of(*STRATEGIES[name])
    noises = [noise_of(plan, factor=factor) for factor in np.geomspace(0.3, 8.5, count)]
    epsilons = [gram_of(plan, noise, budget=3e4).epsilon(1e-5) for noise in noises]
    assert np.all(np.isfinite(epsilons))
    for more, less in itertools.pairwise(epsilons):
        assert less <= 1.01 * more


@pytest.mark.parametrize("scheme", [hs.Poisson(rate=0.1), hs.MinSep(rate=0.5, separation=3)])
def test_other_schemes_are_refused(scheme):
    """The sentence names the scheme that was given, and what it does not offer."""
    plan = hs.Plan(sampling=scheme, steps=6, strategy=hs.strategies.bsr(6, 3))
    assert "gram" not in hs.methods(plan)
    with pytest.raises(hs.errors.UnsupportedPlan, match=f"{scheme.name} is not a uniform mixture"):
        gram_of(plan, 1.0)


def test_other_mechanisms_are_refused():
    """A mechanism of one's own has no Gram matrix."""
    own = hs.Profile.laplace(scale=1.0)
    plan = hs.Plan(sampling=hs.BallsInBins(bins=3), steps=3, mechanism=own)
    with pytest.raises(hs.errors.UnsupportedPlan, match="Gaussian mechanism"):
        hs.account(plan, method="gram")
