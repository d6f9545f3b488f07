"""Batches formed from a graph: limits of every user, and their Gaussian mechanism."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import hockeystick as hs
from hockeystick.errors import InvalidParameter


def graph_of(rng, examples, users, most):
    """Examples with up to so many users each."""
    pairs = [
        (example, int(user))
        for example in range(examples)
        for user in rng.choice(users, size=rng.integers(1, most + 1), replace=False)
    ]
    return hs.Attribution.from_pairs(
        examples=[example for example, _ in pairs], users=[user for _, user in pairs]
    )


@pytest.mark.parametrize("seed", range(25))
def test_users_keep_their_limits(seed):
    """From the definition: once in a batch, far enough apart, often enough at most."""
    rng = np.random.default_rng(seed)
    graph = graph_of(rng, 60, 40, 3)
    gap, most, size = int(rng.integers(1, 6)), int(rng.integers(1, 5)), int(rng.integers(1, 9))
    scheme = hs.FormedBatches(batch_size=size, separation=gap, max_participations=most)
    steps, taken = 15, {user: [] for user in range(graph.users)}
    batches = list(scheme.batches(examples=graph, steps=steps, rng=seed))
    for step, batch in enumerate(batches):
        assert len(batch) <= size
        for example in batch:
            for user in graph.users_of(int(example)):
                taken[int(user)].append(step)
        if len(batch) < size:
            # Nobody else could have joined.
            ready = {
                user
                for user, when in taken.items()
                if len(when) < most and not any(0 <= step - one < gap for one in when)
            }
            for example in range(graph.examples):
                assert not ready.issuperset(graph.users_of(example).tolist())
    for when in taken.values():
        assert len(when) <= most
        assert all(later - earlier >= gap for earlier, later in itertools.pairwise(when))
    first = list(scheme.batches(examples=graph, steps=7, rng=seed))
    assert all(np.array_equal(a, b) for a, b in zip(first, batches, strict=False))


def test_it_is_a_gaussian_mechanism_for_users():
    """With the sensitivity of the separation and the participations; nothing is amplified."""
    strategy = hs.strategies.band_mf(40, bands=4)
    scheme = hs.FormedBatches(batch_size=5, separation=4, max_participations=3)
    plan = hs.Plan(sampling=scheme, steps=40, strategy=strategy)
    sensitivity = strategy.sensitivity(separation=4, participations=3)
    found = hs.account(plan, noise_multiplier=2.0).epsilon(1e-5)
    single = hs.Profile.gaussian(noise_multiplier=2.0 / float(sensitivity)).epsilon(1e-5)
    assert found == pytest.approx(single, rel=1e-6)
    assert scheme.unit == "user"
    assert hs.methods(plan) == {"gaussian": "proven"}


@pytest.mark.parametrize("size", [2.5, 0, 101])
def test_sizes_that_are_refused(size):
    """Whole numbers, up to the number of examples."""
    with pytest.raises(InvalidParameter, match="batch_size"):
        hs.FormedBatches.for_batch_size(size, examples=100, separation=2)
