"""Rows that are computed together and wait in the memory are those of one row at a time."""

from __future__ import annotations

import numpy as np
import pytest

from hockeystick import strategies
from hockeystick._states import state_digest
from hockeystick.errors import InvalidParameter
from hockeystick.strategies.normals import largest
from hockeystick.strategies.recurrence import TOGETHER, WORTHWHILE
from in_one_test import in_one_test
from references.factorizations import drawn

N, D, SCALE = 29, 4500, 1.5


def with_row_dependent_entries(bands):
    """C whose rows differ, and whose diagonal is not one."""
    entries = np.tril(np.ones((N, N))) - np.tril(np.ones((N, N)), -bands)
    entries /= 1.0 + 0.1 * np.arange(N)[:, None] + 0.3 * np.arange(N)[None, :]
    return strategies.from_matrix(entries)


def row_by_row(strategy, dtype, rng, steps=N):
    """The rows of the recurrence one after the other, and the memory after each of them."""
    recurrence = strategy.recurrence
    z, memory = drawn(rng, (N, D), dtype), np.zeros((recurrence.rows, D), dtype)
    rows, memories = [], []
    for step in range(steps):
        row = z[step].copy()
        recurrence.advance(row, memory, scale=SCALE, step=step)
        rows.append(row)
        memories.append(memory.copy())
    return rows, memories


STRATEGIES = [
    strategies.bsr(N, 2),
    strategies.bsr(N, WORTHWHILE + 1),
    strategies.bsr(N, 6),
    strategies.bsr(N, TOGETHER + 1),
    strategies.band_mf(N, bands=16),
    strategies.bsr(N, N),
    with_row_dependent_entries(5),
    with_row_dependent_entries(16),
]
every_strategy = pytest.mark.parametrize("strategy", STRATEGIES, ids=repr)


@in_one_test
@every_strategy
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_together_as_one_by_one(strategy, dtype):
    """Bit for bit, for the whole vector and for parts of it at uneven places."""
    expected, _ = row_by_row(strategy, dtype, 3)
    parts = [(5, 1024), (1025, 1026), (2047, 4499)]
    whole = strategy.noise(D, scale=SCALE, rng=3, dtype=dtype)
    some = strategy.noise(D, scale=SCALE, rng=3, dtype=dtype, coordinates=parts)
    for row, all_of_it, held in zip(expected, whole, some, strict=True):
        np.testing.assert_array_equal(all_of_it, row)
        np.testing.assert_array_equal(held, np.concatenate([row[a:b] for a, b in parts]))
    memory = np.concatenate([whole.memory[:, a:b] for a, b in parts], axis=1)
    np.testing.assert_array_equal(some.memory, memory)


@in_one_test
@every_strategy
def test_saved_after_any_row(strategy):
    """A state says how many rows wait, and goes on with them wherever its columns are held."""
    expected, _ = row_by_row(strategy, np.float32, 4)
    stream = strategy.noise(D, scale=SCALE, rng=4)
    parts = [(100, 3000), (4000, D)]
    seen = set()
    for step in range(N):
        next(stream)
        state = stream.state()
        seen.add(state["ahead"])
        fresh = strategy.noise(D, scale=SCALE, rng=5)
        fresh.restore(state)
        share = strategy.noise(D, scale=SCALE, rng=5, coordinates=parts)
        columns = np.concatenate([state["memory"][:, a:b] for a, b in parts], axis=1)
        share.restore(stream.head(), columns)
        for later in expected[step + 1 : step + 3]:
            np.testing.assert_array_equal(next(fresh), later)
            held = np.concatenate([later[a:b] for a, b in parts])
            np.testing.assert_array_equal(next(share), held)
    rows = strategy.recurrence.rows
    assert len(seen) == (min(TOGETHER, rows) if rows >= WORTHWHILE else 1)


@in_one_test
@every_strategy
def test_states_of_earlier_versions(strategy):
    """They have no rows that wait: the memory is that of one row at a time, after any step."""
    expected, memories = row_by_row(strategy, np.float32, 6)
    stream = strategy.noise(D, scale=SCALE, rng=6)
    for step in range(N):
        if step:
            content = {k: v for k, v in stream.state().items() if k not in ("ahead", "digest")}
            content |= {"step": step, "memory": memories[step - 1]}
            fresh = strategy.noise(D, scale=SCALE, rng=7)
            fresh.restore({**content, "digest": state_digest(content)})
            for row, kept in zip(fresh, expected[step : step + 10], strict=False):
                np.testing.assert_array_equal(row, kept)


def test_no_more_rows_wait_than_can():
    """A state that claims others is refused, also with a digest of its own."""
    stream = strategies.bsr(N, 6).noise(D, rng=1)
    for _ in range(3):
        next(stream)
    other = strategies.bisr(N, 6).noise(D, rng=1)
    next(other)
    for one, ahead in ((stream, 5), (stream, -1), (stream, 30), (other, 1)):
        content = {**one.state(), "ahead": ahead}
        content["digest"] = state_digest(content)
        with pytest.raises(InvalidParameter, match="wait"):
            one.restore(content)
    with pytest.raises(InvalidParameter, match="digest"):
        stream.restore({**stream.state(), "ahead": 1})
    first = strategies.bsr(N, 6).noise(D, rng=1)
    content = {**first.state(), "ahead": 1}
    content["digest"] = state_digest(content)
    with pytest.raises(InvalidParameter, match="wait"):
        first.restore(content)


@in_one_test
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_largest_absolute_value(dtype):
    """That of NumPy, NaN included."""
    rng = np.random.default_rng(2)
    cases = [rng.normal(size=n) * 10.0**k for n in (1, 2, 100) for k in (-30, 0, 30)]
    cases += [[0.0, -0.0], [1.0, -np.inf], [np.nan, 1.0], [-np.nan, np.inf], [5e-324, -1e-40]]
    for case in cases:
        numbers = np.array(case, dtype)
        np.testing.assert_array_equal(largest(numbers), float(np.abs(numbers).max()))
