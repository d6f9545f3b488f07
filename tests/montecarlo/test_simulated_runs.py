"""Draws of whole runs: their laws, their densities and the weights of proposals."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

import hockeystick as hs
from hockeystick.montecarlo.draws import Payoff
from hockeystick.randomness import generator
from in_one_test import in_one_test
from montecarlo.medium_runs import SCHEMES, payoffs_of, proposals_of, simulation
from references.participating_plans import SHORT_RUNS, prepared

# Together they take seconds; `make test` runs them.
pytestmark = pytest.mark.slow


def drawn_of(run, *, draws=12_000, seed=11):
    """Losses and log weights of all draws."""
    blocks = list(run.prepared().draws(draws, generator(seed)))
    losses = np.concatenate([block.losses for block in blocks], axis=1)
    assert losses.shape == (len(run.noise_multipliers), draws)
    if blocks[0].log_weights is None:
        return losses[0], np.zeros(draws)
    return losses[0], np.concatenate([block.log_weights for block in blocks])


def is_mean(values, expectation, *, errors=4.0):
    """Whether the mean is where it should be, in standard errors."""
    error = values.std(ddof=1) / math.sqrt(values.size)
    return abs(values.mean() - expectation) <= errors * error


@in_one_test
@pytest.mark.parametrize("name", SCHEMES)
def test_mean_of_the_inverse_ratio_with_the_example(name):
    """E_P[1/LR] = 1, and 1/LR is not constant."""
    losses, _ = drawn_of(simulation(name, present=True))
    inverse = np.exp(-losses)
    assert is_mean(inverse, 1.0)
    assert inverse.std() > 0.05


@in_one_test
@pytest.mark.parametrize("name", SCHEMES)
def test_mean_of_the_ratio_without_the_example(name):
    """E_Q[LR] = 1."""
    losses, _ = drawn_of(simulation(name, present=False))
    assert is_mean(np.exp(losses), 1.0)
    assert losses.std() > 0.05


@in_one_test
@pytest.mark.parametrize("name", SCHEMES)
@pytest.mark.parametrize("present", [True, False])
def test_weights_of_proposals_have_mean_one(name, present):
    """E_R[w] = 1; so has E_R[w/LR] or E_R[w LR], which ties the weights to the losses."""
    run = simulation(name, present=present)
    sign = -1.0 if present else 1.0
    for proposal in proposals_of(run):
        losses, log_weights = drawn_of(replace(run, proposal=proposal))
        assert log_weights.std() > 0
        assert is_mean(np.exp(log_weights), 1.0)
        assert is_mean(np.exp(log_weights + sign * losses), 1.0)


@in_one_test
@pytest.mark.parametrize("name", SCHEMES)
@pytest.mark.parametrize("present", [True, False])
def test_proposals_agree_with_draws_of_the_run(name, present):
    """The same delta from where ever the draws come."""
    run = simulation(name, present=present)
    payoff = Payoff(0.3)
    plain = payoffs_of(run, payoff)
    assert 0.003 < plain.mean() < 0.5
    for proposal in proposals_of(run):
        other = payoffs_of(replace(run, proposal=proposal), payoff, seed=12)
        error = math.hypot(plain.std(), other.std()) / math.sqrt(plain.size)
        assert abs(plain.mean() - other.mean()) <= 4 * error


@pytest.mark.parametrize("run", SHORT_RUNS, ids=lambda run: run.name)
def test_frequencies_of_patterns(run):
    """Trajectories against the enumeration, by chi-square over all patterns."""
    law = prepared(run, noise=1.0).law
    draws = 40_000
    where, times, number = law.trajectories(draws, np.random.default_rng(21))
    counts = np.zeros((draws, run.plan.steps), dtype=np.int64)
    inside = np.arange(where.shape[1]) < number[:, None]
    draw, entry = np.nonzero(inside)
    if isinstance(run.plan.sampling, hs.BallsInBins):
        for one, first in zip(draw, where[draw, entry], strict=True):
            counts[one, first :: run.plan.sampling.bins] = 1
    else:
        counts[draw, where[draw, entry]] = times[draw, entry]
    seen, frequency = np.unique(counts, axis=0, return_counts=True)
    observed = {tuple(map(int, row)): int(n) for row, n in zip(seen, frequency, strict=True)}
    expected = {pattern: draws * chance for chance, pattern in run.patterns}
    assert set(observed) <= set(expected)
    common = [pattern for pattern, mean in expected.items() if mean >= 5]
    rest = draws - sum(expected[pattern] for pattern in common)
    rest_seen = draws - sum(observed.get(pattern, 0) for pattern in common)
    statistic = sum((observed.get(p, 0) - expected[p]) ** 2 / expected[p] for p in common)
    statistic += (rest_seen - rest) ** 2 / rest if rest > 5 else 0.0
    # A chi-square variable with k degrees of freedom has deviation sqrt(2 k).
    freedom = max(len(common) - 1, 1)
    assert statistic <= freedom + 5 * math.sqrt(2 * freedom)


@pytest.mark.parametrize("name", ["warm", "user", "cyclic", "bins"])
def test_several_noise_levels_share_their_draws(name):
    """Each level has the losses that it has alone, from the same random numbers."""
    run = simulation(name, present=True)
    levels = (1.0, 2.0, 4.0)
    together = next(replace(run, noise_multipliers=levels).prepared().draws(50, generator(4)))
    for level, noise in enumerate(levels):
        alone = next(replace(run, noise_multipliers=(noise,)).prepared().draws(50, generator(4)))
        np.testing.assert_array_equal(together.losses[level], alone.losses[0])
