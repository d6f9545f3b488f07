"""Exact noise streams: integers, whose sum with the data is a function of C G + Z."""

from __future__ import annotations

import numpy as np
import pytest

import hockeystick as hs
from hockeystick.errors import InvalidParameter
from hockeystick.strategies.exact_noise import ExactNoiseStream
from hockeystick.strategies.integer_recurrence import (
    IntegerRecurrence,
    NoiseBounds,
    integer_recurrence,
    integer_step,
)
from hockeystick.strategies.rounded_normals import LARGEST, fill_rounded

S = hs.strategies
MATRIX = S.from_matrix(np.tril(np.random.default_rng(3).random((9, 9)), 0) + np.eye(9)).exact()
STRATEGIES = {
    "identity": S.identity(9),
    "bsr": S.bsr(9, bands=4),
    "optimised": S.band_mf(9, bands=3).exact(),
    "one band": S.from_coefficients([0.75], steps=9),
    "full": S.from_coefficients([2.0, 0.25, 0.25, 1.5, 0.125, 1, 1, 1, 1.0]),
    "matrix": MATRIX,
}


def stream(strategy, dimension=50, **options):
    """Of scale 1, with a seed."""
    settings = {"scale": 1.0, "rng": 5, **options}
    return strategy.noise(dimension, arithmetic="exact", **settings)


def entries_of(strategy):
    """Rows a_0, a_1, ... of each step in Python's integers, and the denominator's bits."""
    recurrence = integer_recurrence(strategy._banded_rows()[0])
    rows = [[int(a) for a in row] for row in recurrence.entries]
    return [rows[t % len(rows)] for t in range(strategy.steps)], recurrence.bits


def drawn_integers(found, dimension, bits):
    """The rows of Z in units of the fine lattice, from the stream's key."""
    rows = []
    for step in range(found.steps):
        row = np.empty(dimension, np.int64)
        fill_rounded(row, found._key.words, 0, step, bits=bits)
        rows.append([int(z) for z in row])
    return rows


def rounded_quotient(number, divisor):
    """To the nearest integer, upwards from the middle."""
    return (number + divisor // 2) // divisor


@pytest.mark.parametrize("name", STRATEGIES)
def test_the_release_is_a_function_of_the_mechanism(name):
    """G + N from C G + Z alone, in Python's integers: the identity on which the proof rests."""
    strategy, dimension = STRATEGIES[name], 40
    found = stream(strategy, dimension)
    noise = np.array([next(found) for _ in range(9)])
    rows, bits = entries_of(strategy)
    z = drawn_integers(found, dimension, found.resolution + bits)
    g = np.random.default_rng(0).integers(-(2**40), 2**40, size=(9, dimension))
    for k in range(dimension):
        released: list[int] = []
        for t, a in enumerate(rows):
            known = range(1, min(t, len(a) - 1) + 1)
            # Entry t of C G + Z, rounded to the fine lattice on which C G is.
            y = z[t][k] + sum(a[j] * int(g[t - j, k]) for j in (0, *known))
            y -= sum(a[j] * released[t - j] for j in known)
            released.append(rounded_quotient(y, a[0]))
        assert released == [int(one) for one in g[:, k] + noise[:, k]]


@pytest.mark.parametrize("name", STRATEGIES)
def test_noise_is_that_of_the_strategy(name):
    """C N differs from Z by rounding alone, and is white with the scale as deviation."""
    strategy = STRATEGIES[name]
    found = stream(strategy, 20_000, scale=3.0)
    noise = np.array([next(found) for _ in range(9)]) * found.lattice
    z = strategy.to_matrix() @ noise
    covariance = np.cov(z) / 9.0
    np.testing.assert_allclose(covariance, np.eye(9), atol=6 * np.sqrt(2 / 20_000))


@pytest.mark.parametrize("short", [True, False])
@pytest.mark.parametrize("divisor", [1, 2**20, 3, 497_637, 2**31 + 11])
def test_a_step_is_integer_arithmetic(divisor, short):
    """Quotients of positive and negative sums, for divisors that are powers of two and others."""
    rng = np.random.default_rng(divisor)
    dtype = np.int32 if short else np.int64
    memory = rng.integers(-(2**30), 2**30, size=(6, 5000)).astype(dtype)
    a = np.array([divisor, *rng.integers(0, 2**20, size=6)])
    z = rng.integers(-(2**50), 2**50, size=5000)
    z[:3] = [0, -divisor, divisor // 2]
    for step in (0, 2, 6, 20):
        row, ring = z.copy(), memory.copy()
        expected = []
        for k in range(z.size):
            past = range(1, min(step, 6) + 1)
            total = int(z[k]) - sum(int(a[j]) * int(memory[(step - j) % 6, k]) for j in past)
            expected.append(rounded_quotient(total, divisor))
        fits = not short or max(map(abs, expected)) < 2**31
        integer_step(row, ring, a, step)
        assert row.tolist() == expected
        if fits:
            assert ring[step % 6].tolist() == expected


def test_bounds_hold_for_the_worst_noise():
    """Noise of the largest size with the worst signs stays below the bound, and close to it."""
    strategy = S.band_mf(60, bands=5).exact()
    rows, inverse = strategy._banded_rows()
    recurrence = integer_recurrence(rows)
    largest = LARGEST * 2.0 ** (24 + recurrence.bits) + 1
    bounds = NoiseBounds.of(recurrence, inverse, largest=largest)
    signs = np.sign(strategy.inverse_coefficients[:60])[::-1]
    memory = np.zeros((4, 1), bounds.memory_type)
    for step in range(60):
        row = np.array([int(largest)]) * int(signs[step])
        integer_step(row, memory, recurrence.entries[0], step)
    assert 0.98 * bounds.number < abs(row[0]) <= bounds.number


def test_memory_is_short_where_it_fits():
    """32 bits at 16 bands, as long as single precision; 64 where the bound is larger."""
    for strategy in (S.bsr(1000, bands=16), S.band_mf(1000, bands=16)):
        found = stream(strategy.exact(), 10)
        assert found.memory.dtype == np.int32
        assert found.memory.shape == (15, 10)
    assert stream(S.bsr(50, bands=3), 10, resolution=30).memory.dtype == np.int64


def test_strategies_without_few_bands_are_refused():
    """In one sentence, by the plan and by the stream; the same matrix by its own bands is not."""
    strategy = S.blt(50, buffers=2)
    for use in (strategy.exact, lambda: stream(strategy)):
        with pytest.raises(InvalidParameter, match="as many rows of noise as C or its inverse has"):
            use()
    same = S.from_coefficients(strategy.coefficients, steps=50).exact()
    assert same.mean_squared_error() == pytest.approx(strategy.mean_squared_error(), rel=1e-5)
    assert stream(same).memory.shape[0] == same.bands - 1


def test_what_is_not_exact_is_refused():
    """Other entries, growing inverses, memory without rows, unknown settings."""
    with pytest.raises(InvalidParameter, match="multiples of 2\\^-20"):
        stream(S.from_coefficients([1.0, 0.3], steps=9))
    with pytest.raises(InvalidParameter, match="grows too far"):
        stream(S.from_coefficients([1.0, 4.0], steps=40))
    with pytest.raises(InvalidParameter, match="noise_memory"):
        stream(S.bsr(9, bands=3), noise_memory="replay")
    with pytest.raises(InvalidParameter, match="resolution"):
        stream(S.identity(9), resolution=23)
    with pytest.raises(InvalidParameter, match="resolution"):
        S.identity(9).noise(3, resolution=24)
    with pytest.raises(InvalidParameter, match="arithmetic"):
        S.identity(9).noise(3, arithmetic="fixed")
    with pytest.raises(InvalidParameter, match="scale"):
        stream(S.identity(9), scale=1e-200)


def test_exact_plans_are_close_and_stay():
    """Rounding moves entries by 2^-21 at most, epsilon by 1e-5 of itself, and is done once."""
    strategy = S.band_mf(20, bands=4)
    plan = hs.Plan(sampling=hs.FullBatch(), steps=20, strategy=strategy)
    exact = plan.exact()
    assert exact.exact() is exact
    assert np.abs(exact.strategy.coefficients - strategy.coefficients).max() <= 2.0**-21
    near = hs.account(plan, noise_multiplier=2.0).epsilon(1e-5)
    assert hs.account(exact, noise_multiplier=2.0).epsilon(1e-5) == pytest.approx(near, rel=1e-5)
    dyadic = hs.Plan(sampling=hs.FullBatch(), steps=20, strategy=S.bsr(20, bands=4))
    assert dyadic.exact() is dyadic
    assert MATRIX.exact() is MATRIX


def test_parts_are_those_of_the_whole():
    """Coordinates in two pieces, drawn by another stream with the same key."""
    held = [(100, 1100), (262_000, 262_500)]
    whole, part = (stream(S.bsr(9, bands=4), 300_000, coordinates=where) for where in (None, held))
    for _ in range(3):
        row = next(whole)
        np.testing.assert_array_equal(
            next(part), np.concatenate([row[start:stop] for start, stop in held])
        )


def test_a_state_continues_and_is_for_its_own_kind():
    """Bit for bit; not in a stream of floats, of another resolution or scale."""
    first = stream(S.bsr(9, bands=4), 7)
    for _ in range(4):
        next(first)
    second = stream(S.bsr(9, bands=4), 7, rng=None)
    second.restore(first.state())
    assert second.seeded
    for _ in range(5):
        np.testing.assert_array_equal(next(first), next(second))
    for other in (
        S.bsr(9, bands=4).noise(7, scale=1.0),
        stream(S.bsr(9, bands=4), 7, resolution=25),
        stream(S.bsr(9, bands=4), 7, scale=2.0),
        stream(S.bsr(9, bands=3), 7),
    ):
        with pytest.raises(InvalidParameter):
            other.restore(first.state())
        assert other.step == 0


def test_noise_is_secret_by_default():
    """ChaCha20 with a key from the operating system, without further packages."""
    first, second = (stream(S.identity(9), 100, rng=rng) for rng in (None, "chacha"))
    assert not first.seeded
    assert not second.seeded
    assert first.head()["generator"] == "ChaCha20"
    assert (next(first) != next(second)).any()
    assert stream(S.identity(9)).seeded
    assert isinstance(first, ExactNoiseStream)


def test_common_factors_are_taken_out():
    """Entries with few digits leave the others to the noise."""
    found = integer_recurrence(np.array([[1.0, 0.5, 0.375]]))
    assert isinstance(found, IntegerRecurrence)
    assert found.entries.tolist() == [[8, 4, 3]]
    assert found.bits == 3
