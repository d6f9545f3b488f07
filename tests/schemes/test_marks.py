"""Batches from very many examples: sets as bits, draws without replacement, counts in digits."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare

import hockeystick as hs
from hockeystick.randomness import generator
from hockeystick.schemes import batches, marks

pytestmark = pytest.mark.slow

indices = st.sets(st.integers(0, 99)).map(lambda chosen: np.array(sorted(chosen), dtype=np.int64))


@pytest.fixture
def many(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every number of examples counts as many."""
    monkeypatch.setattr(batches, "SORTED_UP_TO", 0)
    monkeypatch.setattr(marks, "SORTED_UP_TO", 0)


@given(changes=st.lists(st.tuples(st.booleans(), indices), max_size=6))
def test_marks_are_a_set(changes: list[tuple[bool, np.ndarray]]) -> None:
    """Bits say the same as a set of integers after any additions and removals."""
    found, reference = marks.Marks(100), set[int]()
    for adds, some in changes:
        (found.add if adds else found.remove)(some)
        reference = reference | set(some.tolist()) if adds else reference - set(some.tolist())
    assert set(np.flatnonzero(found.has(np.arange(100))).tolist()) == reference
    assert found.unmarked().tolist() == sorted(set(range(100)) - reference)


@pytest.mark.usefixtures("many")
@given(added=st.lists(indices, max_size=9))
def test_digits_count(added: list[np.ndarray]) -> None:
    """Counts in binary digits are the numbers of additions, up to the largest."""
    counts = marks.Participations(100, most=9)
    for some in added:
        counts.add(some)
    expected = sum((np.isin(np.arange(100), some) for some in added), np.zeros(100, dtype=int))
    assert counts[np.arange(100)].tolist() == expected.tolist()


@pytest.mark.parametrize("sizes", [(2, 1, 2), (1, 3, 1)])
def test_draws_without_replacement_are_uniform(sizes: tuple[int, ...]) -> None:
    """Every sequence of disjoint sets of these sizes is as likely as any other."""
    rng, seen = np.random.default_rng(1), dict[tuple[int, ...], int]()
    for _ in range(3000):
        rest = marks.Unmarked(5, rng)
        drawn = [rest.take(size) for size in sizes]
        assert sorted(np.concatenate(drawn).tolist()) == list(range(5))
        key = tuple(np.concatenate(drawn).tolist())
        seen[key] = seen.get(key, 0) + 1
    possible = 30 if sizes == (2, 1, 2) else 20
    assert len(seen) == possible
    assert chisquare(list(seen.values())).pvalue > 1e-4


def test_the_last_ones_are_uniform_too() -> None:
    """Beyond the point from which the rest is listed, each of them is as likely to come next."""
    rng, counts = np.random.default_rng(2), np.zeros(300)
    for _ in range(1500):
        rest = marks.Unmarked(300, rng)
        rest.take(297)
        counts[rest.take(1)] += 1
        assert rest.take(2).size == 2
    assert chisquare(counts).pvalue > 1e-4


@pytest.mark.usefixtures("many")
@pytest.mark.parametrize("picks", [1, 2])
def test_allocations_of_many_examples_have_the_same_law(picks: int) -> None:
    """Each example draws a uniform set of steps, independently of the others."""
    scheme, seen = hs.RandomAllocation(picks=picks, out_of=3), dict[tuple[int, ...], int]()
    rng = np.random.default_rng(3)
    for _ in range(4500):
        joined = np.zeros((3, 2), dtype=int)
        for step, batch in enumerate(scheme.batches(examples=2, steps=3, rng=rng)):
            joined[step, batch] = 1
        key = tuple(joined.T.ravel().tolist())
        seen[key] = seen.get(key, 0) + 1
    sets = [s for s in product((0, 1), repeat=3) if sum(s) == picks]
    assert set(seen) == {a + b for a in sets for b in sets}
    assert chisquare(list(seen.values())).pvalue > 1e-4


@pytest.mark.usefixtures("many")
@pytest.mark.parametrize("source", [7, "chacha"])
def test_bins_of_many_examples_return(source: int | str) -> None:
    """Epochs have the same batches although none is remembered, whatever else draws meanwhile."""
    rng = generator(source)
    drawn = []
    for batch in hs.BallsInBins(bins=4).batches(examples=50, steps=11, rng=rng):
        drawn.append(batch.tolist())
        rng.random()
    assert drawn[4:8] == drawn[:4]
    assert drawn[8:] == drawn[:3]
    assert sorted(one for batch in drawn[:4] for one in batch) == list(range(50))


MEASURE = """
import json, pathlib, time
import hockeystick as hs
found = {}
for scheme in (
    hs.Poisson(rate=1e-6),
    hs.Poisson(rate=1e-6, max_participations=3),
    hs.MinSep(rate=1e-6, separation=16),
    hs.BallsInBins(bins=10**6),
    hs.RandomAllocation(picks=1, out_of=10**6),
    hs.RandomAllocation(picks=5, out_of=10**6),
    hs.CyclicPoisson(rate=1e-6, groups=4),
):
    start = time.process_time()
    batch = next(iter(scheme.batches(examples=10**9, steps=10**6, rng=1)))
    assert 100 <= batch.size <= 6000
    found[repr(scheme)] = time.process_time() - start
status = pathlib.Path("/proc/self/status").read_text()
peak = next(line for line in status.splitlines() if line.startswith("VmHWM"))
print(json.dumps([found, int(peak.split()[1]) / 2**20]))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="peak memory is read from /proc")
def test_a_billion_examples() -> None:
    """The first batch takes less than a second of CPU and, for all schemes together, 1 GB."""
    done = subprocess.run(
        [sys.executable, "-c", MEASURE], check=True, capture_output=True, env=dict(os.environ)
    )
    seconds, gigabytes = json.loads(done.stdout)
    assert max(seconds.values()) < 1.0, seconds
    assert gigabytes < 1.0
