"""Blocks of steps as one: against simulated runs with all participation patterns."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import binom

import hockeystick as hs
from hockeystick import strategies
from hockeystick._numerics.law import Resolution
from hockeystick.analyses.poisson_reduction import (
    block_lengths,
    block_profile,
    block_sizes,
    independent_bound,
    step_profile,
)
from hockeystick.schemes import ConjecturedUserMinSep, MinSep, UserMinSep
from hockeystick.schemes.pairs import several_sampled
from in_one_test import in_one_test
from references.participation_patterns import likelihood_ratio, min_sep_patterns, user_patterns

STEPS, RATE, DRAWS = 6, 0.25, 100_000
CASES = {
    "cold": (
        MinSep(rate=RATE, separation=3, warm_start=False),
        min_sep_patterns(STEPS, rate=RATE, separation=3),
    ),
    "warm": (
        MinSep(rate=RATE, separation=3),
        min_sep_patterns(STEPS, rate=RATE, separation=3, warm=True),
    ),
    "more bands than rest": (
        MinSep(rate=RATE, separation=2),
        min_sep_patterns(STEPS, rate=RATE, separation=2, warm=True),
    ),
    "user": (
        UserMinSep(rate=RATE / 2, separation=3, examples_per_user=2),
        user_patterns(STEPS, rate=RATE / 2, separation=3, examples=2),
    ),
    "participations": (
        ConjecturedUserMinSep(rate=RATE / 2, separation=3, examples_per_user=2),
        user_patterns(STEPS, rate=RATE / 2, separation=3, examples=2, by_draws=False),
    ),
}


def simulated_losses(patterns, matrix, *, present, seed):
    """log LR of runs with or without the example, in units of the noise."""
    rng = np.random.default_rng(seed)
    outputs = rng.standard_normal((DRAWS, STEPS))
    if present:
        chances = np.array([chance for chance, _ in patterns])
        counts = np.array([counts for _, counts in patterns])
        drawn = rng.choice(len(patterns), size=DRAWS, p=chances / chances.sum())
        outputs += counts[drawn] @ matrix.T
    return np.log(likelihood_ratio(patterns, matrix, outputs))


@in_one_test
@pytest.mark.slow
@pytest.mark.parametrize("direction", ["remove", "add"])
@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("bands", [3, 5])
def test_blocks_dominate(name, bands, direction):
    """Blocks, whatever is taken besides them, are not below what simulated runs show."""
    scheme, patterns = CASES[name]
    noise, epsilon = 0.8, 1.0
    strategy = strategies.bsr(STEPS, bands=bands)
    plan = hs.Plan(sampling=scheme, steps=STEPS, strategy=strategy)
    bounds = [
        block_profile(plan, noise, size).delta_bounds(
            epsilon, directions=(direction,), accuracy=0.01
        )
        for size in block_sizes(plan)
    ]
    matrix = strategy.to_matrix() / noise
    losses = simulated_losses(patterns, matrix, present=direction == "remove", seed=bands)
    values = np.maximum(-np.expm1(epsilon - (losses if direction == "remove" else -losses)), 0.0)
    error = values.std() / math.sqrt(DRAWS)
    assert 4 * error < 0.1 * values.mean()
    assert all(values.mean() - 4 * error < bound.upper < 1 for bound in bounds)


@pytest.mark.parametrize(
    ("bands", "separation", "expected"),
    [
        (16, 16, [2, 4, 8, 16]),
        (16, 100, [2, 4, 8, 16]),
        (16, 5, [2, 4, 5]),
        (2, 8, [2]),
        (8, 1, []),
        (1, 8, []),
    ],
)
def test_sizes(bands, separation, expected):
    """No block is longer than the rest, nor than it takes for columns to end."""
    plan = hs.Plan(
        sampling=MinSep(rate=0.1, separation=separation),
        steps=100,
        strategy=strategies.bsr(100, bands=bands),
    )
    assert block_sizes(plan) == expected


def test_lengths_of_any_matrix():
    """Equal shares: two classes if the columns of a block end in the next one, and so on."""
    matrix = np.diag([1.0, 3.0, 2.0, 1.0, 5.0]) + np.diag(np.full(4, 1e-9), -1)
    lengths = block_lengths(strategies.from_matrix(matrix), 2)
    np.testing.assert_allclose(lengths / math.sqrt(2), [3.0, 2.0, 5.0], rtol=1e-9)
    assert (lengths / math.sqrt(2) >= [3.0, 2.0, 5.0]).all()


@pytest.mark.slow
@pytest.mark.parametrize(("noise", "better"), [(1.0, "blocks"), (20.0, "steps")])
def test_the_better_one_counts(noise, better):
    """Blocks at low noise, single steps at high noise, never more than either."""
    plan = hs.Plan(
        sampling=MinSep(rate=0.01, separation=16),
        steps=400,
        strategy=strategies.bsr(400, bands=16),
    )
    profiles = {
        "steps": step_profile(plan, noise),
        "blocks": block_profile(plan, noise, 8),
    }
    values = {name: profile.reverse().epsilon(1e-5) for name, profile in profiles.items()}
    assert min(values, key=values.get) == better
    found = independent_bound(plan, noise).epsilon(1e-5, directions=("add",), accuracy=1e-3)
    assert found.value <= values[better] * (1 + 3e-3)
    assert found.value > values[better] / 2


@pytest.mark.parametrize(("copies", "tries"), [(2, 1), (3, 4), (1, 5)])
def test_most_heads_of_several_throws(copies, tries):
    """The law of the largest of several binomial variables, by its moments of order two."""
    rate, mu = 0.2, 0.3
    below = binom.cdf(np.arange(-1, copies + 1), copies, rate) ** tries
    weights = np.diff(below)
    step = hs.Profile.gaussian(noise_multiplier=1 / mu)
    pair = several_sampled(step, rate=rate, copies=copies, tries=tries)
    counts = np.arange(copies + 1)
    second = weights @ np.exp(mu**2 * np.outer(counts, counts)) @ weights
    moments = pair.expression.power_moments(
        2, reverse=False, resolution=Resolution(0.005, 1e-20, 8.0)
    )
    assert math.expm1(moments.log[2]) == pytest.approx(second - 1, rel=1e-3)
