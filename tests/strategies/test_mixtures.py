"""Claims about correlated noise against the actual mixtures of Gaussians in a few dimensions.

The run releases C x + Z for the indicator x of the steps that the example joins. Every indicator of
every group is enumerated; deltas are averages over draws with a fixed seed.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.special import logsumexp

import hockeystick as hs
from hockeystick import strategies

DRAWS = 200_000
EPSILONS = (0.0, 0.5, 1.5)


def mixture(matrix, rate, turns):
    """Means and probabilities of the run if the example may join these steps."""
    n = len(matrix)
    means, weights = [], []
    for draws in itertools.product((0, 1), repeat=len(turns)):
        x = np.zeros(n)
        x[list(turns)] = draws
        means.append(matrix @ x)
        weights.append(np.prod([rate if drawn else 1 - rate for drawn in draws]))
    return np.array(means), np.array(weights)


def deltas(matrix, rate, turns, noise, direction):
    """Monte Carlo deltas at the epsilons, and their standard errors."""
    means, weights = mixture(matrix, rate, turns)
    rng = np.random.default_rng(31)
    y = noise * rng.standard_normal((DRAWS, len(matrix)))
    if direction == "remove":
        y += means[rng.choice(len(means), size=DRAWS, p=weights)]
    losses = logsumexp(
        (y @ means.T - (means**2).sum(axis=1) / 2) / noise**2 + np.log(weights), axis=1
    )
    losses = losses if direction == "remove" else -losses
    values = [np.maximum(-np.expm1(epsilon - losses), 0.0) for epsilon in EPSILONS]
    # Of an event that no draw shows, one in as many draws is not surprising.
    return [(v.mean(), max(v.std() / DRAWS**0.5, 1 / DRAWS)) for v in values]


def assert_claimed(strategy, scheme, groups, *, exact, noise=1.0):
    """The claim lies above the truth of every group, both ways; at the worst one's if exact."""
    plan = hs.Plan(sampling=scheme, steps=strategy.steps, strategy=strategy)
    for direction in ("remove", "add"):
        guarantee = hs.account(plan, noise_multiplier=noise, direction=direction)
        truths = [
            deltas(strategy.to_matrix(), scheme.rate, turns, noise, direction) for turns in groups
        ]
        for i, epsilon in enumerate(EPSILONS):
            claim = guarantee.answer(epsilon=epsilon)
            values, errors = np.array([truth[i] for truth in truths]).T
            assert (claim.value >= values - 5 * errors).all()
            assert (claim.lower is not None) is (exact or claim.value == 0)
            if exact:
                assert (claim.value <= 1.006 * values + 5 * errors).any()


def turns_of(steps, groups):
    """The steps of each group."""
    return [range(g, steps, groups) for g in range(min(groups, steps))]


@pytest.mark.slow
@pytest.mark.parametrize("rate", [0.1, 0.3, 0.9])
def test_whole_rounds_are_exact(rate):
    """Two groups, two bands, four steps: the first group's columns are whole."""
    strategy = strategies.from_coefficients([1.0, 0.6], 4)
    rates = hs.CyclicPoisson(rate=rate, groups=2)
    assert_claimed(strategy, rates, turns_of(4, 2), exact=True)


def test_a_cut_off_column_is_charged_in_full():
    """Three steps: the last column of the first group is cut off, the claim is a bound."""
    strategy = strategies.from_coefficients([1.0, 0.6], 3)
    assert_claimed(strategy, hs.CyclicPoisson(rate=0.3, groups=2), turns_of(3, 2), exact=False)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_columns_of_different_lengths(seed):
    """A banded matrix with random entries, three groups of which any may be the worst."""
    rng = np.random.default_rng(seed)
    matrix = np.triu(np.tril(rng.random((5, 5))), -2) + 0.2 * np.eye(5)
    strategy = strategies.from_matrix(matrix)
    plan = hs.CyclicPoisson(rate=0.4, groups=3)
    columns = np.append(strategy.column_norms, 0.0).reshape(2, 3)
    exact = bool((columns == columns.max(axis=1, keepdims=True)).all(axis=0).any())
    assert_claimed(strategy, plan, turns_of(5, 3), exact=exact, noise=0.8)


@pytest.mark.slow
@pytest.mark.parametrize(
    "coefficients", [[1.0, 0.6, 0.4], [0.5, 1.0, 2.0], [1.0, 1.0, 1.0, 1.0]], ids=str
)
def test_more_bands_than_groups_are_bounded(coefficients):
    """Overlapping columns: the fallback lies above every group's truth."""
    strategy = strategies.from_coefficients(coefficients, 4)
    assert_claimed(
        strategy, hs.CyclicPoisson(rate=0.5, groups=2), turns_of(4, 2), exact=False, noise=2.0
    )


@pytest.mark.slow
def test_poisson_sampling_is_bounded():
    """Any step may be joined."""
    strategy = strategies.bsr(4, 2)
    assert_claimed(strategy, hs.Poisson(rate=0.5), [range(4)], exact=False, noise=2.0)


def test_poisson_sampling_of_independent_noise_is_exact():
    """A diagonal C with another noise in each step."""
    strategy = strategies.from_matrix(np.diag([1.0, 0.5, 0.8]))
    assert_claimed(strategy, hs.Poisson(rate=0.3), [range(3)], exact=True)
