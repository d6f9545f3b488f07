"""Tuples of replicas: drawn with the weights that enumeration gives, never above their bound."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest

import hockeystick as hs
from hockeystick import strategies
from hockeystick.analyses.renyi.replicas import MinSepWalk, replica_moments
from hockeystick.montecarlo.draws import Payoff, payoffs
from hockeystick.schemes.capabilities import Renewal
from hockeystick.schemes.simulation import Replicas, log_largest_payoff, runs_of
from hockeystick.schemes.simulation.replica_states import first_rates
from hockeystick.schemes.simulation.replicas import (
    ReplicaSource,
    column_products,
    number_of_states,
)
from in_one_test import in_one_test

NOISE = 1.3


def trajectories(steps, renewal):
    """All participation vectors with their probabilities."""
    rate, separation, warm = renewal
    starts = [1.0] + [rate if warm else 0.0] * (separation - 1)
    law: dict[tuple[int, ...], float] = {}

    def walk(step, joined, probability):
        if step >= steps:
            law[joined] = law.get(joined, 0.0) + probability
            return
        walk(step + 1, joined, probability * (1 - rate))
        walk(step + separation, (*joined, step), probability * rate)

    for begin, weight in enumerate(starts):
        walk(begin, (), weight / sum(starts))
    return law


def enumerated(strategy, renewal, order):
    """The total weight of all tuples with the same sum of participations."""
    matrix = strategy.to_matrix()
    gram = matrix.T @ matrix / NOISE**2
    law = trajectories(strategy.steps, renewal)
    totals: dict[tuple[int, ...], float] = {}
    for chosen in itertools.product(law, repeat=order):
        vectors = np.zeros((order, strategy.steps))
        for row, joined in zip(vectors, chosen, strict=True):
            row[list(joined)] = 1
        pairs = sum(
            vectors[i] @ gram @ vectors[j] for i, j in itertools.combinations(range(order), 2)
        )
        weight = math.prod(law[joined] for joined in chosen) * math.exp(pairs)
        key = tuple(vectors.sum(axis=0).astype(int).tolist())
        totals[key] = totals.get(key, 0.0) + weight
    return totals


CASES = [
    # Steps, bands, separation, warm start, order, replicas that are followed.
    (4, 2, 2, True, 2, 2),
    (4, 2, 2, False, 3, 3),
    (4, 3, 3, True, 3, 3),
    (4, 3, 3, True, 3, 1),
    (4, 2, 3, False, 4, 2),
    (4, 3, 4, True, 4, 2),
    (4, 1, 1, False, 3, 3),
]


@pytest.mark.parametrize("case", CASES)
def test_tuples_have_their_weights(case):
    """By sum of participations, against enumeration; also where replicas are let go."""
    steps, bands, separation, warm, order, resting = case
    strategy = strategies.bsr(steps, bands=bands)
    renewal = Renewal(0.3, separation, warm)
    programme = ReplicaSource(strategy, renewal).programme(Replicas(order, resting, NOISE))
    drawn = programme.draw(60_000, np.random.default_rng(5))
    assert np.all(drawn.log_weights <= programme.log_largest)
    where, times, number = drawn.trajectories
    sums = np.zeros((number.size, steps), dtype=np.int64)
    rows, entries = np.nonzero(np.arange(steps) < number[:, None])
    np.add.at(sums, (rows, where[rows, entries]), times[rows, entries])
    weights = np.exp(drawn.log_weights)
    expected = enumerated(strategy, renewal, order)
    codes = sums @ (order + 1) ** np.arange(steps)
    for key, total in expected.items():
        own = np.where(codes == np.array(key) @ (order + 1) ** np.arange(steps), weights, 0.0)
        error = own.std() / math.sqrt(own.size)
        assert abs(own.mean() - total) <= 5 * error + 1e-4 * total + 5 / own.size * weights.max()
    total, error = sum(expected.values()), weights.std() / math.sqrt(weights.size)
    assert abs(weights.mean() - total) <= 5 * error + 1e-4 * total


@in_one_test
@pytest.mark.parametrize("warm", [True, False])
@pytest.mark.parametrize("separation", [1, 2, 5])
@pytest.mark.parametrize("steps", [3, 40, 400])
def test_the_total_is_the_moment(steps, separation, warm):
    """Of the Renyi analysis, which treats the last steps exactly; here they have the largest pulls.

    Following fewer replicas gives more, and not much more.
    """
    strategy = strategies.bsr(steps, bands=min(separation, steps))
    renewal = Renewal(0.05, separation, warm)
    walk = MinSepWalk(0.05, column_products(strategy, separation) / 16, warm)
    exact = replica_moments(walk, 5, 1e12).log[5]
    source = ReplicaSource(strategy, renewal)
    found = [source.log_largest(Replicas(5, resting, 4.0)) for resting in (5, 4, 3)]
    assert exact <= found[0] <= exact + 0.01
    if separation > 1:
        assert found[0] - 1e-4 <= found[1] <= found[2] <= found[0] + 0.2


def test_a_warm_start_joins_the_first_steps_less_often():
    """The probability of a first participation in each step, by enumeration."""
    renewal = Renewal(0.3, 4, True)
    law = trajectories(6, renewal)
    rates = np.append(first_rates(renewal, 6), np.full(3, 0.3))
    missed = 1.0
    for step, rate in enumerate(rates):
        first = sum(p for joined, p in law.items() if joined and joined[0] == step)
        assert first == pytest.approx(missed * rate, rel=1e-12)
        missed *= 1 - rate
    assert first_rates(renewal, 2).size == 2
    assert first_rates(Renewal(0.3, 4, False), 6).size == 0


def test_states():
    """As many as there are ways for the replicas that are followed to rest; a limit is kept."""
    assert [number_of_states(5, 16), number_of_states(3, 1)] == [15_504, 1]
    source = ReplicaSource(strategies.bsr(100, bands=16), Renewal(0.01, 16, True))
    assert source.replicas(5, 2.0) == Replicas(5, 5, 2.0)
    assert source.replicas(9, 2.0) == Replicas(9, 6, 2.0)


def test_beyond_floating_point_nothing_is_drawn():
    """The bound is infinite, and there is no programme."""
    source = ReplicaSource(strategies.bsr(50, bands=4), Renewal(0.1, 4, True))
    for noise in (1e-3, 1e-200):
        assert source.log_largest(Replicas(8, 8, noise)) == math.inf
        assert source.programme(Replicas(8, 8, noise)) is None
    always = ReplicaSource(strategies.bsr(50, bands=4), Renewal(1.0, 4, True))
    assert always.log_largest(Replicas(3, 3, 2.0)) == math.inf


@pytest.mark.slow
def test_finer_tables_have_smaller_bounds():
    """With one more replica followed: the same mean, a smaller bound, no payoff above either."""
    plan = hs.Plan(
        sampling=hs.MinSep.for_batch_size(5, examples=1_000, separation=20),
        steps=160,
        strategy=strategies.bsr(160, bands=20),
    )
    (run,) = runs_of(plan, present=True)
    run, epsilon = replace(run, noise_multipliers=(1.4,)), 1.5
    source = run.prepared().tuples
    coarse, fine = (source.replicas(6, 1.4, fine=one) for one in (False, True))
    assert (coarse.resting, fine.resting) == (5, 6)
    means, errors, bounds = [], [], []
    for number, replicas in enumerate((coarse, fine)):
        bounds.append(log_largest_payoff(source.log_largest(replicas), 6, epsilon))
        rng = np.random.default_rng(number)
        drawn = replace(run, replicas=replicas).prepared().draws(15_000, rng)
        found = np.concatenate([payoffs(one, Payoff(epsilon), present=True)[0] for one in drawn])
        assert found.max() <= math.exp(bounds[-1])
        means.append(found.mean())
        errors.append(found.std() / math.sqrt(found.size))
    assert bounds[1] < bounds[0]
    assert errors[1] < 0.05 * means[1]
    assert abs(means[0] - means[1]) <= 4.5 * math.hypot(*errors)
