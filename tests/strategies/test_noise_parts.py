"""Long rows, which are drawn in parts."""

from __future__ import annotations

import numpy as np
import pytest

from hockeystick._numerics.threads import in_threads
from hockeystick.errors import HockeystickError, PrecisionError
from hockeystick.randomness import generators
from hockeystick.strategies import bsr, from_coefficients
from references.factorizations import drawn

LONG = 2**19
STRATEGY = bsr(4, 2)


@pytest.mark.parametrize("seed", [7, np.random.SeedSequence(7)], ids=["number", "sequence"])
def test_a_seed_gives_the_same_rows(seed):
    """However many threads there are, and however often it is used."""
    first, second = (list(STRATEGY.noise(LONG, rng=seed)) for _ in range(2))
    np.testing.assert_array_equal(first, second)


def test_every_piece_of_every_row_has_its_generator():
    """A long row is what the generators of its pieces draw, in both precisions."""
    for dtype in (np.float32, np.float64):
        rows = list(bsr(2, 1).noise(LONG + 5, dtype=dtype, rng=7))
        np.testing.assert_array_equal(rows, drawn(7, (2, LONG + 5), dtype))


def test_parts_are_independent():
    """Neither equal nor correlated."""
    [row] = list(bsr(1, 1).noise(LONG, rng=7))
    left, right = row[: LONG // 2].astype(float), row[LONG // 2 :].astype(float)
    assert abs(np.corrcoef(left, right)[0, 1]) < 5 / np.sqrt(left.size)


@pytest.mark.parametrize("rng", [7, "chacha"])
def test_a_long_stream_can_be_restored(rng):
    """Every part continues bit for bit."""
    stream = STRATEGY.noise(LONG, rng=rng)
    next(stream)
    saved = stream.state()
    again = STRATEGY.noise(LONG, rng=rng)
    again.restore(saved)
    np.testing.assert_array_equal(list(stream), list(again))


def test_of_a_generator_only_a_key_is_drawn():
    """Somebody else may draw from it: 256 bits, and no number of the noise."""
    rng, same = np.random.default_rng(3), np.random.default_rng(3)
    stream = bsr(2, 1).noise(5, rng=rng)
    same.integers(2**64, size=4, dtype=np.uint64)
    list(stream)
    assert rng.random() == same.random()


def test_generators_beside_a_seed_are_not_its_children():
    """Somebody who spawns from the same seed gets other numbers."""
    seed = np.random.SeedSequence(5)
    beside = generators(seed, 3)[1:]
    children = [np.random.Generator(np.random.PCG64DXSM(child)) for child in seed.spawn(2)]
    drawn = {rng.integers(2**63) for rng in (*beside, *children)}
    assert len(drawn) == 4


def test_noise_that_grows_out_of_range_is_an_error():
    """Not infinities that training would add."""
    stream = from_coefficients([1.0, 2.0], 400).noise(3, rng=1)
    with pytest.raises(PrecisionError, match="cannot be held in float32"):
        list(stream)


def test_an_interrupted_row_stops_the_stream():
    """Parts may be at different steps then; a saved state helps."""
    stream = STRATEGY.noise(5, rng=1)
    next(stream)
    saved = stream.state()
    expected = next(stream)
    stream.restore(saved)
    recurrence, stream._recurrence = stream._recurrence, None
    with pytest.raises(AttributeError):
        next(stream)
    stream._recurrence = recurrence
    for use in (lambda: next(stream), stream.state):
        with pytest.raises(HockeystickError, match="interrupted"):
            use()
    stream.restore(saved)
    np.testing.assert_array_equal(next(stream), expected)


def test_threads_pass_errors_on():
    """The first one is raised; without errors everything is done."""
    done = []

    def fails():
        raise KeyError("no")

    with pytest.raises(KeyError, match="no"):
        in_threads([fails, fails])
    in_threads([lambda i=i: done.append(i) for i in range(20)])
    assert sorted(done) == list(range(20))
    in_threads([])
