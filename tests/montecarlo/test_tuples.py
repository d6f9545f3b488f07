"""Draws of tuples of replicas: unbiased at any delta, and payoffs within their bound."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

import hockeystick as hs
from hockeystick import strategies
from hockeystick.montecarlo.draws import Job, Payoff, draw_piece, payoffs, pieces_of
from hockeystick.montecarlo.pilot import DrawStatistics
from hockeystick.montecarlo.replica_runs import (
    best_replicas,
    noise_by_bounds,
    noise_with,
    replica_runs,
)
from hockeystick.montecarlo.sequential import sequential_trial
from hockeystick.montecarlo.trials import tightest_run
from hockeystick.montecarlo.verifier import Claim
from hockeystick.schemes.simulation import runs_of
from hypothesis_strategies import thinned


def removal(plan, noise):
    """The run with the example."""
    (run,) = runs_of(plan, present=True)
    return replace(run, noise_multipliers=(noise,))


def drawn_payoffs(run, epsilon, draws, seed):
    """All payoffs of one level."""
    rng = np.random.default_rng(seed)
    blocks = [
        payoffs(drawn, Payoff(epsilon), present=True)[0]
        for drawn in run.prepared().draws(draws, rng)
    ]
    return np.concatenate(blocks)


POISSON = hs.Plan(sampling=hs.Poisson(rate=0.02), steps=300)


@pytest.mark.parametrize("exponent", [3, 5, 8, 12])
def test_poisson_is_unbiased(exponent):
    """Against the exact profile, at deltas from 1e-3 to 1e-12; no payoff exceeds its bound."""
    noise, delta = 1.1, 10.0**-exponent
    exact = hs.account(POISSON, noise_multiplier=noise, direction="remove")
    epsilon = exact.epsilon(delta)
    truth = exact.answer(epsilon=epsilon)
    run, bound = replica_runs(removal(POISSON, noise), epsilon)[0]
    found = drawn_payoffs(run, epsilon, 8_000, seed=exponent)
    assert found.max() <= math.exp(bound)
    error = found.std() / math.sqrt(found.size)
    assert error < 0.06 * truth.value
    assert truth.lower - 4 * error <= found.mean() <= truth.value + 4 * error
    assert bound < math.log(60 * truth.value)


def plane_delta(plan, noise, epsilon):
    """delta of two steps of b-min-sep sampling with separation 2, by integration over the plane."""
    rate, matrix = plan.sampling.rate, plan.strategy.to_matrix()
    starts = np.array([1.0, rate if plan.sampling.warm_start else 0.0])
    starts /= starts.sum()
    first, second = starts[0] * rate, (starts[0] * (1 - rate) + starts[1]) * rate
    grid = np.linspace(-14, 14, 2_801)
    x, y = np.meshgrid(grid, grid)
    mass = np.exp(-(x**2 + y**2) / 2) / (2 * np.pi) * (grid[1] - grid[0]) ** 2
    ratio = np.full_like(x, 1 - first - second)
    for weight, column in ((first, matrix[:, 0]), (second, matrix[:, 1])):
        a, b = column / noise
        ratio += weight * np.exp(a * x + b * y - (a * a + b * b) / 2)
    return float((np.maximum(ratio - math.exp(epsilon), 0) * mass).sum())


@pytest.mark.parametrize("warm", [True, False])
@pytest.mark.parametrize("epsilon", [0.5, 2.0, 4.5])
def test_two_steps_of_min_sep_are_unbiased(warm, epsilon):
    """Against integration, with correlated noise; also for replicas that are let go."""
    plan = hs.Plan(
        sampling=hs.MinSep(rate=0.2, separation=2, warm_start=warm),
        steps=2,
        strategy=strategies.bsr(2, bands=2),
    )
    truth = plane_delta(plan, 1.0, epsilon)
    run, bound = replica_runs(removal(plan, 1.0), epsilon)[0]
    fewer = replace(run, replicas=run.replicas._replace(order=3, resting=1))
    for one in (run, fewer):
        largest = one.prepared().log_largest_payoff(epsilon)
        found = drawn_payoffs(one, epsilon, 60_000, seed=3)
        assert found.max() <= math.exp(largest)
        error = found.std() / math.sqrt(found.size)
        assert abs(found.mean() - truth) <= 4.5 * error + 1e-3 * truth
    assert run.prepared().log_largest_payoff(epsilon) == bound


def test_one_draw_for_several_noises():
    """Draws for one noise are unbiased at noises near it; there they have no bound."""
    epsilon, levels = 1.5, (1.05, 1.1, 1.15)
    run, _ = replica_runs(removal(POISSON, 1.1), epsilon)[0]
    several = replace(run, noise_multipliers=levels)
    job = Job(several, (Payoff(epsilon),), 20_000, seed=4)
    totals = [draw_piece(piece) for piece in pieces_of(job)]
    draws = sum(one.draws for one in totals)
    for level, noise in enumerate(levels):
        mean = sum(float(one.totals[0, level]) for one in totals) / draws
        square = sum(float(one.squares[0, level]) for one in totals) / draws
        error = math.sqrt((square - mean**2) / draws)
        exact = hs.account(POISSON, noise_multiplier=noise, direction="remove").delta(epsilon)
        assert abs(mean - exact) <= 4 * error + 2e-3 * exact
    assert several.prepared().log_largest_payoff(epsilon) == math.inf


def test_the_tightest_run_is_one_of_tuples():
    """Its bound is a bound on delta by itself, and close to it."""
    run, largest = tightest_run(removal(POISSON, 1.1), 1.5)
    exact = hs.account(POISSON, noise_multiplier=1.1, direction="remove").delta(1.5)
    assert run.replicas is not None
    assert exact < largest < 20 * exact


def test_noise_by_bounds_is_near():
    """Without a draw, within a tenth of the noise."""
    source = removal(POISSON, 1.0).prepared().tuples
    exact = hs.calibrate(POISSON, epsilon=1.5, delta=1e-8, direction="remove").noise_multiplier
    for start in (0.5, 1.0, 6.0):
        found, order = noise_by_bounds(source, 1.5, 1e-8, start=start, most=100.0)
        assert found == pytest.approx(exact, rel=0.1)
        assert best_replicas(source, found, 1.5)[0][1].order == order


@pytest.mark.parametrize("power", [-4.0, -30.0, -300.0])
@pytest.mark.parametrize("start", [1e-3, 2.0, 50.0])
def test_a_noise_with_a_bound(power, start):
    """At most what is wanted and close to it; where nothing suffices, or it jumps, still valid."""

    def bound(noise):
        return power * math.log(noise / 2)

    options = {"start": start, "most": 100.0, "close": 0.06}
    found = noise_with(bound, -9.0, **options)
    assert -9.06 <= bound(found) <= -9.0
    assert noise_with(lambda _: 0.0, -9.0, **options) == 100.0
    found = noise_with(lambda noise: -20.0 if noise > 7 else math.inf, -9.0, **options)
    assert 7 < found < 7.1


SMALL = hs.Plan(
    sampling=hs.MinSep(rate=0.1, separation=3), steps=9, strategy=strategies.bsr(9, bands=3)
)


@pytest.mark.slow
@pytest.mark.parametrize("excess", [1.0, 1.1])
def test_false_claims_are_rarely_accepted(excess):
    """1,000 tests of a claim that is false by so much pass at most as often as is stated.

    The pilot is made to believe that the run is far below what is allowed.
    """
    epsilon, noise, q, repetitions = 1.0, 1.2, 0.1, 1_000
    run, bound = replica_runs(removal(SMALL, noise), epsilon)[0]
    truth = float(drawn_payoffs(run, epsilon, 400_000, seed=1).mean())
    allowed = truth * 0.99 / excess
    believed = DrawStatistics(run, 0.8 * allowed, 2.0, math.exp(bound), 10**6, bound)
    trial = sequential_trial(
        believed, epsilon, largest=math.exp(bound), allowed=allowed, false_pass=q, change=1.0
    )
    factors = 1 + trial.payoff.stake * (
        allowed - drawn_payoffs(run, epsilon, repetitions * trial.draws, seed=2)
    )
    assert factors.min() > 0
    evidence = np.cumsum(np.log(factors.reshape(repetitions, trial.draws)), axis=1)
    passed = int((evidence.max(axis=1) >= math.log(1 / q)).sum())
    assert passed <= q * repetitions + 3 * math.sqrt(q * (1 - q) * repetitions)


def test_a_sequential_trial_adds_up_the_evidence():
    """Its payoffs are what the supermartingale lost; it stops when it passes, or is hopeless."""
    epsilon, noise = 1.0, 1.2
    run, bound = replica_runs(removal(SMALL, noise), epsilon)[0]
    plain = drawn_payoffs(run, epsilon, 3_000, seed=8)
    mean = float(plain.mean())
    observed = DrawStatistics(run, mean, plain.var() / mean**2, plain.max(), 3_000, bound)
    options = {"largest": math.exp(bound), "false_pass": 1e-3, "change": 1.0}
    trial = sequential_trial(observed, epsilon, allowed=1.3 * mean, **options)
    job = Job(run, (trial.payoff,), 3_000, seed=9)
    (piece,) = pieces_of(job)
    sums = draw_piece(piece)
    assert trial.passed(sums)
    assert trial.settled(sums)
    assert trial.mean(sums) == pytest.approx(mean, rel=0.2)
    strict = replace(trial, payoff=trial.payoff._replace(cap=0.5 * mean), allowed=0.5 * mean)
    (piece,) = pieces_of(replace(job, payoffs=(strict.payoff,)))
    assert strict.settled(draw_piece(piece))
    assert not strict.passed(draw_piece(piece))
    assert sequential_trial(observed, epsilon, allowed=mean, **options) is None
    # A payoff that is not a number passes nothing.
    broken = replace(sums, totals=np.full_like(sums.totals, np.nan))
    assert not trial.passed(broken)
    assert trial.settled(broken)


def test_both_directions_are_tested_by_removing():
    """Adding alone by itself."""
    sides = {"both": ("remove", "add"), "add": ("add",), "remove": ("remove",)}
    present = {
        name: [run.present for run in Claim(SMALL, 1.0, 1e-3, side).runs(1.0)]
        for name, side in sides.items()
    }
    assert present == {"both": [True], "add": [False], "remove": [True]}


@pytest.mark.slow
@pytest.mark.parametrize(("exponent", "bands"), thinned([(8, 4), (5, 4), (8, 8)], normal=1))
def test_verified_calibration_at_any_delta(exponent, bands):
    """Half a per cent of noise above the estimate, with some ten thousand draws."""
    sampling = hs.MinSep.for_batch_size(500, examples=50_000, separation=bands)
    plan = hs.Plan(sampling=sampling, steps=500, strategy=strategies.bsr(500, bands=bands))
    question = {"epsilon": 2.0, "delta": 10.0**-exponent}
    estimate = hs.estimate_noise(plan, seed=2, **question)
    found = hs.calibrate(plan, method=hs.MonteCarlo(seed=3), **question)
    details = found.guarantee.answer(delta=question["delta"]).details
    assert found.guarantee.kind == "verified"
    assert estimate.noise_multiplier < found.noise_multiplier < 1.006 * estimate.noise_multiplier
    assert details["draws"] < 300_000
    assert details["largest_payoff"] < 100 * question["delta"]
    assert found.noise_multiplier < details["fallback"] < 1.2 * estimate.noise_multiplier
