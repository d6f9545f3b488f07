"""Which Gram matrices dominate which: a search for counterexamples, and the lattice lemma."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.special import ndtr

from references.gram_reference import (
    HORN,
    congruent_pair,
    entrywise_pair,
    horn_pair,
    least_score,
    loewner_pair,
    mixed_pair,
    random_weights,
    undercompensated_pair,
)

ORDERS = [entrywise_pair, loewner_pair, mixed_pair, congruent_pair, horn_pair]
# Beyond this many standard errors a difference counts as seen.
BAND = 4.0


def scores(pair_of, *, seed, cases, draws, opposite=False):
    """The least score of every random pair; `opposite` claims the opposite order."""
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(cases):
        smaller, larger = pair_of(rng)
        pair = (larger, smaller) if opposite else (smaller, larger)
        weights = random_weights(rng, len(smaller))
        found.append(least_score(pair, weights, rng=rng, draws=draws))
    return np.array(found)


def low_and_high_moments(pair, weights):
    """The second and the third moment of LR for both matrices, exactly."""
    for gram in pair:
        grown = np.exp(gram)
        yield weights @ grown @ weights
        pairs = np.outer(weights, weights) * grown
        yield np.sum(pairs * ((grown * weights) @ grown))


@pytest.mark.parametrize("pair_of", ORDERS)
def test_no_counterexample(pair_of):
    """In both directions, at five epsilons, no larger matrix is seen to leak less."""
    assert np.min(scores(pair_of, seed=1, cases=12, draws=3_000)) > -BAND


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.parametrize("pair_of", ORDERS)
def test_no_counterexample_in_a_long_search(pair_of):
    """The same with more pairs and ten times the draws."""
    assert np.min(scores(pair_of, seed=2, cases=60, draws=30_000)) > -BAND


@pytest.mark.parametrize("pair_of", ORDERS)
def test_the_search_sees_the_wrong_order(pair_of):
    """Claimed the other way round, nearly every pair is a counterexample."""
    found = scores(pair_of, seed=1, cases=12, draws=3_000, opposite=True)
    assert np.mean(found < -BAND) > 0.9


@pytest.mark.parametrize("pair_of", ORDERS)
def test_moments_are_in_order(pair_of):
    """Two moments of LR have closed forms: 200 pairs, no noise from sampling."""
    rng = np.random.default_rng(3)
    for _ in range(200):
        pair = pair_of(rng)
        weights = random_weights(rng, len(pair[0]))
        second, third, larger_second, larger_third = low_and_high_moments(pair, weights)
        assert larger_second >= second * (1 - 1e-12)
        assert larger_third >= third * (1 - 1e-12)


def test_pairs_are_what_they_are_called():
    """The random pairs are semidefinite, and each kind is in no simpler order."""
    rng = np.random.default_rng(4)
    for pair_of in ORDERS:
        for _ in range(30):
            pair = pair_of(rng)
            for gram in pair:
                assert np.linalg.eigvalsh(gram)[0] > -1e-12 * np.trace(gram)
            change = pair[1] - pair[0]
            if pair_of in (loewner_pair, mixed_pair, horn_pair):
                assert change.min() < 0
            if pair_of in (entrywise_pair, horn_pair):
                assert np.linalg.eigvalsh(change)[0] < 0


def test_horn_matrix_is_copositive_and_no_sum():
    """No non-negative vector makes it negative; a doubly non-negative matrix does."""
    rng = np.random.default_rng(5)
    vectors = rng.exponential(size=(20_000, 5)) * (rng.random((20_000, 5)) < 0.7)
    forms = np.einsum("vi,ij,vj->v", vectors, HORN, vectors)
    assert forms.min() >= -1e-12 * (vectors**2).sum(axis=1).max()
    angle = 2 * np.pi * np.arange(5) / 5
    witness = np.cos(angle[:, None] - angle) + math.cos(math.pi / 5)
    assert witness.min() > -1e-15
    assert np.linalg.eigvalsh(witness)[0] > -1e-12
    assert np.sum(witness * HORN) < -0.5


@pytest.mark.parametrize(
    ("smaller", "larger", "last_weight"),
    [
        pytest.param(np.ones((3, 3)), 1.1 * np.eye(3), 1 / 3, id="larger trace"),
        pytest.param(2.0 * np.eye(4), 0.5 * np.ones((4, 4)), 1 / 4, id="equal total"),
        pytest.param(4.0 * np.eye(4), 1.02 * np.ones((4, 4)), 1 / 4, id="larger total"),
        pytest.param(np.eye(2), np.array([[1.0, -0.1], [-0.1, 1.0]]), 1 / 2, id="larger distance"),
        pytest.param(np.eye(2), np.diag([2.0, 0.9]), 0.9, id="larger determinant"),
    ],
)
def test_naive_orders_are_refuted(smaller, larger, last_weight):
    """Orders that look plausible are not: the second matrix is seen to leak less somewhere."""
    others = len(smaller) - 1
    weights = np.append(np.full(others, (1 - last_weight) / others), last_weight)
    rng = np.random.default_rng(6)
    assert least_score((smaller, larger), weights, rng=rng, draws=20_000) < -BAND


def test_half_the_compensation_is_not_enough():
    """Deficits that the diagonal compensates by half are refuted in many cases."""
    found = scores(undercompensated_pair, seed=8, cases=20, draws=3_000)
    assert np.mean(found < -BAND) > 0.3


def normal_call(strike, mean, variance):
    """E(Y - strike)+ for a normal Y."""
    spread = np.sqrt(variance)
    depth = (mean - strike) / spread
    return spread * np.exp(-(depth**2) / 2) / math.sqrt(2 * math.pi) + (mean - strike) * ndtr(depth)


def lognormal_call(strike, mean, variance):
    """E(e^Y - strike)+ for a normal Y with E e^Y = e^mean."""
    spread = np.sqrt(variance)
    depth = (mean - np.log(strike)) / spread
    return np.exp(mean) * ndtr(depth + spread / 2) - strike * ndtr(depth - spread / 2)


def worst_excess(call, points, *, constant):
    """The largest ratio of the rounded law's call function to the normal one's, over 1."""
    rng = np.random.default_rng(7)
    cases = 20_000
    width = 10.0 ** rng.uniform(-1.5, 0.3, cases)
    reduced = width**2 * 10.0 ** rng.uniform(-4, 2, cases)
    variance = reduced + constant * width**2
    mean = width * rng.random(cases)
    below = np.floor((mean + rng.uniform(-4, 4, cases) * np.sqrt(variance)) / width)
    share = rng.random(cases)
    low, high = points(width * below), points(width * (below + 1))
    rounded = (1 - share) * call(low, mean, reduced) + share * call(high, mean, reduced)
    exact = call((1 - share) * low + share * high, mean, variance)
    return float(np.max(rounded / exact)) - 1


COORDINATES = [
    pytest.param(normal_call, np.array, id="x"),
    pytest.param(lognormal_call, np.exp, id="e^x"),
]


@pytest.mark.parametrize(("call", "points"), COORDINATES)
def test_lattice_lemma(call, points):
    """A normal law with variance pi h^2 / 8 less, rounded onto the lattice, is smaller."""
    assert worst_excess(call, points, constant=math.pi / 8) < 1e-11


@pytest.mark.parametrize(("call", "points"), COORDINATES)
@pytest.mark.parametrize("constant", [0.25, 0.3, 0.37])
def test_lattice_lemma_needs_its_constant(call, points, constant):
    """With a smaller constant the rounded law is larger somewhere."""
    assert worst_excess(call, points, constant=constant) > 1e-3
