"""The lower bound that counts participations: below the truth, and close to it at high noise."""

from __future__ import annotations

import math

import numpy as np
import pytest

import hockeystick as hs
from hockeystick import strategies
from hockeystick.analyses.renyi.counted import counted_lower


def plane_delta(plan, noise, epsilon):
    """delta of two steps of b-min-sep sampling with separation 2, by integration over the plane."""
    rate, matrix = plan.sampling.rate, plan.strategy.to_matrix()
    starts = np.array([1.0, rate if plan.sampling.warm_start else 0.0])
    starts /= starts.sum()
    first, second = starts[0] * rate, (starts[0] * (1 - rate) + starts[1]) * rate
    grid = np.linspace(-12, 14, 1_301)
    x, y = np.meshgrid(grid, grid)
    mass = np.exp(-(x**2 + y**2) / 2) / (2 * np.pi) * (grid[1] - grid[0]) ** 2
    ratio = np.full_like(x, 1 - first - second)
    for weight, column in ((first, matrix[:, 0]), (second, matrix[:, 1])):
        a, b = column / noise
        ratio += weight * np.exp(a * x + b * y - (a * a + b * b) / 2)
    return float((np.maximum(ratio - math.exp(epsilon), 0) * mass).sum())


@pytest.mark.parametrize("warm", [True, False])
@pytest.mark.parametrize("toeplitz", [True, False])
def test_below_the_truth(warm, toeplitz):
    """Against integration, for delta and, inverted, for epsilon."""
    strategy = strategies.bsr(2, bands=2)
    if not toeplitz:
        strategy = strategies.from_matrix(np.array([[1.0, 0.0], [0.3, 0.8]]))
    scheme = hs.MinSep(rate=0.2, separation=2, warm_start=warm)
    plan = hs.Plan(sampling=scheme, steps=2, strategy=strategy)
    for noise in (0.6, 1.0, 4.0):
        below = counted_lower(plan, noise)
        for epsilon in (0.02, 0.5, 2.0):
            truth = plane_delta(plan, noise, epsilon)
            lower = below.delta(epsilon)
            assert 0 <= lower <= truth * (1 + 1e-4)
            if truth > 1e-12:
                assert below.epsilon(truth * (1 + 1e-4)) <= epsilon
    assert counted_lower(plan, 4.0).delta(0.02) > 0.7 * plane_delta(plan, 4.0, 0.02)


def test_against_the_exact_profile():
    """Poisson sampling: below it everywhere, and within 3 % of epsilon at high noise."""
    plan = hs.Plan(sampling=hs.Poisson(rate=0.02), steps=400)
    same = hs.Plan(sampling=hs.MinSep(rate=0.02, separation=1), steps=400)
    for noise, part in ((0.8, 0.2), (5.0, 0.97)):
        exact = hs.account(plan, noise_multiplier=noise, method="profile", direction="remove")
        below = counted_lower(same, noise)
        for delta in (1e-3, 1e-6, 1e-10):
            answer = exact.answer(delta=delta)
            assert part * answer.value <= below.epsilon(delta) <= answer.value
            at = exact.answer(epsilon=answer.value)
            assert below.delta(answer.value) <= at.value


def test_it_stands_beside_the_proven_number():
    """b-min-sep: at most a fifth below, none for adding alone or with a limit."""
    sampling = hs.MinSep.for_batch_size(50, examples=5_000, separation=4)
    strategy = strategies.bsr(400, bands=4)
    plan = hs.Plan(sampling=sampling, steps=400, strategy=strategy)
    answer = hs.account(plan, noise_multiplier=3.0, method="renyi").answer(delta=1e-5)
    assert 0.8 * answer.value < answer.lower < answer.value
    add = hs.account(plan, noise_multiplier=3.0, method="renyi", direction="add")
    assert add.answer(delta=1e-5).lower is None
    limited = hs.Plan(
        sampling=hs.MinSep(rate=0.01, separation=4, max_participations=2),
        steps=400,
        strategy=strategy,
    )
    assert counted_lower(limited, 3.0) is None
