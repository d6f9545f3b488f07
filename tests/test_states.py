"""States whose generators cannot draw are refused, and keys that are none."""

from __future__ import annotations

import copy

import numpy as np
import pytest
import randomgen

from hockeystick import strategies
from hockeystick._states import MALFORMED, restored_generator, state_digest
from hockeystick.errors import InvalidParameter
from in_one_test import in_one_test

N, D = 5, 4
KINDS = {
    "PCG64": np.random.PCG64,
    "PCG64DXSM": np.random.PCG64DXSM,
    "MT19937": np.random.MT19937,
    "Philox": np.random.Philox,
    "SFC64": np.random.SFC64,
}


def chacha(seed):
    """A ChaCha generator."""
    return randomgen.ChaCha(key=seed + 2**130)


def zeroed(value):
    """All numbers zero."""
    if isinstance(value, dict):
        return {name: zeroed(part) for name, part in value.items()}
    if isinstance(value, np.ndarray):
        return np.zeros_like(value)
    return value if isinstance(value, str) else 0


def inner(**parts):
    """Changes what is inside `state`."""
    return lambda state: {**state, "state": {**state["state"], **parts}}


def outer(**parts):
    """Changes what is beside it."""
    return lambda state: {**state, **parts}


WORDS = {
    "even increment": ("PCG64", inner(inc=2**70)),
    "even increment, DXSM": ("PCG64DXSM", inner(inc=0)),
    "negative state": ("PCG64DXSM", inner(state=-1)),
    "wide state": ("PCG64DXSM", inner(state=2**128)),
    "state as a float": ("PCG64DXSM", inner(state=1.0)),
    "junk flag": ("PCG64DXSM", outer(has_uint32=7)),
    "flag as text": ("PCG64DXSM", outer(has_uint32="1")),
    "wide word": ("SFC64", outer(uinteger=2**32)),
    "negative word": ("SFC64", outer(uinteger=-1)),
    "zero key of MT19937": ("MT19937", inner(key=np.zeros(624, np.uint32))),
    "nearly zero key": ("MT19937", inner(key=np.eye(1, 624, 5, dtype=np.uint32)[0])),
    "place beyond the key": ("MT19937", inner(pos=10**6)),
    "negative place": ("MT19937", inner(pos=-1)),
    "short key": ("MT19937", inner(key=np.ones(3, np.uint32))),
    "zero key of Philox": ("Philox", inner(key=np.zeros(2, np.uint64))),
    "place beyond the buffer": ("Philox", outer(buffer_pos=9)),
    "zero words": ("SFC64", inner(state=np.zeros(4, np.uint64))),
    "no state": ("PCG64", outer(state=None)),
    "another kind": ("PCG64", outer(bit_generator="MT19937")),
    "zero key of ChaCha": ("chacha", inner(keysetup=np.zeros(8, np.uint32))),
    "few rounds": ("chacha", inner(rounds=2)),
    "no rounds": ("chacha", inner(rounds=0)),
}
every_kind = pytest.mark.parametrize("name", [*KINDS, "chacha"])


def source(name, seed=1):
    """A bit generator of the kind."""
    return {**KINDS, "chacha": chacha}[name](seed)


def stream(name, seed=1):
    """Noise after its first row."""
    made = strategies.bsr(N, bands=2).noise(D, rng=source(name, seed))
    next(made)
    return made


def assert_refused(name, state):
    """The generator it is compared with stays as it was."""
    like = source(name, 9)
    before = repr(like.state)
    with pytest.raises(MALFORMED) as caught:
        restored_generator(like, state)
    assert len(str(caught.value)) < 200
    assert repr(like.state) == before


@in_one_test
@pytest.mark.parametrize(("name", "change"), WORDS.values(), ids=WORDS)
def test_degenerate_generators(name, change):
    """Words that a setter takes and from which nothing random comes."""
    assert_refused(name, change(source(name).state))


@every_kind
def test_generators_of_zeros(name):
    """Whatever the kind."""
    assert_refused(name, zeroed(source(name).state))


@every_kind
def test_good_generators_are_restored(name):
    """To the bit, in the middle of a word, and of many seeds none is refused."""
    for seed in range(60):
        rng = np.random.Generator(source(name, seed))
        rng.integers(2**32, size=seed % 3, dtype=np.uint32)
        again = restored_generator(source(name, seed + 1), rng.bit_generator.state)
        assert np.array_equal(again.random(20), rng.random(20))


FORGED = {
    "no words": [],
    "three words": np.ones(3, np.uint64),
    "words of zero": np.array([1, 2, 0, 4], np.uint64),
    "numbers": [1, 2, 3, 4],
    "text": "key",
    "none": None,
}


@pytest.mark.parametrize("key", FORGED.values(), ids=FORGED)
def test_keys_that_are_none(key):
    """In one sentence without the key; the stream goes on as it was."""
    made = stream("PCG64DXSM")
    before = made.state()["digest"]
    state = {**made.state(), "key": key}
    state["digest"] = state_digest(state)
    with pytest.raises(InvalidParameter, match=r"^state must be ") as caught:
        made.restore(state)
    assert len(str(caught.value)) < 200
    assert made.state()["digest"] == before


def test_noise_that_was_forgotten_is_refused():
    """Zeros in the place of earlier rows: the correlation would be lost."""
    made = stream("PCG64DXSM")
    state = copy.deepcopy(made.state())
    state["memory"] = np.zeros_like(state["memory"])
    state["digest"] = state_digest(state)
    with pytest.raises(InvalidParameter, match="with the noise of 1 steps"):
        made.restore(state)


def test_the_seed_of_a_restored_stream_stays_known():
    """`seeded` goes along with the state, and is never lost again."""
    secret = strategies.identity(N).noise(D)
    assert not secret.seeded
    secret.restore(strategies.identity(N).noise(D, rng=5).state())
    assert secret.seeded
    secret.restore(strategies.identity(N).noise(D).state())
    assert secret.seeded
