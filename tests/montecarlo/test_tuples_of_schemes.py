"""Tuples for random allocation and Poisson sampling with correlated noise, and secret phases."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import hockeystick as hs
from hockeystick import strategies
from hockeystick.errors import UnsupportedPlan
from hockeystick.montecarlo.pilot import DrawStatistics
from hockeystick.montecarlo.replica_runs import replica_runs
from hockeystick.montecarlo.sequential import sequential_trial
from hockeystick.schemes.simulation import log_largest_payoff
from hypothesis_strategies import thinned
from montecarlo.test_tuples import drawn_payoffs, removal

STEPS = 3


def plan_of(sampling, bands, steps=STEPS):
    """With the square root."""
    return hs.Plan(sampling=sampling, steps=steps, strategy=strategies.bsr(steps, bands=bands))


# By name: the plan, and the probabilities of the sets of steps that are joined.
def blocks():
    """One of two steps, then one of two of which only the first is run."""
    return {(first, second): 0.5 * 0.5 for first in ((1, 0), (0, 1)) for second in ((1,), (0,))}


def single_steps(rate):
    """Every step by itself."""
    sets = itertools.product((0, 1), repeat=STEPS)
    return {x: rate ** sum(x) * (1 - rate) ** (STEPS - sum(x)) for x in sets}


def phases(rate):
    """The steps 0 and 2, or step 1."""
    both = {
        (a, 0, b): rate ** (a + b) * (1 - rate) ** (2 - a - b) / 2 for a in (0, 1) for b in (0, 1)
    }
    one = {(0, a, 0): (rate if a else 1 - rate) / 2 for a in (0, 1)}
    return {x: both.get(x, 0.0) + one.get(x, 0.0) for x in both | one}


PLANS = {
    "allocation": (
        plan_of(hs.RandomAllocation(picks=1, out_of=2, truncate=True), 3),
        {sum(x, ()): chance for x, chance in blocks().items()},
    ),
    "poisson": (plan_of(hs.Poisson(rate=0.2), 3), single_steps(0.2)),
    "phases": (
        plan_of(hs.CyclicPoisson(rate=0.6, groups=2, random_phase=True), 2),
        phases(0.6),
    ),
}


@cache
def integrated(name, noise, epsilon):
    """delta by integration, and that of the recursion without products of one's own columns."""
    plan, law = PLANS[name]
    matrix, grid = plan.strategy.to_matrix() / noise, np.linspace(-9, 13, 133)
    mesh = np.stack(np.meshgrid(*[grid] * STEPS, indexing="ij"), axis=-1).reshape(-1, STEPS)
    mass = np.exp(-(mesh**2).sum(axis=1) / 2) * ((grid[1] - grid[0]) / math.sqrt(2 * math.pi)) ** 3
    ratio, recursion = np.zeros(len(mesh)), np.zeros(len(mesh))
    for x, chance in law.items():
        mean = matrix @ np.array(x, dtype=float)
        own = float((matrix**2).sum(axis=0) @ np.array(x))
        exponent = mesh @ mean
        ratio += chance * np.exp(exponent - mean @ mean / 2)
        recursion += chance * np.exp(exponent - own / 2)
    above = np.maximum(1 - math.exp(epsilon) / recursion, 0)
    return (
        float((np.maximum(ratio - math.exp(epsilon), 0) * mass).sum()),
        float((ratio * above * mass).sum()),
    )


@pytest.mark.parametrize("name", PLANS)
@pytest.mark.parametrize(
    ("noise", "epsilon"), thinned([(1.2, 1.0), (1.2, 3.0), (2.0, 1.5), (2.0, 2.5)], normal=2)
)
def test_payoffs_are_unbiased_and_bounded(name, noise, epsilon):
    """Against integration over three steps; every payoff is at most M, in every order."""
    plan, _ = PLANS[name]
    run = removal(plan, noise)
    source = run.prepared().tuples
    exact, bound = integrated(name, noise, epsilon)
    assert exact <= bound * (1 + 1e-9)
    assert (name == "phases") == (bound == pytest.approx(exact, rel=1e-9))
    for order in (2, 3, 4):
        replicas = source.replicas(order, noise)
        largest = log_largest_payoff(source.log_largest(replicas), order, epsilon)
        found = drawn_payoffs(replace(run, replicas=replicas), epsilon, 20_000, seed=order)
        assert found.max() <= math.exp(largest)
        error = found.std() / math.sqrt(found.size)
        # Far above the best order draws may all miss what counts.
        if largest < math.log(200 * bound):
            assert abs(found.mean() - bound) <= 4.5 * error + 2e-3 * bound
        assert exact <= math.exp(largest)


@pytest.mark.parametrize(
    ("name", "noise", "epsilon", "order"),
    [("allocation", 3.0, 3.0, 10), ("poisson", 2.0, 3.5, 6), ("phases", 2.0, 2.5, 6)],
)
def test_small_deltas(name, noise, epsilon, order):
    """Below 1e-4, with ten thousand draws."""
    run = removal(PLANS[name][0], noise)
    source = run.prepared().tuples
    replicas = source.replicas(order, noise)
    _, bound = integrated(name, noise, epsilon)
    assert 1e-11 < bound < 1e-4
    found = drawn_payoffs(replace(run, replicas=replicas), epsilon, 10_000, seed=order)
    assert found.max() <= math.exp(log_largest_payoff(source.log_largest(replicas), order, epsilon))
    error = found.std() / math.sqrt(found.size)
    assert error < 0.2 * bound
    assert abs(found.mean() - bound) <= 4.5 * error + 2e-3 * bound


@pytest.mark.slow
@pytest.mark.parametrize("name", thinned(list(PLANS), normal=1))
def test_false_claims_are_rarely_accepted(name):
    """1,000 tests of a claim just below the truth; the pilot is made to believe that it is true."""
    noise, epsilon, q, repetitions = 1.5, 1.5, 0.1, 1_000
    run, bound = replica_runs(removal(PLANS[name][0], noise), epsilon)[0]
    _, truth = integrated(name, noise, epsilon)
    believed = DrawStatistics(run, 0.8 * truth, 2.0, math.exp(bound), 10**6, bound)
    trial = sequential_trial(
        believed,
        epsilon,
        largest=math.exp(bound),
        allowed=0.999 * truth,
        false_pass=q,
        change=1.0,
    )
    found = drawn_payoffs(run, epsilon, repetitions * trial.draws, seed=2)
    factors = 1 + trial.payoff.stake * (0.999 * truth - found)
    assert factors.min() > 0
    evidence = np.cumsum(np.log(factors.reshape(repetitions, trial.draws)), axis=1)
    passed = int((evidence.max(axis=1) >= math.log(1 / q)).sum())
    assert passed <= q * repetitions + 3 * math.sqrt(q * (1 - q) * repetitions)


def enumerated_moment(name, noise, order, *, table):
    """E_Q[LR f^(order - 1)], f the recursion, over all tuples; what the table has in its place.

    That counts the pairs of the first replica as well, with the largest product at each distance.
    """
    plan, law = PLANS[name]
    matrix = plan.strategy.to_matrix() / noise
    gram = matrix.T @ matrix
    if table:
        largest = [np.diag(gram, lag).max() for lag in range(STEPS)]
        gram = np.array([[largest[abs(i - j)] for j in range(STEPS)] for i in range(STEPS)])
    total = 0.0
    for tuples in itertools.product(law.items(), repeat=order):
        x = np.array([one for one, _ in tuples], dtype=float)
        chance = math.prod(chance for _, chance in tuples)
        whole = x.sum(axis=0)
        own = (np.diag(gram) * x).sum()
        first = 0.0 if table else x[0] @ gram @ x[0] - np.diag(gram) @ x[0]
        total += chance * math.exp((whole @ gram @ whole - own - first) / 2)
    return total


@pytest.mark.parametrize("name", PLANS)
def test_bounds_cover_the_moments(name):
    """Against enumeration of all tuples: never below the truth, and what the page says."""
    plan, _ = PLANS[name]
    source = removal(plan, 1.5).prepared().tuples
    for order in (2, 3, 4):
        found = math.exp(source.log_largest(source.replicas(order, 1.5)))
        assert enumerated_moment(name, 1.5, order, table=False) <= found
        of_table = enumerated_moment(name, 1.5, order, table=True)
        if name == "phases":
            # With a turn more than the run has.
            assert of_table <= found <= 20 * of_table
        else:
            assert found == pytest.approx(of_table, rel=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("bands", [3, 9])
def test_slots_are_valid(bands):
    """With fewer slots than bands bounds grow, and payoffs keep their mean."""
    sampling = hs.RandomAllocation(picks=1, out_of=8)
    plan = plan_of(sampling, bands, steps=24)
    run, epsilon, noise = removal(plan, 2.0), 1.5, 2.0
    source = run.prepared().tuples
    replicas = source.replicas(3, noise)
    assert replicas.resting == bands - 1
    fine = drawn_payoffs(replace(run, replicas=replicas), epsilon, 40_000, seed=1)
    coarse = replicas._replace(resting=2)
    assert source.log_largest(coarse) >= source.log_largest(replicas)
    found = drawn_payoffs(replace(run, replicas=coarse), epsilon, 40_000, seed=2)
    assert found.max() <= math.exp(log_largest_payoff(source.log_largest(coarse), 3, epsilon))
    error = math.hypot(found.std(), fine.std()) / math.sqrt(found.size)
    assert abs(found.mean() - fine.mean()) <= 4.5 * error


@pytest.mark.long
@pytest.mark.parametrize(
    ("sampling", "bands"),
    [
        (hs.CyclicPoisson(rate=0.04, groups=4, random_phase=True), 4),
        (hs.RandomAllocation(picks=1, out_of=50), 4),
        (hs.Poisson(rate=0.01), 3),
    ],
)
def test_verified_close_to_the_estimate(sampling, bands):
    """At a delta that draws of the run itself cannot see."""
    plan, question = plan_of(sampling, bands, steps=200), {"epsilon": 2.0, "delta": 1e-8}
    estimate = hs.estimate_noise(plan, seed=2, **question)
    found = hs.calibrate(plan, method=hs.MonteCarlo(seed=3), **question)
    details = found.guarantee.answer(delta=1e-8).details
    assert details["accepted"]
    assert details["draws"] < 500_000
    assert estimate.noise_multiplier < found.noise_multiplier < 1.02 * estimate.noise_multiplier


def test_several_picks_are_refused():
    """With correlated noise there is one pick."""
    plan = plan_of(hs.RandomAllocation(picks=2, out_of=4), 2, steps=8)
    with pytest.raises(UnsupportedPlan, match="one pick"):
        hs.verify(plan, noise_multiplier=5.0, epsilon=1.0, delta=1e-2, draws=1_000)
