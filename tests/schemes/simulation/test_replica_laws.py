"""Tuples of replicas of users: exclusion that begins anew with every draw, and several copies."""

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
from hockeystick.schemes.capabilities import Participant
from hockeystick.schemes.simulation import Replicas, runs_of
from hockeystick.schemes.simulation.participation_laws import binomial_weights
from hockeystick.schemes.simulation.replica_states import number_of_moves, replica_law
from hockeystick.schemes.simulation.replicas import MOST_MOVES, ReplicaSource

NOISE = 1.4


def participations(user):
    """All vectors of copies with their probabilities, from every sequence of draws."""
    law: dict[tuple[int, ...], float] = {}
    numbers = range(len(user.copy_probabilities))
    for drawn in itertools.product(numbers, repeat=user.warm_up + user.steps):
        chance = math.prod(user.copy_probabilities[number] for number in drawn)
        last, joined = -(10**6), []
        for step, number in enumerate(drawn):
            joined.append(number if step - last >= user.separation else 0)
            last = step if number else last
        key = tuple(joined[user.warm_up :])
        law[key] = law.get(key, 0.0) + chance
    return law


def user_of(steps, held, separation, warm_up, rate=0.3):
    """A user with so many examples."""
    copies = tuple(binomial_weights(held, rate).tolist())
    return Participant(copies, separation, steps, warm_up)


def totals(user, strategy, order):
    """The weight of all tuples, by sum of participations."""
    matrix = strategy.to_matrix()
    gram = matrix.T @ matrix / NOISE**2
    law = participations(user)
    found: dict[tuple[int, ...], float] = {}
    for chosen in itertools.combinations_with_replacement(law, order):
        vectors = np.array(chosen, dtype=float)
        ways = math.factorial(order)
        for one in set(chosen):
            ways //= math.factorial(chosen.count(one))
        total = vectors.sum(axis=0)
        pairs = (total @ gram @ total - sum(row @ gram @ row for row in vectors)) / 2
        weight = ways * math.prod(law[one] for one in chosen) * math.exp(pairs)
        key = tuple(int(value) for value in total)
        found[key] = found.get(key, 0.0) + weight
    return found


CASES = [
    # Steps, examples, separation, warm-up, bands, order, replicas that are followed.
    (4, 1, 2, 0, 2, 3, 3),
    (4, 1, 3, 2, 3, 3, 3),
    (3, 2, 2, 1, 2, 3, 3),
    (3, 2, 3, 0, 2, 2, 2),
    (4, 2, 3, 2, 3, 2, 2),
    (4, 2, 3, 1, 3, 3, 1),
    (3, 3, 1, 0, 1, 2, 2),
]


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_tuples_of_users_have_their_weights(case):
    """By sum of participations, against enumeration of all draws; none is above its bound."""
    steps, held, separation, warm_up, bands, order, resting = case
    strategy = strategies.bsr(steps, bands=bands)
    user = user_of(steps, held, separation, warm_up)
    programme = ReplicaSource(strategy, user).programme(Replicas(order, resting, NOISE))
    drawn = programme.draw(60_000, np.random.default_rng(8))
    assert np.all(drawn.log_weights <= programme.log_largest)
    where, times, number = drawn.trajectories
    sums = np.zeros((number.size, steps), dtype=np.int64)
    rows, entries = np.nonzero(np.arange(steps) < number[:, None])
    np.add.at(sums, (rows, where[rows, entries]), times[rows, entries])
    weights = np.exp(drawn.log_weights)
    expected = totals(user, strategy, order)
    base = (held * order + 1) ** np.arange(steps)
    codes = sums @ base
    for key, total in expected.items():
        own = np.where(codes == np.array(key) @ base, weights, 0.0)
        error = own.std() / math.sqrt(own.size)
        assert abs(own.mean() - total) <= 5 * error + 1e-4 * total + 5 / own.size * weights.max()
    total, error = sum(expected.values()), weights.std() / math.sqrt(weights.size)
    assert abs(weights.mean() - total) <= 5 * error + 1e-4 * total


@pytest.mark.parametrize("warm_up", [0, 1, 7])
def test_gaps_of_users(warm_up):
    """First participations, gaps and ends are those of all sequences of draws."""
    user = user_of(7, 1, 3, warm_up)
    law = replica_law(user, 7)
    rates = np.append(law.first_rates, np.full(7 - law.first_rates.size, law.rate))
    missed = np.append(1.0, np.cumprod(1 - rates))
    for joined, chance in participations(user).items():
        steps = np.flatnonzero(joined)
        if steps.size == 0:
            assert chance == pytest.approx(missed[-1] * math.exp(law.firsts[-1]), rel=1e-9)
            continue
        table = missed[steps[0]] * rates[steps[0]]
        log = law.firsts[steps[0]] + law.ends[6 - steps[-1]]
        for gap in np.diff(steps):
            table *= law.rate * (1 - law.rate) ** (gap - 3)
            log += law.gaps[gap]
        table *= (1 - law.rate) ** max(4 - steps[-1], 0)
        log += steps.size * law.log_factor
        assert chance == pytest.approx(table * math.exp(log), rel=1e-9)
    assert law.gaps.max() <= 0
    assert law.log_excess >= max(law.firsts[:-1].max() + law.ends.max(), law.firsts[-1])


def test_most_of_it_is_no_excess():
    """In the arXiv setting a replica weighs a few per cent more than it should."""
    for held, separation in ((1, 16), (2, 8), (2, 16)):
        law = replica_law(user_of(1_000, held, separation, 1_000, rate=0.0036), 1_000)
        assert law.log_factor < 0.02
        assert law.log_excess < 0.15


def test_tables_stay_small():
    """Moves are counted exactly, and many copies leave fewer replicas that are followed."""
    strategy = strategies.bsr(20, bands=3)
    for held, order in ((1, 4), (2, 4), (3, 3)):
        source = ReplicaSource(strategy, user_of(20, held, 3, 0, rate=0.1))
        for resting in (1, order):
            programme = source.programme(Replicas(order, resting, 3.0))
            assert programme.moves.weights.size == number_of_moves(order, resting, 3, held)
    many = ReplicaSource(strategies.bsr(20, bands=8), user_of(20, 12, 8, 0, rate=0.01))
    found = [many.replicas(order, 3.0) for order in range(2, 30)]
    known = [one for one in found if one is not None]
    assert all(number_of_moves(one.order, one.resting, 8, 12) <= MOST_MOVES for one in known)
    assert found[-1] is None


PLAN = hs.Plan(
    sampling=hs.UserMinSep(rate=0.1, separation=2, examples_per_user=2, warm_up=1),
    steps=2,
    strategy=strategies.bsr(2, bands=2),
)


def plane_delta(held, epsilon):
    """delta of two steps by integration over the plane."""
    matrix = PLAN.strategy.to_matrix() / NOISE
    grid = np.linspace(-16, 16, 1_601)
    x, y = np.meshgrid(grid, grid)
    mass = np.exp(-(x**2 + y**2) / 2) / (2 * np.pi) * (grid[1] - grid[0]) ** 2
    ratio = np.zeros_like(x)
    for joined, chance in participations(user_of(2, held, 2, 1, rate=0.1)).items():
        a, b = matrix @ np.array(joined, dtype=float)
        ratio += chance * np.exp(a * x + b * y - (a * a + b * b) / 2)
    return float((np.maximum(ratio - math.exp(epsilon), 0) * mass).sum())


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [0.5, 2.0, 5.0])
def test_users_are_unbiased(epsilon):
    """Against integration, for one and two examples; every payoff is within its bound."""
    for run in runs_of(PLAN, present=True):
        at = replace(run, noise_multipliers=(NOISE,))
        truth = plane_delta(run.held, epsilon)
        found, bound = replica_runs(at, epsilon)[0]
        rng = np.random.default_rng(4)
        drawn = np.concatenate(
            [
                payoffs(one, Payoff(epsilon), present=True)[0]
                for one in found.prepared().draws(60_000, rng)
            ]
        )
        assert drawn.max() <= math.exp(bound)
        error = drawn.std() / math.sqrt(drawn.size)
        assert abs(drawn.mean() - truth) <= 4.5 * error + 1e-3 * truth
        assert truth <= math.exp(bound)
