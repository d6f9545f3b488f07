"""BallsInBins: one draw of a bin for the whole run."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from hockeystick.errors import InvalidParameter
from hockeystick.schemes import BallsInBins, RandomAllocation

ALARM = 1e-6
"""p-value below which a fixed-seed statistic fails."""


@given(st.integers(1, 12), st.integers(1, 40), st.integers(1, 50), st.integers(0, 2**64))
def test_batches_return_in_every_epoch(bins: int, examples: int, steps: int, seed: int) -> None:
    """Batch t + bins is batch t, and every example joins at most one batch of an epoch."""
    scheme = BallsInBins(bins=bins)
    batches = [b.tolist() for b in scheme.batches(examples=examples, steps=steps, rng=seed)]
    assert all(batches[t] == batches[t % bins] for t in range(steps))
    epoch = [index for batch in batches[:bins] for index in batch]
    assert len(epoch) == len(set(epoch))
    assert steps < bins or sorted(epoch) == list(range(examples))


@given(st.integers(1, 12), st.integers(1, 40), st.integers(0, 2**64))
def test_one_epoch_is_random_allocation(bins: int, examples: int, seed: int) -> None:
    """The first epoch is that of one pick out of `bins`, draw for draw."""
    arguments = {"examples": examples, "steps": bins, "rng": seed}
    ours = BallsInBins(bins=bins).batches(**arguments)
    theirs = RandomAllocation(picks=1, out_of=bins).batches(**arguments)
    assert [b.tolist() for b in ours] == [b.tolist() for b in theirs]


@pytest.mark.slow
def test_bins_are_uniform_and_examples_independent() -> None:
    """The joint law of the bins of two examples is the product of uniform laws."""
    bins, runs = 4, 20_000
    rng = np.random.default_rng(3)
    counts = np.zeros((bins, bins))
    for _ in range(runs):
        batches = list(BallsInBins(bins=bins).batches(examples=2, steps=bins, rng=rng))
        first, second = (
            next(i for i, batch in enumerate(batches) if example in batch) for example in (0, 1)
        )
        counts[first, second] += 1
    assert stats.chisquare(counts.ravel()).pvalue > ALARM


@pytest.mark.parametrize(
    ("bins", "steps", "most"), [(1, 5, 5), (4, 4, 1), (4, 5, 2), (4, 8, 2), (9, 5, 1)]
)
def test_participations_are_reached(bins: int, steps: int, most: int) -> None:
    """The bound is ceil(steps / bins), and some example attains it."""
    scheme = BallsInBins(bins=bins)
    assert scheme.most_participations(steps) == most
    joined = np.concatenate(list(scheme.batches(examples=200, steps=steps, rng=1)))
    assert np.bincount(joined).max() == most


@given(st.integers(1, 10**6), st.floats(1e-6, 1.0))
def test_for_batch_size_takes_the_nearest(examples: int, share: float) -> None:
    """No other number of bins comes closer to the wanted batch size."""
    size = max(1e-3, share * examples)
    scheme = BallsInBins.for_batch_size(size, examples=examples)
    off = abs(scheme.expected_batch_size(examples) - size)
    for bins in (scheme.bins - 1, scheme.bins + 1):
        if bins >= 1:
            assert off <= abs(examples / bins - size) * (1 + 1e-12)


@pytest.mark.parametrize("bad", [0, -1, 2.0, math.nan, True, "4", None])
def test_bad_bins_are_refused(bad: Any) -> None:
    """The number of bins is a positive integer."""
    with pytest.raises(InvalidParameter, match=r"^bins must be an integer >= 1"):
        BallsInBins(bins=bad)


def test_description() -> None:
    """The name and the number of bins, as plain numbers."""
    scheme = BallsInBins(bins=np.int64(4))  # type: ignore[arg-type]
    assert type(scheme.bins) is int
    assert scheme.describe() == {"scheme": "balls-in-bins", "bins": 4}
    assert (scheme.least_gap, scheme.participation_known) == (4, False)
