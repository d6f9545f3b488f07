"""Baselines: what they say, and that they are not mistaken for guarantees."""

from __future__ import annotations

import pytest

import hockeystick as hs
from hockeystick.accounting.baselines import BASELINES
from hockeystick.profile.resolution import BOTH

ONE_BLOCK = hs.Plan(sampling=hs.RandomAllocation(picks=1, out_of=1000), steps=1000)


def epsilon(name, plan, noise, delta):
    """What a baseline says about epsilon."""
    bound = BASELINES[name].bound(plan, noise)
    return bound.epsilon(delta, directions=BOTH, accuracy=1e-3).value


def test_poisson_has_the_same_expected_batches():
    """Rate picks / out_of."""
    plan = hs.Plan(sampling=hs.RandomAllocation(picks=2, out_of=100), steps=300)
    poisson = hs.Plan(sampling=hs.Poisson(rate=0.02), steps=300)
    expected = hs.account(poisson, noise_multiplier=1.0).epsilon(1e-6)
    assert epsilon("poisson", plan, 1.0, 1e-6) == expected


def test_without_amplification_participations_compose():
    """The closed-form Gaussian, and the composition of a mechanism of its own."""
    expected = hs.account(ONE_BLOCK, noise_multiplier=2.0, method="gaussian").epsilon(1e-6)
    assert epsilon("no-amplification", ONE_BLOCK, 2.0, 1e-6) == expected
    response = hs.Profile.randomized_response(epsilon=0.7)
    scheme = hs.RandomAllocation(picks=2, out_of=5)
    plan = hs.Plan(sampling=scheme, steps=5, mechanism=response)
    assert epsilon("no-amplification", plan, None, 1e-9) == pytest.approx(1.4, rel=1e-3)


@pytest.mark.parametrize("noise", [1.0, 2.0, 8.0])
def test_shuffling_is_between_the_truth_and_no_amplification(noise):
    """It bounds the same run, loosely."""
    exact = hs.account(ONE_BLOCK, noise_multiplier=noise).epsilon(1e-6)
    alone = epsilon("no-amplification", ONE_BLOCK, noise, 1e-6)
    assert exact < epsilon("shuffling", ONE_BLOCK, noise, 1e-6) <= alone * (1 + 1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("at", [0.02, pytest.param(0.05, marks=pytest.mark.long)])
def test_shuffling_answers_for_delta_too(at):
    """Delta at the epsilon of a delta is that delta."""
    bound = BASELINES["shuffling"].bound(ONE_BLOCK, 4.0)
    delta = bound.delta(at, directions=BOTH, accuracy=1e-3).value
    found = bound.epsilon(delta, directions=BOTH, accuracy=1e-3).value
    assert found == pytest.approx(at, rel=1e-2)
    assert delta >= hs.account(ONE_BLOCK, noise_multiplier=4.0).delta(at)


def test_shuffling_covers_randomized_response():
    """A pure mechanism needs no cut-off."""
    scheme = hs.RandomAllocation(picks=1, out_of=200)
    response = hs.Profile.randomized_response(epsilon=1.0)
    plan = hs.Plan(sampling=scheme, steps=200, mechanism=response)
    exact = hs.account(plan).epsilon(1e-4)
    assert exact < epsilon("shuffling", plan, None, 1e-4) < 1.0


def test_objections():
    """Shuffling is for one pick out of one block; strategies have no baseline."""
    two_blocks = hs.Plan(sampling=ONE_BLOCK.sampling, steps=2000)
    assert "one block" in BASELINES["shuffling"].objection(two_blocks)
    correlated = hs.Plan(sampling=hs.FullBatch(), steps=10, strategy=hs.strategies.bsr(10, bands=2))
    assert all(baseline.objection(correlated) for baseline in BASELINES.values())


def test_baselines_are_no_methods():
    """None of them is a method of `account`."""
    assert not set(BASELINES) & set(hs.methods(ONE_BLOCK))
