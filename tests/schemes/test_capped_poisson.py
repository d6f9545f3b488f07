"""Poisson(max_participations=k): an example stops after its k-th participation."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from hockeystick.errors import InvalidParameter
from hockeystick.schemes import Poisson
from hypothesis_strategies import quick
from in_one_test import in_one_test

ALARM = 1e-6
"""p-value below which a fixed-seed statistic fails."""

rates = st.floats(0.01, 1.0)
seeds = st.integers(0, 2**64)


def drawn(scheme: Poisson, *, examples: int, steps: int, seed: int) -> list[list[int]]:
    """The batches as lists."""
    return [batch.tolist() for batch in scheme.batches(examples=examples, steps=steps, rng=seed)]


def patterns(scheme: Poisson, *, examples: int, steps: int, seed: int) -> np.ndarray[Any, Any]:
    """The steps of each example as a bit mask; the first step is the highest bit."""
    masks = np.zeros(examples, dtype=np.int64)
    for batch in scheme.batches(examples=examples, steps=steps, rng=seed):
        masks *= 2
        masks[batch] += 1
    return masks


def pattern_law(rate: float, most: int, steps: int) -> np.ndarray[Any, Any]:
    """The chance of each bit mask: draws are made until `most` have succeeded."""
    law = np.zeros(1 << steps)
    for pattern, draws in enumerate(itertools.product((0, 1), repeat=steps)):
        if sum(draws) > most:
            continue
        tossed = steps
        if sum(draws) == most:
            tossed = max(i for i in range(steps) if draws[i]) + 1
        law[pattern] = rate ** sum(draws) * (1 - rate) ** (tossed - sum(draws))
    return law


@quick
@given(rates, st.integers(1, 6), st.integers(1, 30), st.integers(1, 12), seeds)
def test_no_example_exceeds_the_cap(
    rate: float, most: int, examples: int, steps: int, seed: int
) -> None:
    """Batches are sorted and distinct, and no example is in more than `most` of them."""
    scheme = Poisson(rate=rate, max_participations=most)
    batches = drawn(scheme, examples=examples, steps=steps, seed=seed)
    assert len(batches) == steps
    assert all(batch == sorted(set(batch)) for batch in batches)
    counts = np.bincount([i for batch in batches for i in batch], minlength=examples)
    assert counts.size == examples
    assert counts.max() <= scheme.most_participations(steps)


@pytest.mark.parametrize(
    ("rate", "most", "steps"), [(0.4, 1, 3), (0.4, 2, 4), (0.8, 1, 4), (0.15, 3, 4)]
)
def test_law_of_the_participations(rate: float, most: int, steps: int) -> None:
    """Every pattern of steps comes up as often as the law of draws up to the cap says."""
    law = pattern_law(rate, most, steps)
    assert math.isclose(law.sum(), 1.0, rel_tol=1e-12)
    scheme = Poisson(rate=rate, max_participations=most)
    observed = np.bincount(
        patterns(scheme, examples=40_000, steps=steps, seed=11), minlength=law.size
    )
    possible = law > 0
    assert observed[~possible].sum() == 0
    assert stats.chisquare(observed[possible], 40_000 * law[possible]).pvalue > ALARM


def test_examples_stop_independently() -> None:
    """The joint law of the patterns of two examples is the product law."""
    scheme = Poisson(rate=0.4, max_participations=1)
    masks = patterns(scheme, examples=40_000, steps=2, seed=12).reshape(-1, 2)
    observed = np.bincount(4 * masks[:, 0] + masks[:, 1], minlength=16)
    law = pattern_law(0.4, 1, 2)
    joint = np.outer(law, law).ravel()
    assert stats.chisquare(observed[joint > 0], len(masks) * joint[joint > 0]).pvalue > ALARM


@quick
@given(rates, st.integers(1, 4), st.integers(1, 30), st.integers(1, 12), seeds)
def test_the_cap_only_removes(rate: float, most: int, examples: int, steps: int, seed: int) -> None:
    """Draw for draw the first `most` participations of the run without a cap."""
    free = drawn(Poisson(rate=rate), examples=examples, steps=steps, seed=seed)
    taken = [0] * examples
    expected = []
    for batch in free:
        expected.append([i for i in batch if taken[i] < most])
        for i in batch:
            taken[i] += 1
    scheme = Poisson(rate=rate, max_participations=most)
    assert drawn(scheme, examples=examples, steps=steps, seed=seed) == expected


@pytest.mark.parametrize("most", [9, 300])
def test_a_cap_that_is_never_reached(most: int) -> None:
    """As many participations as steps, or more, change nothing."""
    scheme = Poisson(rate=0.7, max_participations=most)
    same = drawn(Poisson(rate=0.7), examples=50, steps=9, seed=13)
    assert drawn(scheme, examples=50, steps=9, seed=13) == same


@pytest.mark.parametrize("most", [1, 255, 256, 257])
def test_rate_one_stops_all_at_once(most: int) -> None:
    """At rate 1 the first batches hold everything and the others nothing, beyond a byte too."""
    batches = drawn(Poisson(rate=1, max_participations=most), examples=3, steps=300, seed=0)
    assert batches == [[0, 1, 2]] * most + [[]] * (300 - most)


def test_most_participations() -> None:
    """The cap, or the number of steps if that is smaller."""
    scheme = Poisson(rate=0.5, max_participations=4)
    assert [scheme.most_participations(steps) for steps in (1, 4, 100)] == [1, 4, 4]


def test_description() -> None:
    """The cap is shown where there is one."""
    described = Poisson(rate=0.25, max_participations=3).describe()
    assert described == {"scheme": "poisson", "rate": 0.25, "max_participations": 3}
    assert "max_participations" not in Poisson(rate=0.25).describe()


def test_for_batch_size() -> None:
    """The cap is passed on; the rate is that of the first batches."""
    scheme = Poisson.for_batch_size(5, examples=20, max_participations=2)
    assert scheme == Poisson(rate=0.25, max_participations=2)
    assert scheme.expected_batch_size(20) == 5.0
    assert Poisson.for_batch_size(5, examples=20) == Poisson(rate=0.25)


@in_one_test
@pytest.mark.parametrize("bad", [0, -1, 1.5, 2.0, True, math.nan, math.inf, "3"])
def test_bad_caps_are_refused(bad: Any) -> None:
    """A cap is an integer of at least one, or None."""
    with pytest.raises(InvalidParameter, match=r"^max_participations must be an integer >= 1"):
        Poisson(rate=0.5, max_participations=bad)
    with pytest.raises(InvalidParameter, match=r"^max_participations must be an integer >= 1"):
        Poisson.for_batch_size(5, examples=20, max_participations=bad)


def test_numbers_are_normalised() -> None:
    """The cap is stored as a plain integer, so that equal schemes compare equal."""
    scheme = Poisson(rate=0.5, max_participations=np.int32(3))  # type: ignore[arg-type]
    assert type(scheme.max_participations) is int
    assert scheme == Poisson(rate=0.5, max_participations=3)
