"""Tuples of balls on a ring of bins: drawn with the weights that enumeration gives, and bounded."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest

import hockeystick as hs
from hockeystick import strategies
from hockeystick.montecarlo.draws import Payoff, payoffs
from hockeystick.montecarlo.replica_runs import replica_runs
from hockeystick.schemes.balls_in_bins.tuples import BinTupleSource, slots_of_line
from hockeystick.schemes.mixtures import UniformMixture
from hockeystick.schemes.simulation import Replicas, runs_of

NOISE = 1.7


def enumerated(gram, order):
    """The total weight of all tuples with the same numbers of balls in the bins."""
    bins = gram.shape[0]
    totals: dict[tuple[int, ...], float] = {}
    for chosen in itertools.product(range(bins), repeat=order):
        pairs = sum(gram[i, j] for i, j in itertools.combinations(chosen, 2))
        key = tuple(np.bincount(chosen, minlength=bins).tolist())
        totals[key] = totals.get(key, 0.0) + math.exp(pairs) / bins**order
    return totals


CASES = [
    # Steps, bands, bins, order, slots.
    (10, 2, 5, 3, 1),
    (14, 3, 7, 3, 2),
    (14, 3, 7, 4, 1),
    (13, 4, 7, 3, 2),
    (6, 1, 6, 3, 0),
]


@pytest.mark.parametrize("case", CASES)
def test_tuples_have_their_weights(case):
    """By balls in bins, against enumeration; bins that are put together change nothing."""
    steps, bands, bins, order, slots = case
    strategy = strategies.bsr(steps, bands=bands)
    programme = BinTupleSource(strategy, bins).programme(Replicas(order, slots, NOISE))
    totals = enumerated(UniformMixture(strategy, bins).kernel / NOISE**2, order)
    draws = 30_000
    drawn = programme.draw(draws, np.random.default_rng(1))
    assert drawn.log_weights.max() <= programme.log_largest
    weights = np.exp(drawn.log_weights)
    counts = np.zeros((draws, bins), dtype=int)
    where, times, number = drawn.trajectories
    for i in range(order):
        used = i < number
        counts[used, where[used, i]] += times[used, i]
    assert (counts.sum(axis=1) == order).all()
    total = sum(totals.values())
    # The logarithm of every weight is raised by 1e-8.
    within = 4 * weights.std() / math.sqrt(draws) + 2e-8 * total
    assert weights.mean() == pytest.approx(total, abs=within)
    for key, expected in totals.items():
        found = weights * (counts == key).all(axis=1)
        error = found.std() / math.sqrt(draws) + 3e-5 * total
        assert abs(found.mean() - expected) <= 5 * error
    assert programme.log_largest >= math.log(total)


def test_all_slots_are_exact_and_fewer_never_attract_less():
    """On a line, for every pair of bins."""
    envelope = np.zeros(30)
    envelope[1:8] = [0.9, 0.7, 0.75, 0.5, 0.2, 0.1, 0.05]
    apart = np.subtract.outer(np.arange(30), np.arange(30))
    exact = np.where(apart > 0, envelope[np.maximum(apart, 0)], 0.0)
    assert np.array_equal(slots_of_line(envelope, 7).attraction, exact)
    before = exact.sum()
    for most in (5, 3, 1):
        line = slots_of_line(envelope, most)
        assert (line.attraction >= exact).all()
        assert line.sizes.max() <= most
        assert line.attraction.sum() > before
        before = line.attraction.sum()


def drawn_payoffs(plan, noise, epsilon, draws):
    """Payoffs of the best tuples, and their bound."""
    (run,) = runs_of(plan, present=True)
    best, bound = replica_runs(replace(run, noise_multipliers=(noise,)), epsilon)[0]
    blocks = [
        payoffs(drawn, Payoff(epsilon), present=True)[0]
        for drawn in best.prepared().draws(draws, np.random.default_rng(2))
    ]
    return np.concatenate(blocks), math.exp(bound)


@pytest.mark.parametrize("exponent", [3, 5, 8, 12])
def test_independent_noise_is_unbiased(exponent):
    """Against the exact profile, at deltas from 1e-3 to 1e-12; no payoff exceeds its bound."""
    plan = hs.Plan(sampling=hs.BallsInBins(bins=8), steps=80)
    exact = hs.account(plan, noise_multiplier=6.0, direction="remove")
    epsilon = exact.epsilon(10.0**-exponent)
    truth = exact.answer(epsilon=epsilon)
    found, bound = drawn_payoffs(plan, 6.0, epsilon, 12_000)
    assert found.max() <= bound
    error = found.std() / math.sqrt(found.size)
    assert error < 0.1 * truth.value
    assert truth.lower - 4 * error <= found.mean() <= truth.value + 4 * error


@pytest.mark.parametrize("epsilon", [1.0, 2.5])
def test_correlated_noise_is_unbiased(epsilon):
    """Three bins with two bands, against integration over their inner products."""
    strategy = strategies.bsr(9, bands=2)
    plan = hs.Plan(sampling=hs.BallsInBins(bins=3), steps=9, strategy=strategy)
    gram = UniformMixture(strategy, 3).kernel / 3.0**2
    root = np.linalg.cholesky(gram)
    grid = np.linspace(-8, 8, 101)
    points = np.stack(np.meshgrid(grid, grid, grid), axis=-1).reshape(-1, 3)
    mass = np.exp(-(points**2).sum(axis=1) / 2) * ((grid[1] - grid[0]) / math.sqrt(2 * np.pi)) ** 3
    ratio = np.exp(points @ root.T - np.diagonal(gram) / 2).mean(axis=1)
    truth = float((np.maximum(ratio - math.exp(epsilon), 0) * mass).sum())
    found, bound = drawn_payoffs(plan, 3.0, epsilon, 20_000)
    error = found.std() / math.sqrt(found.size)
    assert found.max() <= bound
    assert error < 0.05 * truth
    assert found.mean() == pytest.approx(truth, abs=4 * error + 2e-3 * truth)


@pytest.mark.slow
def test_wide_bands_are_verified():
    """More bands than slots, at a delta that plain draws cannot reach."""
    strategy = strategies.band_mf(40, bands=8)
    plan = hs.Plan(sampling=hs.BallsInBins(bins=20), steps=40, strategy=strategy)
    method = hs.MonteCarlo(seed=1, draws=20_000)
    found = hs.calibrate(plan, epsilon=4.0, delta=1e-8, method=method)
    assert found.guarantee.kind == "verified"
    details = found.guarantee.answer(delta=1e-8).details
    assert details["accepted"]
    assert found.noise_multiplier < 0.97 * details["fallback"]
