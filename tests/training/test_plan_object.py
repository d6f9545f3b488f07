"""Plans survive JSON."""

from __future__ import annotations

import json

import numpy as np
import pytest

import hockeystick as hs
from hockeystick.training.plan_object import digest_of, plan_from, sampling_object, strategy_object
from in_one_test import in_one_test

STEPS = 24
MATRIX = np.tril(np.random.default_rng(0).random((STEPS, STEPS))) + np.eye(STEPS)
STRATEGIES = [
    hs.strategies.identity(STEPS),
    hs.strategies.bsr(STEPS, bands=3),
    hs.strategies.bisr(STEPS, bands=3),
    hs.strategies.band_mf(STEPS, bands=4),
    hs.strategies.band_inv_mf(STEPS, bands=3, separation=4),
    hs.strategies.blt(STEPS, buffers=2),
    hs.strategies.from_coefficients([1.0, 1 / 3, 0.1], STEPS),
    hs.strategies.from_matrix(MATRIX),
    hs.strategies.from_matrix(np.diag(np.arange(1.0, STEPS + 1)) + np.eye(STEPS, k=-2)),
]
SCHEMES = [
    hs.FullBatch(),
    hs.Poisson(rate=0.1 + 0.2, max_participations=3),
    hs.CyclicPoisson(rate=0.3, groups=4, random_phase=True),
    hs.BallsInBins(bins=6),
    hs.RandomAllocation(picks=2, out_of=7, truncate=True),
    hs.MinSep(rate=1 / 3, separation=4, warm_start=False),
    hs.UserMinSep(rate=0.1, separation=4, examples_per_user=3, warm_up=3),
    hs.ConjecturedUserMinSep(rate=0.1, separation=4, examples_per_user=3),
]


def through_json(value):
    """What a reader of the file gets."""
    return json.loads(json.dumps(value))


@in_one_test
@pytest.mark.parametrize("strategy", STRATEGIES, ids=lambda s: f"{s.name}-{s.bands}")
@pytest.mark.parametrize("scheme", SCHEMES[:1] + SCHEMES[3:4], ids=lambda s: s.name)
def test_plans_are_built_again_bit_for_bit(scheme, strategy):
    """The matrix and the scheme come back exactly, and so does the digest."""
    back = plan_from(
        scheme=through_json(sampling_object(scheme)),
        strategy=through_json(strategy_object(strategy)),
        steps=STEPS,
    )
    assert back.sampling == scheme
    assert np.array_equal(back.strategy.to_matrix(), strategy.to_matrix())
    assert digest_of(back.strategy) == strategy_object(strategy)["sha256"]


@in_one_test
@pytest.mark.parametrize("scheme", SCHEMES, ids=lambda s: s.name)
def test_schemes_are_built_again(scheme):
    """Every parameter of every scheme survives JSON."""
    identity = through_json(strategy_object(STRATEGIES[0]))
    back = plan_from(scheme=through_json(sampling_object(scheme)), strategy=identity, steps=STEPS)
    assert back.sampling == scheme


def test_digests_tell_matrices_apart():
    """One changed entry, or another size, is another digest."""
    strategy = hs.strategies.from_matrix
    changed = MATRIX.copy()
    changed[5, 2] = np.nextafter(changed[5, 2], 2)
    digests = {digest_of(strategy(m)) for m in (MATRIX, changed, MATRIX[:-1, :-1])}
    digests |= {digest_of(hs.strategies.identity(n)) for n in (STEPS, STEPS + 1)}
    assert len(digests) == 5
