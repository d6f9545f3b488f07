"""Saving a stream and going on from there, bit for bit."""

from __future__ import annotations

import copy
import itertools
import pickle

import numpy as np
import pytest

from hockeystick import strategies
from hockeystick.errors import InvalidParameter
from in_one_test import in_one_test

N, D = 10, 33
STRATEGIES = [
    strategies.identity(N),
    strategies.bsr(N, 4),
    strategies.bisr(N, 3),
    strategies.blt(N, 2),
    strategies.from_matrix(strategies.bsr(N, 4).to_matrix()),
]
SOURCES = {
    "PCG64DXSM": lambda seed: seed,
    "Philox": np.random.Philox,
    "SFC64": np.random.SFC64,
    "MT19937": np.random.MT19937,
    "chacha": lambda seed: "chacha",
}
every_strategy = pytest.mark.parametrize("strategy", STRATEGIES, ids=repr)
every_source = pytest.mark.parametrize("source", SOURCES.values(), ids=SOURCES)


def same_state(one, other):
    """Whether two saved states are equal."""
    return all(np.array_equal(one[name], other[name]) for name in one)


@in_one_test
@every_strategy
@every_source
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("after", [0, 1, 7])
def test_a_restored_stream_continues(strategy, source, dtype, after):
    """In a fresh stream of another seed, after pickling, and in the same stream once more."""
    stream = strategy.noise(D, dtype=dtype, rng=source(1))
    for _ in range(after):
        next(stream)
    saved = stream.state()
    expected = list(stream)
    assert len(expected) == N - after
    fresh = strategy.noise(D, dtype=dtype, rng=source(2))
    next(fresh)
    fresh.restore(pickle.loads(pickle.dumps(saved)))
    stream.restore(saved)
    for continued in (fresh, stream):
        for row, kept in zip(continued, expected, strict=True):
            np.testing.assert_array_equal(row, kept)


@every_strategy
def test_a_state_is_a_copy(strategy):
    """Neither later steps nor a restored stream change it, nor does changing it change them."""
    stream = strategy.noise(D, rng=1)
    next(stream)
    saved = stream.state()
    kept = copy.deepcopy(saved)
    other = strategy.noise(D, rng=2)
    other.restore(saved)
    expected = list(stream)
    rows = list(itertools.islice(other, 2))
    assert same_state(saved, kept)
    saved["memory"][:] = np.nan
    for row, same in zip([*rows, *other], expected, strict=True):
        np.testing.assert_array_equal(row, same)


def test_restoring_does_not_touch_the_callers_generator():
    """A generator that is used elsewhere goes on as if nothing had happened."""
    rng, same = np.random.default_rng(3), np.random.default_rng(3)
    stream = strategies.bsr(N, 2).noise(D, rng=rng)
    same.integers(2**64, size=4, dtype=np.uint64)  # the key
    stream.restore(stream.state())
    next(stream)
    assert rng.standard_normal() == same.standard_normal()


OTHERS = {
    "steps": (strategies.bsr(N + 1, 4), D, {}),
    "bands": (strategies.bsr(N, 5), D, {}),
    "dimension": (strategies.bsr(N, 4), D + 1, {}),
    "shape": (strategies.bsr(N, 4), (3, 11), {}),
    "scale": (strategies.bsr(N, 4), D, {"scale": 2.0}),
    "dtype": (strategies.bsr(N, 4), D, {"dtype": np.float64}),
    "generator": (strategies.bsr(N, 4), D, {"rng": "chacha"}),
    "coefficients": (strategies.band_mf(N, 4), D, {}),
    "recurrence": (strategies.bisr(N, 4), D, {}),
}


@in_one_test
@pytest.mark.parametrize("other", OTHERS.values(), ids=OTHERS)
def test_the_state_of_another_stream_is_refused(other):
    """Nothing is changed, and the error says `state`."""
    strategy, dimension, options = other
    foreign = strategy.noise(dimension, **{"rng": 9, **options})
    next(foreign)
    assert_refused(foreign.state())


def assert_refused(state):
    """The stream goes on as if it had not been asked."""
    stream = strategies.bsr(N, 4).noise(D, rng=1)
    next(stream)
    before = stream.state()
    with pytest.raises(InvalidParameter, match=r"^state") as caught:
        stream.restore(state)
    assert caught.value.allowed
    assert same_state(stream.state(), before)


BROKEN = {
    "negative step": {"step": -1},
    "step after the end": {"step": N + 1},
    "fractional step": {"step": 1.5},
    "step as text": {"step": "x"},
    "no shape": {"shape": 7},
    "empty memory": {"memory": []},
    "memory of text": {"memory": np.full((3, D), "a")},
    "memory with NaN": {"memory": np.full((3, D), np.nan, np.float32)},
    "key as text": {"key": "a"},
    "half a key": {"key": np.ones(2, np.uint64)},
}


@in_one_test
@pytest.mark.parametrize("change", BROKEN.values(), ids=BROKEN)
def test_a_broken_state_is_refused(change):
    """Whatever is wrong with it."""
    stream = strategies.bsr(N, 4).noise(D, rng=5)
    next(stream)
    assert_refused({**stream.state(), **change})


@in_one_test
@pytest.mark.parametrize(
    "name", ["step", "steps", "scale", "dtype", "memory", "generator", "key", "recurrence"]
)
def test_an_incomplete_state_is_refused(name):
    """Every part is needed."""
    state = strategies.bsr(N, 4).noise(D, rng=5).state()
    del state[name]
    assert_refused(state)
