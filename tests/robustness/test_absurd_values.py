"""Anything may be passed anywhere: the answer is an answer or a refusal in one sentence."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import hockeystick as hs
from hypothesis_strategies import examples
from in_one_test import in_one_test
from robustness.outcomes import outcome, refused
from robustness.values import absurd

pytestmark = pytest.mark.slow

PLAN = hs.Plan(sampling=hs.Poisson(rate=0.1), steps=3)
PROFILE = hs.Profile.gaussian(noise_multiplier=2.0)
S = hs.strategies

# Each takes two values from anywhere; where only one makes sense the other is ignored.
CALLS: dict[str, Callable[[Any, Any], object]] = {
    "Poisson": lambda a, b: hs.Poisson(rate=a, max_participations=b),
    "CyclicPoisson": lambda a, b: hs.CyclicPoisson(rate=a, groups=b),
    "BallsInBins": lambda a, b: hs.BallsInBins(bins=a),
    "RandomAllocation": lambda a, b: hs.RandomAllocation(picks=a, out_of=b),
    "MinSep": lambda a, b: hs.MinSep(rate=a, separation=b),
    "UserMinSep": lambda a, b: hs.UserMinSep(rate=0.1, separation=a, examples_per_user=b),
    "Shuffle": lambda a, b: hs.Shuffle(batch_size=a),
    "for_batch_size": lambda a, b: hs.Poisson.for_batch_size(a, examples=b),
    "MinSep.for_batch_size": lambda a, b: hs.MinSep.for_batch_size(a, examples=b, separation=3),
    "bins for_batch_size": lambda a, b: hs.BallsInBins.for_batch_size(a, examples=b),
    "Plan": lambda a, b: hs.Plan(sampling=a, steps=b),
    "Plan.steps": lambda a, b: hs.Plan(sampling=hs.FullBatch(), steps=a, strategy=b),
    "Plan.mechanism": lambda a, b: hs.Plan(sampling=hs.FullBatch(), steps=3, mechanism=a),
    "account": lambda a, b: hs.account(PLAN, noise_multiplier=a, accuracy=b),
    "account.method": lambda a, b: hs.account(PLAN, noise_multiplier=1.0, method=a, direction=b),
    "account.plan": lambda a, b: hs.account(a, noise_multiplier=b),
    "methods": lambda a, b: hs.methods(a),
    "epsilon": lambda a, b: hs.account(PLAN, noise_multiplier=1.0, budget=b).epsilon(a),
    "delta": lambda a, b: hs.account(PLAN, noise_multiplier=1.0).delta(a),
    "calibrate": lambda a, b: hs.calibrate(PLAN, epsilon=a, delta=b, accuracy=0.5),
    "calibrate.plan": lambda a, b: hs.calibrate(a, epsilon=1.0, delta=1e-5, start=b),
    "gaussian": lambda a, b: hs.Profile.gaussian(noise_multiplier=a, bound=b),
    "laplace": lambda a, b: hs.Profile.laplace(scale=a),
    "randomized_response": lambda a, b: hs.Profile.randomized_response(epsilon=a, buckets=b),
    "from_epsilon_delta": hs.Profile.from_epsilon_delta,
    "from_pmfs": hs.Profile.from_pmfs,
    "from_cells": lambda a, b: hs.Profile.from_cells(a, p=b, q=b),
    "profile.epsilon": lambda a, b: PROFILE.epsilon(a, accuracy=b),
    "profile.delta": lambda a, b: PROFILE.delta(a),
    "profile.tradeoff": lambda a, b: PROFILE.tradeoff(a, accuracy=b),
    "profile.renyi": lambda a, b: PROFILE.renyi(a),
    "profile.subsample": lambda a, b: PROFILE.subsample(a),
    "profile.self_compose": lambda a, b: PROFILE.self_compose(a),
    "profile.allocate": lambda a, b: PROFILE.allocate(a),
    "from_coefficients": S.from_coefficients,
    "from_matrix": lambda a, b: S.from_matrix(a),
    "bsr": S.bsr,
    "bisr": S.bisr,
    "band_mf": S.band_mf,
    "blt": S.blt,
    "sensitivity": lambda a, b: S.bsr(9, 3).sensitivity(separation=a, participations=b),
    "gram": lambda a, b: S.bsr(9, 3).gram(spacing=a),
    "error": lambda a, b: S.bsr(9, 3).mean_squared_error(a),
    "noise": lambda a, b: S.bsr(9, 3).noise(2, scale=a, rng=b),
    "batches": lambda a, b: hs.Poisson(rate=0.5).batches(examples=a, steps=b, rng=1),
    "expected_batch_size": lambda a, b: hs.MinSep(rate=0.1, separation=3).expected_batch_size(a),
    "Renyi": lambda a, b: hs.filters.Renyi(epsilon=a, delta=b),
    "Renyi.order": lambda a, b: hs.filters.Renyi(epsilon=1.0, delta=1e-5, order=a),
    "Gaussian": lambda a, b: hs.filters.Gaussian(mu=a),
    "ApproximateGaussian": lambda a, b: hs.filters.ApproximateGaussian(mu=a),
    "Individual": lambda a, b: hs.filters.Individual.gaussian(examples=a, mu=b),
    "request": lambda a, b: hs.filters.Gaussian(mu=1.0).request(noise_multiplier=a, steps=b),
    "request.rate": lambda a, b: hs.filters.Renyi(epsilon=1.0, delta=1e-5).request(
        noise_multiplier=1.0, rate=a, sensitivity=b
    ),
    "gdp": lambda a, b: hs.fdp.gdp(a),
    "fdp.from_pmfs": hs.fdp.from_pmfs,
    "true_positive_rate": lambda a, b: hs.fdp.true_positive_rate(
        PROFILE, false_positive_rate=a, accuracy=b
    ),
    "estimate": hs.fdp.estimate,
    "bound_contributions": lambda a, b: hs.bound_contributions(a, examples_per_user=b),
    "Attribution": lambda a, b: hs.Attribution.from_pairs(
        examples=a, users=b, number_of_examples=3, number_of_users=4
    ),
}


@in_one_test
@pytest.mark.parametrize("name", CALLS)
def test_anything_anywhere(name: str) -> None:
    """No other exception, no warning, no endless computation."""

    @examples(16)
    @given(absurd(), absurd())
    def check(first: object, second: object) -> None:
        outcome(lambda: CALLS[name](first, second))

    check()


@examples(40)
@given(st.sampled_from([np.nan, float("nan"), np.float64("nan")]), st.sampled_from(sorted(CALLS)))
def test_nan_never_passes(nan: float, name: str) -> None:
    """NaN is refused wherever it stands first, or has no meaning there in the first place."""
    result = outcome(lambda: CALLS[name](nan, 1.0))
    assert refused(result) or not isinstance(result, float)
