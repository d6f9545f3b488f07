"""States whose generators cannot draw are refused, in NumPy's streams."""

from __future__ import annotations

import copy

import numpy as np
import pytest
import randomgen

from hockeystick import strategies
from hockeystick._states import restored_generator, state_digest
from hockeystick.errors import InvalidParameter

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


def forged(name, change):
    """A state with another generator in it, whose digest is right."""
    state = copy.deepcopy(stream(name).state())
    state["generators"] = [change(one) for one in state["generators"]]
    state["digest"] = state_digest(state)
    return state


def assert_refused(name, state):
    """In one sentence, without the words of the generator; the stream goes on as it was."""
    made = stream(name, 9)
    before = made.state()["digest"]
    with pytest.raises(InvalidParameter, match=r"^state must be ") as caught:
        made.restore(state)
    assert len(str(caught.value)) < 200
    assert made.state()["digest"] == before


@pytest.mark.parametrize(("name", "change"), WORDS.values(), ids=WORDS)
def test_degenerate_generators(name, change):
    """Words that a setter takes and from which nothing random comes."""
    assert_refused(name, forged(name, change))


@every_kind
def test_generators_of_zeros(name):
    """Whatever the kind."""
    assert_refused(name, forged(name, zeroed))


@every_kind
def test_good_generators_are_restored(name):
    """To the bit, in the middle of a word, and of many seeds none is refused."""
    for seed in range(60):
        rng = np.random.Generator(source(name, seed))
        rng.integers(2**32, size=seed % 3, dtype=np.uint32)
        again = restored_generator(source(name, seed + 1), rng.bit_generator.state)
        assert np.array_equal(again.random(20), rng.random(20))


def test_parts_with_equal_generators_are_refused():
    """Two parts of a long row would have the same noise."""
    made = strategies.identity(2).noise(2**20, rng=3)
    state = copy.deepcopy(made.state())
    assert len(state["generators"]) > 1
    state["generators"][1] = copy.deepcopy(state["generators"][0])
    state["digest"] = state_digest(state)
    with pytest.raises(InvalidParameter, match="generator of its own"):
        made.restore(state)


def test_noise_that_was_forgotten_is_refused():
    """Zeros in the place of earlier rows: the correlation would be lost."""
    state = copy.deepcopy(stream("PCG64DXSM").state())
    state["memory"] = [np.zeros_like(one) for one in state["memory"]]
    state["digest"] = state_digest(state)
    assert_refused("PCG64DXSM", state)


def test_the_seed_of_a_restored_stream_stays_known():
    """`seeded` goes along with the state, and is never lost again."""
    secret = strategies.identity(N).noise(D)
    assert not secret.seeded
    secret.restore(strategies.identity(N).noise(D, rng=5).state())
    assert secret.seeded
    secret.restore(strategies.identity(N).noise(D).state())
    assert secret.seeded
