"""Shuffle: a description that is refused with a reason, and a lower bound that really is one."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy.special import logsumexp

import hockeystick as hs
from hockeystick.errors import InvalidParameter, UnsupportedPlan
from hockeystick.schemes import Shuffle
from hockeystick.schemes.full_batch import shuffle_epsilon_lower_bound

PLAN = hs.Plan(sampling=hs.Shuffle(batch_size=50), steps=1000)


def test_no_batches_are_drawn() -> None:
    """The refusal comes at the call, with the reason and the alternatives."""
    with pytest.raises(UnsupportedPlan, match="no tight privacy analysis") as caught:
        Shuffle(batch_size=10).batches(examples=100, steps=20)
    assert "BallsInBins" in str(caught.value)
    assert "RandomAllocation" in str(caught.value)


def test_batch_size_is_the_fixed_one() -> None:
    """The expected batch size is the size, and the constructor inverts it."""
    assert Shuffle(batch_size=32).expected_batch_size(1000) == 32
    assert Shuffle.for_batch_size(32.0, examples=1000) == Shuffle(batch_size=32)


def test_a_batch_larger_than_the_data_is_refused() -> None:
    """No batch holds more examples than there are."""
    with pytest.raises(InvalidParameter, match=r"^batch_size must be in \(0, examples=31\]"):
        Shuffle(batch_size=32).expected_batch_size(31)


def test_a_fractional_batch_is_refused() -> None:
    """A fixed size is a whole number."""
    with pytest.raises(InvalidParameter, match=r"^batch_size must be an integer in \[1, 1000\]"):
        Shuffle.for_batch_size(32.5, examples=1000)


@pytest.mark.parametrize("bad", [0, -1, 2.0, math.nan, True, "4", None])
def test_bad_sizes_are_refused(bad: Any) -> None:
    """The size is a positive integer."""
    with pytest.raises(InvalidParameter, match=r"^batch_size must be an integer >= 1"):
        Shuffle(batch_size=bad)


def test_participations_and_description() -> None:
    """Without the data size every step may be a participation; the size is described."""
    assert Shuffle(batch_size=32).most_participations(17) == 17
    assert Shuffle(batch_size=32).describe() == {"scheme": "shuffle", "batch_size": 32}


def test_refused_with_reason_bound_and_alternative():
    """The message has the reason, both numbers and the alternatives."""
    with pytest.raises(hs.errors.UnsupportedPlan) as caught:
        hs.account(PLAN, noise_multiplier=0.5)
    text = str(caught.value)
    assert "no tight privacy analysis" in text
    assert "epsilon >= 11" in text
    assert "4.2" in text
    assert "BallsInBins" in text
    assert "RandomAllocation" in text


def test_no_bound_that_shows_nothing():
    """Where the lower bound is below the Poisson formula, neither is named."""
    plan = hs.Plan(sampling=Shuffle(batch_size=500), steps=3)
    with pytest.raises(hs.errors.UnsupportedPlan) as caught:
        hs.account(plan, noise_multiplier=1.0)
    assert "Poisson formula" not in str(caught.value)


def test_no_method_applies():
    """Nothing can be asked for by name either."""
    assert hs.methods(PLAN) == {}
    for call in (hs.account, hs.calibrate):
        options = {"noise_multiplier": 1.0} if call is hs.account else {"epsilon": 1, "delta": 1e-5}
        with pytest.raises(hs.errors.UnsupportedPlan):
            call(PLAN, method="gaussian", **options)


def test_lower_bound_of_a_single_batch_is_exact():
    """One batch is the Gaussian mechanism, where threshold events are optimal."""
    exact = hs.Profile.gaussian(noise_multiplier=1.3).epsilon(1e-6)
    bound = shuffle_epsilon_lower_bound(noise_multiplier=1.3, batches=1, delta=1e-6)
    assert bound <= exact
    assert bound == pytest.approx(exact, rel=1e-3)


def test_lower_bound_lies_below_the_truth():
    """The bound does not exceed a Monte Carlo estimate of the same pair's epsilon."""
    noise, batches, delta = 0.8, 5, 1e-2
    bound = shuffle_epsilon_lower_bound(noise_multiplier=noise, batches=batches, delta=delta)
    rng = np.random.default_rng(5)
    y = noise * rng.standard_normal((400_000, batches))
    y[:, 0] += 2
    # log of the likelihood ratio of the two mixtures, under P.
    p = logsumexp((2 * y - 2) / noise**2, axis=1)
    q = logsumexp((y - 0.5) / noise**2, axis=1)
    at_bound = np.maximum(1 - np.exp(bound - (p - q)), 0).mean()
    assert at_bound >= delta * (1 - 0.02)
    assert bound > 0


def test_more_batches_lower_the_bound():
    """The bound falls with the number of batches, so one long epoch is the mildest reading."""
    values = [
        shuffle_epsilon_lower_bound(noise_multiplier=0.7, batches=b, delta=1e-6)
        for b in (1, 10, 100, 1000)
    ]
    assert values == sorted(values, reverse=True)
    assert math.isfinite(values[0])
