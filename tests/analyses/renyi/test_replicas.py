"""Moments of b-min-sep sampling against enumeration, dense matrices and simulation."""

from __future__ import annotations

import itertools
import math
import time

import numpy as np
import pytest

import hockeystick as hs
from hockeystick import strategies
from hockeystick._numerics.law import Resolution
from hockeystick.analyses.renyi import REPLICA_ORDERS
from hockeystick.analyses.renyi.bound import MomentBound, OrderGrowth
from hockeystick.analyses.renyi.mixture_moments import mixture_moments
from hockeystick.analyses.renyi.replicas import MinSepWalk, ReplicaMoments, replica_moments
from hockeystick.schemes.capabilities import Renewal
from hockeystick.schemes.simulation.replicas import column_products
from hypothesis_strategies import thinned
from references.participation_patterns import min_sep_patterns, moment

# Together they take seconds; `make test` runs them.
pytestmark = pytest.mark.slow

BUDGET = 1e8


def banded(rng, steps, bands):
    """A lower-triangular matrix with non-negative entries of different sizes."""
    apart = np.subtract.outer(np.arange(steps), np.arange(steps))
    entries = rng.random((steps, steps)) * (rng.random((steps, steps)) > 0.2)
    return np.where((apart >= 0) & (apart < bands), entries + np.eye(steps) / 10, 0.0)


def products(gram, separation):
    """Entries of the Gram matrix by distance: row t holds those with t - d."""
    steps = gram.shape[0]
    result = np.zeros((steps, separation))
    for d in range(min(separation, steps)):
        result[d:, d] = np.diagonal(gram, -d)
    return result


def dense_moment(pulls, *, rate, warm, order):
    """log E_Q[LR^order] with ordered replicas, each with its own age; no state is merged.

    Age 0 may join; a replica that joins has age separation - 1 left to rest.
    """
    steps, separation = pulls.shape
    states = list(itertools.product(range(separation), repeat=order))
    number = {state: i for i, state in enumerate(states)}
    each = rate / (1 + (separation - 1) * rate) if warm else 0.0
    chance = [1 - (separation - 1) * each] + [each] * (separation - 1)
    value = np.array([math.prod(chance[rest] for rest in state) for state in states])
    log = 0.0
    for t in range(steps):
        after = np.zeros_like(value)
        for state, mass in zip(states, value, strict=True):
            free = [r for r in range(order) if state[r] == 0]
            for joins in itertools.product((0, 1), repeat=len(free)):
                chosen = [r for r, join in zip(free, joins, strict=True) if join]
                pull = pulls[t, 0] * math.comb(len(chosen), 2)
                resting = [separation - rest for rest in state if rest > 0]
                pull += len(chosen) * sum(pulls[t, d] for d in resting)
                weight = rate ** len(chosen) * (1 - rate) ** (len(free) - len(chosen))
                following = tuple(
                    separation - 1 if r in chosen else max(rest - 1, 0)
                    for r, rest in enumerate(state)
                )
                after[number[following]] += mass * weight * math.exp(pull)
        total = after.sum()
        value, log = after / total, log + math.log(total)
    return log


@pytest.mark.parametrize("warm", [False, True])
@pytest.mark.parametrize("rate", thinned([0.07, 0.4, 1.0], normal=2))
@pytest.mark.parametrize(("steps", "separation"), [(1, 2), (3, 3), (5, 1), (6, 2), (8, 3)])
def test_enumeration(steps, separation, rate, warm):
    """Every order equals the sum over all tuples of participation patterns, and is not below."""
    matrix = banded(np.random.default_rng(steps), steps, separation)
    gram = matrix.T @ matrix / 1.3**2
    patterns = min_sep_patterns(steps, rate=rate, separation=separation, warm=warm)
    largest = 4 if len(patterns) < 30 else 3
    walk = MinSepWalk(rate, products(gram, separation), warm)
    logs = replica_moments(walk, largest, BUDGET).log
    for order in range(2, largest + 1):
        truth = math.log(moment(patterns, gram, order))
        assert truth * (1 - 1e-12) <= logs[order] <= truth * (1 + 1e-10)


@pytest.mark.parametrize("bands", [1, 2])
def test_fewer_bands_than_separation(bands):
    """Participations that are further apart than the bands attract nothing, but still rest."""
    matrix = banded(np.random.default_rng(5), 7, bands)
    gram = matrix.T @ matrix
    patterns = min_sep_patterns(7, rate=0.3, separation=3, warm=True)
    logs = replica_moments(MinSepWalk(0.3, products(gram, 3), True), 3, BUDGET).log
    assert math.expm1(logs[3]) == pytest.approx(moment(patterns, gram, 3) - 1, rel=1e-10)


@pytest.mark.parametrize("warm", [False, True])
def test_ending_early(warm):
    """A long run, whose walk ends early, equals one that is followed to its beginning."""
    pulls = np.tile([0.3, 0.2, 0.1], (400, 1))
    pulls[0, 1:], pulls[1, 2], pulls[-1] = 0, 0, [0.2, 0.1, 0.05]
    logs = replica_moments(MinSepWalk(0.1, pulls, warm), 3, BUDGET).log
    for order in (2, 3):
        truth = dense_moment(pulls, rate=0.1, warm=warm, order=order)
        assert truth * (1 - 1e-13) <= logs[order] <= truth * (1 + 1e-8)


def test_steps_that_all_differ():
    """More kinds of steps than are told apart: a bound, and not far off if they differ slowly."""
    pulls = np.linspace(0.2, 0.3, 150)[:, None] * np.array([1.0, 0.5])
    pulls[0, 1] = 0
    bound = replica_moments(MinSepWalk(0.1, pulls, False), 3, BUDGET).log[3]
    truth = dense_moment(pulls, rate=0.1, warm=False, order=3)
    assert truth <= bound <= 1.02 * truth


def test_without_rest_is_poisson_sampling():
    """Separation 1: the moments of subsampled Gaussian mechanisms."""
    pulls = np.full((70, 1), 0.8**-2)
    logs = replica_moments(MinSepWalk(0.03, pulls, True), 20, BUDGET).log
    run = hs.Profile.gaussian(noise_multiplier=0.8).subsample(0.03).self_compose(70)
    known = run.expression.power_moments(20, reverse=False, resolution=Resolution(0.02, 1e-20, 8.0))
    np.testing.assert_allclose(logs[2:], known.log[2:], rtol=1e-10)


@pytest.mark.parametrize(("steps", "separation", "bands"), [(12, 3, 2), (13, 4, 4), (30, 5, 3)])
def test_rate_one_from_a_warm_start_is_balls_in_bins(steps, separation, bands):
    """The moments of a mixture over as many bins as the separation."""
    strategy = strategies.bsr(steps, bands=bands)
    walk = MinSepWalk(1.0, column_products(strategy, separation) / 2.5, True)
    logs = replica_moments(walk, 6, BUDGET).log
    bins = mixture_moments(strategy.gram(spacing=separation) / 2.5, 6)
    assert all(kept.exact for kept in bins.kept[2:])
    np.testing.assert_allclose(logs[2:], bins.moments.log[2:], rtol=1e-10)


@pytest.mark.parametrize("make", [strategies.bsr, strategies.band_mf])
def test_products_of_columns(make):
    """Closed forms for Toeplitz strategies equal the Gram matrix, cut off at the end of the run."""
    strategy = make(9, bands=4)
    matrix = strategy.to_matrix()
    whole = strategies.from_matrix(matrix)
    for one in (strategy, whole):
        found = column_products(one, 5)
        np.testing.assert_allclose(found, products(matrix.T @ matrix, 5), rtol=1e-12, atol=0)


@pytest.mark.parametrize("warm", [False, True])
def test_simulation(warm):
    """A medium run: the mean over simulated pairs and triples of replicas, within its error."""
    steps, separation, rate, draws = 120, 4, 0.08, 60_000
    rng = np.random.default_rng(7)
    strategy = strategies.bsr(steps, bands=4)
    each = rate / (1 + (separation - 1) * rate)
    replicas = []
    for _ in range(3):
        rest = np.zeros(draws, dtype=int)
        if warm:
            start = rng.random(draws)
            rest = np.where(start < (separation - 1) * each, 1 + (start / each).astype(int), 0)
        x = np.zeros((draws, steps))
        for t in range(steps):
            joins = (rest == 0) & (rng.random(draws) < rate)
            x[:, t] = joins
            rest = np.where(joins, separation - 1, np.maximum(rest - 1, 0))
        replicas.append(x @ strategy.to_matrix().T / 5.0)
    pairs = [np.einsum("ij,ij->i", a, b) for a, b in itertools.combinations(replicas, 2)]
    pulls = column_products(strategy, separation) / 25
    logs = replica_moments(MinSepWalk(rate, pulls, warm), 3, BUDGET).log
    for order, exponents in ((2, pairs[0]), (3, sum(pairs))):
        values = np.expm1(exponents)
        error = values.std() / math.sqrt(draws)
        assert abs(math.expm1(logs[order]) - values.mean()) < 4 * error < 0.1 * values.mean()


@pytest.mark.slow
def test_budget():
    """A smaller budget knows fewer orders, and the same about those."""
    pulls = column_products(strategies.bsr(200, bands=4), 4) / 4
    walk = MinSepWalk(0.02, pulls, True)
    little, much = (replica_moments(walk, 64, budget).log for budget in (1e5, 1e8))
    known = np.isfinite(little)
    assert 2 < known.sum() < np.isfinite(much).sum()
    assert not known[known.sum() :].any()
    np.testing.assert_array_equal(little[known], much[known])


def test_logs_of_moments_are_convex():
    """Hoelder: no order lies above the chord of its neighbours."""
    pulls = column_products(strategies.bsr(500, bands=3), 3) / 3
    logs = replica_moments(MinSepWalk(0.02, pulls, True), 30, BUDGET).log
    assert np.isfinite(logs).all()
    assert (np.diff(logs, 2) > 0).all()


@pytest.mark.parametrize("pull", [50.0, 1e4, 1e300])
def test_moments_beyond_floating_point(pull):
    """Infinite and not NaN, and nothing is left out below."""
    pulls = np.tile([pull, pull / 2], (30, 1))
    logs = replica_moments(MinSepWalk(0.1, pulls, True), 40, BUDGET).log
    assert not np.isnan(logs).any()
    assert math.isinf(logs[40])
    assert logs[2] >= pull - 4 * math.log(10)


@pytest.mark.slow
def test_time():
    """All orders up to 32 of 2,000 steps with separation 4 take seconds of CPU time."""
    pulls = column_products(strategies.bsr(2000, bands=4), 4) / 25
    walk = MinSepWalk(0.01, pulls, True)
    replica_moments(walk, 4, BUDGET)
    start = time.process_time()
    logs = replica_moments(walk, 32, BUDGET).log
    assert time.process_time() - start < 10
    assert np.isfinite(logs).all()


@pytest.mark.parametrize("delta", [1e-3, 1e-12])
def test_orders_are_computed_while_they_help(delta):
    """The same epsilon and delta as from many orders, from not many more than the best."""
    strategy = strategies.bsr(24, bands=3)

    def bound(growth):
        moments = ReplicaMoments(strategy, Renewal(0.1, 3, True), 2.1, BUDGET)
        return moments, MomentBound(moments, growth)

    few, lazy = bound(REPLICA_ORDERS)
    _, eager = bound(OrderGrowth(first=64))
    asked = {"directions": ("remove",), "accuracy": 0.01}
    found = lazy.epsilon(delta, **asked)
    assert found.value == eager.epsilon(delta, **asked).value
    assert len(few._exact) <= 1.25 * found.details["order"] + 4
    again = lazy.delta(found.value, **asked)
    assert again.value == eager.delta(found.value, **asked).value
