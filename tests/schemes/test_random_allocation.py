"""RandomAllocation: a fresh uniform set of steps for each example in every block."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from hockeystick.errors import InvalidParameter
from hockeystick.schemes import RandomAllocation
from in_one_test import in_one_test

ALARM = 1e-6
"""p-value below which a fixed-seed statistic fails."""

allocations = st.tuples(st.integers(1, 8), st.integers(0, 8)).map(
    lambda pair: {"picks": pair[0], "out_of": sum(pair)}
)
seeds = st.integers(0, 2**64)


def steps_of(
    scheme: RandomAllocation, *, examples: int, steps: int, seed: int
) -> list[tuple[int, ...]]:
    """The steps that each example takes part in."""
    joined: list[list[int]] = [[] for _ in range(examples)]
    for step, batch in enumerate(scheme.batches(examples=examples, steps=steps, rng=seed)):
        for example in batch.tolist():
            joined[example].append(step)
    return [tuple(each) for each in joined]


@given(allocations, st.integers(1, 40), st.integers(1, 4), seeds)
def test_every_example_is_picked_exactly(
    parameters: dict[str, int], examples: int, blocks: int, seed: int
) -> None:
    """In each block each example is in exactly `picks` batches."""
    scheme = RandomAllocation(**parameters)  # type: ignore[arg-type]
    batches = list(scheme.batches(examples=examples, steps=blocks * scheme.out_of, rng=seed))
    for start in range(0, len(batches), scheme.out_of):
        joined = np.concatenate(batches[start : start + scheme.out_of])
        assert np.bincount(joined, minlength=examples).tolist() == [scheme.picks] * examples


@given(allocations, st.integers(1, 40), st.integers(1, 40), seeds)
def test_truncation_only_drops(
    parameters: dict[str, int], examples: int, steps: int, seed: int
) -> None:
    """A truncated run is the beginning of the run with whole blocks, draw for draw."""
    whole = RandomAllocation(**parameters)  # type: ignore[arg-type]
    cut = RandomAllocation(**parameters, truncate=True)
    full = whole.out_of * -(-steps // whole.out_of)
    expected = whole.batches(examples=examples, steps=full, rng=seed)
    batches = cut.batches(examples=examples, steps=steps, rng=seed)
    assert [b.tolist() for b in batches] == [b.tolist() for b in itertools.islice(expected, steps)]


@pytest.mark.parametrize(("picks", "out_of"), [(1, 2), (1, 7), (2, 5), (3, 4), (3, 6), (5, 6)])
def test_all_sets_of_steps_are_equally_likely(picks: int, out_of: int) -> None:
    """Each of the C(out_of, picks) sets comes up equally often."""
    scheme = RandomAllocation(picks=picks, out_of=out_of)
    observed = Counter(steps_of(scheme, examples=20_000, steps=out_of, seed=1))
    cells = list(itertools.combinations(range(out_of), picks))
    assert observed.keys() == set(cells)
    assert stats.chisquare([observed[cell] for cell in cells]).pvalue > ALARM


@pytest.mark.parametrize("picks", [1, 2])
def test_blocks_are_fresh(picks: int) -> None:
    """The sets in two successive blocks are independent: all nine pairs are equally likely."""
    scheme = RandomAllocation(picks=picks, out_of=3)
    observed = Counter(steps_of(scheme, examples=20_000, steps=6, seed=2))
    assert len(observed) == 9
    assert stats.chisquare(list(observed.values())).pvalue > ALARM


@pytest.mark.parametrize("picks", [1, 2])
def test_examples_are_independent(picks: int) -> None:
    """The sets of two examples in one block: all nine pairs are equally likely."""
    scheme = RandomAllocation(picks=picks, out_of=3)
    batches = [tuple(b.tolist()) for b in scheme.batches(examples=2, steps=15_000, rng=3)]
    observed = Counter(zip(batches[::3], batches[1::3], batches[2::3], strict=True))
    assert len(observed) == 9
    assert stats.chisquare(list(observed.values())).pvalue > ALARM


@in_one_test
@pytest.mark.parametrize(
    ("picks", "out_of", "examples"),
    [(picks, out_of, 5000) for picks in (1, 2) for out_of in (255, 256, 257)]
    + [(1, out_of, 300_000) for out_of in (65_535, 65_536, 65_537)],
)
def test_every_step_of_a_long_block_is_used(picks: int, out_of: int, examples: int) -> None:
    """Steps are uniform over the whole block, also where the width of the integers changes."""
    scheme = RandomAllocation(picks=picks, out_of=out_of)
    sizes = [len(b) for b in scheme.batches(examples=examples, steps=out_of, rng=4)]
    assert sum(sizes) == picks * examples
    assert stats.chisquare(sizes).pvalue > ALARM


@given(allocations, st.integers(1, 40))
def test_picking_everything_is_the_full_batch(parameters: dict[str, int], examples: int) -> None:
    """With picks = out_of every batch holds all the examples."""
    picks = parameters["picks"]
    scheme = RandomAllocation(picks=picks, out_of=picks)
    batches = [b.tolist() for b in scheme.batches(examples=examples, steps=2 * picks)]
    assert batches == [list(range(examples))] * (2 * picks)


@pytest.mark.parametrize(
    ("picks", "out_of", "steps", "most"),
    [(1, 5, 5, 1), (1, 5, 6, 2), (3, 5, 10, 6), (3, 5, 12, 8), (3, 5, 14, 9), (3, 5, 2, 2)],
)
def test_participations_are_reached(picks: int, out_of: int, steps: int, most: int) -> None:
    """Full blocks give `picks`, a partial one at most its length; some example attains it."""
    scheme = RandomAllocation(picks=picks, out_of=out_of, truncate=True)
    assert scheme.most_participations(steps) == most
    assert max(map(len, steps_of(scheme, examples=2000, steps=steps, seed=5))) == most


@pytest.mark.parametrize("steps", [1, 9, 11, 25])
def test_a_partial_block_is_refused(steps: int) -> None:
    """Without `truncate` the steps must fill whole blocks, and the message says what would do."""
    scheme = RandomAllocation(picks=2, out_of=10)
    message = r"^steps must be a multiple of out_of=10 \(or truncate=True.*\), got "
    for call in (scheme.check_steps, scheme.most_participations):
        with pytest.raises(InvalidParameter, match=message):
            call(steps)
    with pytest.raises(InvalidParameter, match=message):
        scheme.batches(examples=5, steps=steps)
    assert RandomAllocation(picks=2, out_of=10, truncate=True).check_steps(steps) == steps


@given(st.floats(0.02, 1.0), st.integers(1, 200), st.integers(1, 5))
def test_for_batch_size_is_the_nearest(share: float, examples: int, picks: int) -> None:
    """No other block length has an expected batch size nearer to the wanted one."""
    size = share * examples
    scheme = RandomAllocation.for_batch_size(size, examples=examples, picks=picks)
    assert scheme.picks == picks

    def distance(out_of: int) -> Fraction:
        return abs(Fraction(picks * examples, out_of) - Fraction(size))

    assert distance(scheme.out_of) == min(map(distance, range(picks, 51 * picks + 2)))


@given(st.integers(1, 5), st.integers(0, 10**4), st.integers(1, 10**6))
def test_for_batch_size_inverts_the_expectation(picks: int, more: int, blocks: int) -> None:
    """A batch size that some block length has exactly is found exactly."""
    scheme = RandomAllocation(picks=picks, out_of=picks + more)
    examples = scheme.out_of * blocks
    size = scheme.expected_batch_size(examples)
    assert RandomAllocation.for_batch_size(size, examples=examples, picks=picks) == scheme


def test_for_batch_size_details() -> None:
    """A tie takes the longer block, `truncate` is passed on, tiny batches do not overflow."""
    assert RandomAllocation.for_batch_size(4.5, examples=18).out_of == 4
    assert RandomAllocation.for_batch_size(9, examples=12).out_of == 2
    assert RandomAllocation.for_batch_size(1, examples=8, truncate=True).truncate is True
    assert RandomAllocation.for_batch_size(1e-310, examples=8).expected_batch_size(8) == 1e-310


@pytest.mark.parametrize("bad", [0, -1, 2.0, math.nan, True, "4", None])
def test_bad_counts_are_refused(bad: Any) -> None:
    """Both counts are positive integers."""
    with pytest.raises(InvalidParameter, match=r"^picks must be an integer >= 1"):
        RandomAllocation(picks=bad, out_of=4)
    with pytest.raises(InvalidParameter, match=r"^out_of must be an integer >= 1"):
        RandomAllocation(picks=1, out_of=bad)
    with pytest.raises(InvalidParameter, match=r"^picks must be an integer >= 1"):
        RandomAllocation.for_batch_size(5, examples=100, picks=bad)


def test_more_picks_than_steps_are_refused() -> None:
    """A block of four steps has room for four picks."""
    with pytest.raises(InvalidParameter, match=r"^picks must be an integer in \[1, out_of=4\]"):
        RandomAllocation(picks=5, out_of=4)


@pytest.mark.parametrize("bad", [0, 1, math.nan, "yes", None])
def test_truncate_is_a_truth_value(bad: Any) -> None:
    """Only True and False are accepted."""
    with pytest.raises(InvalidParameter, match=r"^truncate must be True or False"):
        RandomAllocation(picks=1, out_of=4, truncate=bad)


def test_description() -> None:
    """The name and the parameters, as plain values."""
    picks: Any = np.int64(2)
    scheme = RandomAllocation(picks=picks, out_of=4, truncate=np.True_)  # type: ignore[arg-type]
    assert type(scheme.picks) is int
    assert scheme.truncate is True
    assert scheme.describe() == {
        "scheme": "random-allocation",
        "picks": 2,
        "out_of": 4,
        "truncate": True,
    }
