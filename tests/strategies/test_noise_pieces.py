"""Noise that is held in parts by several streams, and noise that is drawn again."""

from __future__ import annotations

import tracemalloc
from itertools import pairwise

import numpy as np
import pytest

from hockeystick import strategies
from hockeystick.errors import InvalidParameter
from hockeystick.randomness import Key
from in_one_test import in_one_test

STEPS, SIZE = 5, 2 * 2**18 + 100
STRATEGIES = [
    strategies.bsr(STEPS, 3),
    strategies.bisr(STEPS, 3),
    strategies.lambda_cgd(STEPS, decay=0.7),
    strategies.blt(STEPS, 2),
    strategies.from_matrix(strategies.bsr(STEPS, 2).to_matrix()),
]
every_strategy = pytest.mark.parametrize("strategy", STRATEGIES, ids=repr)


def cuts(count: int) -> list[list[tuple[int, int]]]:
    """The vector in contiguous shares, and in shares of many ranges as sharded parameters have."""
    edges = [SIZE * i // count for i in range(count + 1)]
    if count == 2:
        return [[(a, b)] for a, b in pairwise(edges)]
    ranges = [(a, min(a + 40_007, SIZE)) for a in range(0, SIZE, 40_007)]
    return [ranges[i::count] for i in range(count)]


@pytest.mark.slow
@every_strategy
@pytest.mark.parametrize(("count", "dtype"), [(2, np.float64), (3, np.float32)])
def test_parts_make_up_the_whole(strategy, count, dtype):
    """However the coordinates are shared out, each has the same noise, bit for bit."""
    key = Key.of(3)
    whole = list(strategy.noise(SIZE, dtype=dtype, rng=key))
    for ranges in cuts(count):
        part = list(strategy.noise(SIZE, dtype=dtype, rng=key, coordinates=ranges))
        held = np.concatenate([np.arange(a, b) for a, b in ranges])
        np.testing.assert_array_equal(part, [row[held] for row in whole])


@pytest.mark.slow
@pytest.mark.parametrize("bands", [1, 2, 4])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_noise_that_is_drawn_again_is_the_same(bands, dtype):
    """Replayed rows are bit for bit the remembered ones, and the state has no memory in it."""
    strategy = strategies.bisr(6, bands)
    rows = list(strategy.noise(SIZE, scale=1.5, dtype=dtype, rng=5))
    stream = strategy.noise(SIZE, scale=1.5, dtype=dtype, rng=5, noise_memory="replay")
    np.testing.assert_array_equal(list(stream), rows)
    assert stream.memory.size == 0


def test_replay_continues_after_a_restore():
    """Key and step are all it needs."""
    strategy = strategies.lambda_cgd(6, decay=0.9)
    stream = strategy.noise(7, rng=5, noise_memory="replay")
    next(stream), next(stream)
    again = strategy.noise(7, rng=1, noise_memory="replay")
    again.restore(stream.state())
    np.testing.assert_array_equal(list(again), list(stream))


@pytest.mark.parametrize("strategy", [STRATEGIES[0], STRATEGIES[3], STRATEGIES[4]], ids=repr)
def test_only_banded_inverses_are_replayed(strategy):
    """Elsewhere all earlier rows of Z would have to be drawn."""
    with pytest.raises(InvalidParameter, match="noise_memory must be 'rows' for this strategy"):
        strategy.noise(5, noise_memory="replay")


@in_one_test
@pytest.mark.parametrize(
    "bad",
    [
        [(3, 2)],
        [(-1, 4)],
        [(0, 11)],
        [(0, 5), (4, 6)],
        [(5, 6), (0, 2)],
        [(0.5, 2)],
        [(0, float("nan"))],
        [3],
    ],
)
def test_ranges_are_checked(bad):
    """Whole numbers inside the vector, in order and disjoint."""
    with pytest.raises(InvalidParameter, match=r"coordinates must be ranges"):
        strategies.identity(2).noise(10, coordinates=bad)


@pytest.mark.parametrize(("noise_memory", "rows"), [("rows", 16), ("replay", 2)])
def test_the_peak_of_a_part(noise_memory, rows):
    """A rank that holds a third needs 1.1 times a third of bands rows; replay one row and the last.

    Half of it in single ranges, as sharded parameters have, so that nothing whole is drawn.
    """
    size, strategy = 900_000, strategies.bisr(17, 16)
    third = [(0, size // 6), *((a, a + 5_000) for a in range(size // 6, size // 2, 10_000))]
    held = sum(b - a for a, b in third)
    settings = {"rng": 1, "noise_memory": noise_memory, "coordinates": third}
    list(strategy.noise(size, **settings))  # compiled before memory is measured
    tracemalloc.start()
    try:
        for _ in strategy.noise(size, **settings):
            pass
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert held == size // 3
    # The row before is still the caller's while the next one is drawn.
    assert peak - (held * 4 if noise_memory == "rows" else 0) <= 1.1 * rows * held * 4


@pytest.mark.parametrize("ranges", [[], [(4, 4)]])
def test_a_stream_may_hold_nothing(ranges):
    """Some process may have no part of a small vector."""
    stream = strategies.bsr(4, 2).noise(10, rng=1, coordinates=ranges)
    assert [row.shape for row in stream] == [(0,)] * 4
    assert stream.state()["step"] == 4


def test_a_state_is_of_its_coordinates():
    """One part of a vector does not continue as another."""
    strategy = strategies.bsr(4, 2)
    first, second = (strategy.noise(10, rng=1, coordinates=[(a, a + 5)]) for a in (0, 5))
    next(first)
    with pytest.raises(InvalidParameter, match="coordinates"):
        second.restore(first.state())


def test_keys():
    """Of a seed always the same, of a secret source always another; every place is its own."""
    assert Key.of(7) == Key.of(7) != Key.of(8)
    assert Key.of(None) != Key.of(None)
    assert not Key.of(None).seeded
    assert (Key.of("chacha").kind, Key.of(7).kind) == ("ChaCha20", "ChaCha8")
    assert Key.of(7).secret(b"a") == Key.of(7).secret(b"a") != Key.of(7).secret(b"b")
    assert Key.of(7).secret(b"a") != Key.of(8).secret(b"a")
    for key in (Key.of(7), Key.of("chacha")):
        words = {int(key.generator(a, b).integers(2**63)) for a in range(4) for b in range(4)}
        assert len(words) == 16
        assert key.generator(1, 2).random() == key.generator(1, 2).random()
