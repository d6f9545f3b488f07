"""Computed bounds on b-min-sep sampling: independent draws and replicas, against all patterns."""

from __future__ import annotations

import math

import numpy as np
import pytest

import hockeystick as hs
from hockeystick import strategies
from hockeystick.analyses.poisson_reduction import separate_lengths
from hockeystick.schemes import ConjecturedUserMinSep, MinSep, UserMinSep
from hypothesis_strategies import thinned
from references.participation_patterns import (
    likelihood_ratio,
    min_sep_patterns,
    user_patterns,
    without_patterns_beyond,
)

TWO = strategies.from_matrix([[1.0, 0.0], [0.6, 0.8]])
AXIS = np.linspace(-8.5, 12.5, 1400)


def account(plan, noise, **options):
    """The guarantee at one noise multiplier."""
    return hs.account(plan, noise_multiplier=noise, **options)


def proven(plan):
    """The names of the proven methods."""
    return [name for name, kind in hs.methods(plan).items() if kind == "proven"]


def exact_deltas(patterns, matrix, noise, epsilons):
    """H(P || Q) and H(Q || P) of two steps by summing over a fine grid of outputs."""
    outputs = np.stack(np.meshgrid(AXIS, AXIS, indexing="ij"), axis=-1).reshape(-1, 2)
    q = np.exp(-(outputs**2).sum(axis=1) / 2) / (2 * math.pi) * (AXIS[1] - AXIS[0]) ** 2
    ratio = likelihood_ratio(patterns, np.asarray(matrix) / noise, outputs)
    for factor in np.exp(epsilons):
        remove = float(q @ np.maximum(ratio - factor, 0.0))
        yield remove, float(q @ np.maximum(1 - factor * ratio, 0.0))


# -- poisson-reduction --------------------------------------------------------------------------


@pytest.mark.parametrize(
    "strategy",
    [
        strategies.bsr(30, bands=4),
        strategies.bsr(30, bands=30),
        strategies.from_matrix(strategies.band_mf(30, bands=5).to_matrix()),
        strategies.from_matrix(np.tril(np.random.default_rng(3).random((30, 30)) + 0.01)),
    ],
)
def test_separate_lengths_dominate(strategy):
    """D - C^T C has no negative eigenvalue, and D is not larger than it has to be at 1."""
    matrix = strategy.to_matrix()
    squares = separate_lengths(strategy) ** 2
    gram = matrix.T @ matrix
    eigenvalues = np.linalg.eigvalsh(np.diag(squares) - gram)
    assert eigenvalues.min() > -1e-12 * eigenvalues.max()
    np.testing.assert_allclose(squares, gram.sum(axis=1), rtol=1e-9)


def test_lengths_are_sums_of_coefficients():
    """Away from both ends of the run."""
    strategy = strategies.bsr(30, bands=4)
    np.testing.assert_allclose(
        separate_lengths(strategy)[5:-5], strategy.coefficients.sum(), rtol=1e-9
    )


@pytest.mark.parametrize("warm", [False, True])
def test_reduction_with_independent_noise(warm):
    """Poisson sampling of all steps at the rate, whatever the separation."""
    plan = hs.Plan(sampling=MinSep(rate=0.05, separation=4, warm_start=warm), steps=50)
    poisson = hs.Plan(sampling=hs.Poisson(rate=0.05), steps=50)
    bound = account(plan, 1.0, method="poisson-reduction").answer(delta=1e-6)
    assert bound.value == pytest.approx(account(poisson, 1.0).epsilon(1e-6), rel=2e-3)
    assert bound.lower is None


def test_reduction_with_a_mechanism_of_its_own():
    """A larger set of steps leaks more with any mechanism."""
    laplace = hs.Profile.laplace(scale=2.0)
    plan = hs.Plan(sampling=MinSep(rate=0.05, separation=4), steps=50, mechanism=laplace)
    assert proven(plan) == ["poisson-reduction"]
    poisson = hs.Plan(sampling=hs.Poisson(rate=0.05), steps=50, mechanism=laplace)
    value = hs.account(plan).epsilon(1e-6)
    assert value == pytest.approx(hs.account(poisson).epsilon(1e-6), rel=2e-3)
    users = hs.Plan(
        sampling=UserMinSep(rate=0.05, separation=4, examples_per_user=2),
        steps=50,
        mechanism=laplace,
    )
    assert proven(users) == []


CASES = {
    "cold": (
        MinSep(rate=0.3, separation=2, warm_start=False),
        min_sep_patterns(2, rate=0.3, separation=2),
    ),
    "warm": (
        MinSep(rate=0.3, separation=2),
        min_sep_patterns(2, rate=0.3, separation=2, warm=True),
    ),
    "no exclusion": (MinSep(rate=0.3, separation=1), min_sep_patterns(2, rate=0.3, separation=1)),
    "stops": (
        MinSep(rate=0.3, separation=1, max_participations=1),
        without_patterns_beyond(min_sep_patterns(2, rate=0.3, separation=1), participations=1),
    ),
    "user": (
        UserMinSep(rate=0.3, separation=2, examples_per_user=2),
        user_patterns(2, rate=0.3, separation=2, examples=2),
    ),
    "user with fewer": (
        UserMinSep(rate=0.3, separation=2, examples_per_user=2),
        user_patterns(2, rate=0.3, separation=2, examples=1),
    ),
    "user without exclusion": (
        UserMinSep(rate=0.3, separation=1, examples_per_user=2),
        user_patterns(2, rate=0.3, separation=1, examples=2),
    ),
    "participations": (
        ConjecturedUserMinSep(rate=0.3, separation=2, examples_per_user=2),
        user_patterns(2, rate=0.3, separation=2, examples=2, by_draws=False),
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("noise", thinned([0.7, 2.0], normal=1))
@pytest.mark.parametrize("name", CASES)
def test_no_method_is_below_the_truth(name, noise):
    """Two correlated steps: every method in both directions against all participation patterns."""
    scheme, patterns = CASES[name]
    plan = hs.Plan(sampling=scheme, steps=2, strategy=TWO)
    epsilons = (0.1, 1.0)
    truths = exact_deltas(patterns, TWO.to_matrix(), noise, epsilons)
    for epsilon, truth in zip(epsilons, truths, strict=True):
        for direction, exact in zip(("remove", "add"), truth, strict=True):
            for method in proven(plan):
                bound = account(plan, noise, method=method, direction=direction).delta(epsilon)
                assert bound >= exact * (1 - 1e-3), (method, direction, epsilon)


# -- renyi --------------------------------------------------------------------------------------


@pytest.mark.slow
def test_renyi_is_the_moments_of_the_run():
    """Removing: conversion with the best of the orders; adding: what other methods know."""
    strategy = strategies.bsr(60, bands=3)
    plan = hs.Plan(sampling=MinSep(rate=0.05, separation=3), steps=60, strategy=strategy)
    remove, add, both = (
        account(plan, 1.5, method="renyi", direction=d) for d in ("remove", "add", "both")
    )
    sampled = account(plan, 1.5, method="poisson-reduction", direction="add")
    assert add.epsilon(1e-5) == sampled.epsilon(1e-5)
    assert both.epsilon(1e-5) == max(remove.epsilon(1e-5), add.epsilon(1e-5))
    found = remove.answer(delta=1e-5)
    assert found.details["direction"] == "remove"
    assert 2 < found.details["order"] < 64
    assert add.answer(epsilon=1.0).details == {
        "direction": "add",
        "bounded_by": "poisson-reduction",
    }


def test_renyi_at_rate_one_is_that_of_bins():
    """Also for strategies with more bands than the separation."""
    strategy = strategies.bsr(24, bands=8)
    plans = [
        hs.Plan(sampling=scheme, steps=24, strategy=strategy)
        for scheme in (MinSep(rate=1.0, separation=6), hs.BallsInBins(bins=6))
    ]
    values = [account(plan, 2.0, method="renyi").epsilon(1e-5) for plan in plans]
    assert values[0] == values[1]


def test_limit_of_participations_is_covered():
    """Stopping changes no moment bound."""
    strategy = strategies.bsr(60, bands=3)
    values = [
        account(
            hs.Plan(
                sampling=MinSep(rate=0.05, separation=3, max_participations=most),
                steps=60,
                strategy=strategy,
            ),
            1.5,
            method="renyi",
            direction="remove",
        ).epsilon(1e-5)
        for most in (None, 4)
    ]
    assert values[0] == values[1]


@pytest.mark.slow
def test_renyi_composes():
    """The pair that stands for the bounds is not below them, and not far above."""
    strategy = strategies.bsr(30, bands=3)
    plan = hs.Plan(sampling=MinSep(rate=0.05, separation=3), steps=30, strategy=strategy)
    guarantee = account(plan, 1.5, method="renyi")
    for direction in ("remove", "add"):
        one = account(plan, 1.5, method="renyi", direction=direction)
        profile = guarantee.profile if direction == "remove" else guarantee.profile.reverse()
        assert profile.delta(1.0) == pytest.approx(one.delta(1.0), rel=0.05)
        assert profile.delta(1.0) >= one.delta(1.0) * (1 - 0.02)
    assert guarantee.compose(guarantee).epsilon(1e-5) > guarantee.epsilon(1e-5)


def test_noise_too_small_for_floating_point():
    """An infinite number, not a wrong one."""
    strategy = strategies.bsr(20, bands=3)
    plan = hs.Plan(sampling=MinSep(rate=0.05, separation=3), steps=20, strategy=strategy)
    assert math.isinf(account(plan, 1e-3, method="renyi", direction="remove").epsilon(1e-5))
    with pytest.raises(hs.errors.PrecisionError, match="no bound was computed"):
        account(plan, 1e-200, method="renyi", direction="remove").epsilon(1e-5)
