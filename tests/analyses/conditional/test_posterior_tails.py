"""Tails of the posterior odds, and the shifts that dominate a step, against brute force."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hockeystick.analyses.conditional.odds import Weights, dominating_levels
from hockeystick.analyses.conditional.posterior_tails import posterior_tails

# Together they take seconds; `make test` runs them.
pytestmark = pytest.mark.slow

DRAWS = 40_000
SHARES = (0.05, 0.2, 0.5, 0.8)


def some_levels(seed: int, kind: str) -> np.ndarray:
    """What a few bins add in a few steps: with zeros, with ties, or dense."""
    rng = np.random.default_rng(seed)
    levels = 0.7 * rng.random((6, 4))
    if kind == "sparse":
        levels *= rng.random((6, 4)) < 0.5
    elif kind == "ties":
        levels = np.round(3 * levels) / 3
    return levels


def inverse_odds(levels: np.ndarray, n: int, *, present: bool, seed: int) -> dict[int, np.ndarray]:
    """X_i of step n for every bin above the lowest level, in many runs, and the size of B_i."""
    rng = np.random.default_rng(seed)
    bins = levels.shape[1]
    chosen = rng.integers(bins, size=DRAWS)
    x = rng.standard_normal((DRAWS, n)) + (levels[:n, chosen].T if present else 0.0)
    likelihood = np.exp(x @ levels[:n] - (levels[:n] ** 2).sum(axis=0) / 2)
    a = levels[n]
    return {
        i: likelihood[:, a < a[i]].sum(axis=1) / likelihood[:, i] / (a < a[i]).sum()
        for i in np.flatnonzero(a > a.min())
    }


@pytest.mark.parametrize("by_bin", [False, True])
@pytest.mark.parametrize("present", [True, False])
@pytest.mark.parametrize("kind", ["sparse", "ties", "dense"])
def test_tails_bound_simulated_odds(kind, present, by_bin):
    """The sum of the bounds of a step is at least the sum of the frequencies, up to chance."""
    for seed in range(2):
        levels = some_levels(seed, kind)
        tails = posterior_tails(levels, present=present, quantile=2.0, by_bin=by_bin)
        for n, share in itertools.product(range(1, 6), SHARES):
            seen = inverse_odds(levels, n, present=present, seed=seed)
            frequency = sum(float((x <= share).mean()) for x in seen.values())
            noise = 5 * (frequency / DRAWS) ** 0.5 + 5 / DRAWS
            assert tails.between(n, n + 1).failure(share) >= frequency - noise


def test_tails_are_not_trivial():
    """Where odds hardly move, small shares have a small failure; the bound is no constant 1."""
    levels = 0.1 * some_levels(0, "dense")
    tails = posterior_tails(levels, present=True, quantile=4.0)
    assert tails.failure(0.5) < 1e-3 < tails.failure(0.95)


@pytest.mark.parametrize("present", [True, False])
def test_more_families_never_hurt_at_their_quantile(present):
    """With more weights to choose from, the share at a given failure does not fall."""
    rng = np.random.default_rng(4)
    levels = np.tril(rng.random((12, 12)))[:, :5] / 2
    failures = [
        posterior_tails(
            levels, present=present, quantile=3.0, weights=Weights(families=families)
        ).failure(0.02)
        for families in (("uniform",), ("uniform", "current"), ("uniform", "current", "reference"))
    ]
    assert failures[0] >= failures[1] * (1 - 1e-9)
    assert failures[1] >= failures[2] * (1 - 1e-2)


def test_bins_without_a_past_are_certain():
    """Before a bin took part, those that did not either count fully: nothing can fail."""
    levels = np.eye(6)
    tails = posterior_tails(levels, present=True, quantile=5.0)
    third = tails.between(2, 3)
    assert (third.same.tolist(), third.below.tolist()) == ([3.0], [5.0])
    assert third.failure(3 / 5) == 0.0
    assert third.failure(0.9) > 0


@given(st.integers(0, 2**32), st.booleans(), st.booleans())
def test_shifts_dominate_every_posterior_within_the_odds(seed, ties, alike):
    """Whenever X_i >= y |B_i| for all i, the level of the step is stochastically smaller.

    With one y for all bins, and with one for each |B_i|.
    """
    rng = np.random.default_rng(seed)
    levels = rng.random((3, 5))
    shares = np.full(5, 10 ** -rng.uniform(0, 2)) if alike else 10 ** -rng.uniform(0, 2, size=5)
    if ties:
        levels = np.round(3 * levels) / 3
    values, weights = dominating_levels(levels, shares)
    assert weights.min() >= 0
    assert weights.sum() == pytest.approx(1.0, rel=1e-12)
    for a in levels:
        posterior = extreme_posterior(a, shares, rng)
        for level in np.unique(a):
            larger = weights[values >= level].sum()
            assert posterior[a >= level].sum() <= larger * (1 + 1e-12)


def extreme_posterior(a: np.ndarray, shares: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Probabilities whose odds exhaust what is allowed, or a part of it, level by level."""
    mass = np.zeros(a.size)
    lowest = a == a.min()
    mass[lowest] = rng.dirichlet(np.ones(lowest.sum()))
    for level in np.unique(a)[1:]:
        below = a < level
        here = np.flatnonzero(a == level)
        allowed = mass[below].sum() / (shares[below.sum()] * below.sum())
        mass[here] = allowed * rng.choice([1.0, rng.random()])
    return mass / mass.sum()
