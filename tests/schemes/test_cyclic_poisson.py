"""CyclicPoisson: groups alternate, each sampled independently at the rate."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from hockeystick.errors import InvalidParameter
from hockeystick.schemes import CyclicPoisson, Poisson

ALARM = 1e-6
"""p-value below which a fixed-seed statistic fails."""

rates = st.floats(1e-6, 1.0)
groups_counts = st.integers(1, 12)


@given(rates, groups_counts, st.integers(1, 60), st.integers(1, 40), st.integers(0, 2**64))
def test_a_batch_holds_only_the_group_whose_turn_it_is(
    rate: float, groups: int, examples: int, steps: int, seed: int
) -> None:
    """In step s every index is s modulo the number of groups."""
    scheme = CyclicPoisson(rate=rate, groups=groups)
    for step, batch in enumerate(scheme.batches(examples=examples, steps=steps, rng=seed)):
        assert np.all(batch % groups == step % groups)


@given(groups_counts, st.integers(1, 60), st.integers(1, 40))
def test_rate_one_draws_the_whole_group(groups: int, examples: int, steps: int) -> None:
    """At rate 1 the batches are the groups in turn, whatever their sizes."""
    scheme = CyclicPoisson(rate=1, groups=groups)
    batches = [b.tolist() for b in scheme.batches(examples=examples, steps=steps)]
    assert batches == [list(range(step % groups, examples, groups)) for step in range(steps)]


@given(rates, st.integers(1, 60), st.integers(1, 40), st.integers(0, 2**64))
def test_one_group_is_poisson(rate: float, examples: int, steps: int, seed: int) -> None:
    """With a single group the batches are those of Poisson sampling, draw for draw."""
    arguments = {"examples": examples, "steps": steps, "rng": seed}
    cyclic = CyclicPoisson(rate=rate, groups=1).batches(**arguments)
    plain = Poisson(rate=rate).batches(**arguments)
    assert [b.tolist() for b in cyclic] == [b.tolist() for b in plain]


@cache
def batches_of_three_groups(examples: int, rate: float, rounds: int) -> list[np.ndarray]:
    """All batches of so many rounds."""
    scheme = CyclicPoisson(rate=rate, groups=3)
    return list(scheme.batches(examples=examples, steps=3 * rounds, rng=1))


@pytest.mark.slow
@pytest.mark.parametrize("group", [0, 1, 2])
def test_members_of_a_group_are_independent(group: int) -> None:
    """The subsets of each group, of three or two members, follow the product law."""
    examples, rate, rounds = 7, 0.3, 20_000
    batches = batches_of_three_groups(examples, rate, rounds)[group::3]
    size = len(range(group, examples, 3))
    observed = np.bincount([(1 << batch // 3).sum() for batch in batches], minlength=1 << size)
    sizes = np.array([mask.bit_count() for mask in range(1 << size)])
    law = rate**sizes * (1 - rate) ** (size - sizes)
    assert stats.chisquare(observed, rounds * law).pvalue > ALARM


def test_turns_are_independent() -> None:
    """The joint law of one example in two successive steps of its group is the product law."""
    batches = list(CyclicPoisson(rate=0.4, groups=2).batches(examples=2, steps=40_000, rng=2))
    pairs = np.array([len(batch) for batch in batches[::2]]).reshape(-1, 2)
    observed = np.bincount(2 * pairs[:, 0] + pairs[:, 1], minlength=4)
    law = np.outer([0.6, 0.4], [0.6, 0.4]).ravel()
    assert stats.chisquare(observed, len(pairs) * law).pvalue > ALARM


@pytest.mark.parametrize(
    ("groups", "steps", "most"), [(1, 5, 5), (4, 4, 1), (4, 5, 2), (4, 8, 2), (9, 5, 1)]
)
def test_participations_are_reached(groups: int, steps: int, most: int) -> None:
    """The bound is ceil(steps / groups), and example 0 attains it at rate 1."""
    scheme = CyclicPoisson(rate=1, groups=groups)
    assert scheme.most_participations(steps) == most
    assert sum(0 in batch for batch in scheme.batches(examples=3, steps=steps)) == most


@given(st.floats(1e-9, 1.0), groups_counts, st.integers(1, 10**9))
def test_for_batch_size_inverts_the_expectation(share: float, groups: int, examples: int) -> None:
    """The expected batch size of the constructed scheme is the wanted one, up to a whole group."""
    size = share * (examples / groups)
    scheme = CyclicPoisson.for_batch_size(size, examples=examples, groups=groups)
    assert scheme.groups == groups
    assert math.isclose(scheme.expected_batch_size(examples), size, rel_tol=1e-14)


@pytest.mark.parametrize(("examples", "groups"), [(29, 7), (60_000, 11), (50_000, 19)])
def test_a_batch_of_a_whole_group_is_allowed(examples: int, groups: int) -> None:
    """Where (examples / groups) * groups rounds above examples, the rate is still exactly 1."""
    size = examples / groups
    assert size * groups / examples > 1
    assert CyclicPoisson.for_batch_size(size, examples=examples, groups=groups).rate == 1


def test_expected_batch_size_averages_over_unequal_groups() -> None:
    """Ten examples in four groups at rate 0.5: on average 1.25, whatever the group."""
    assert CyclicPoisson(rate=0.5, groups=4).expected_batch_size(10) == 1.25


@pytest.mark.parametrize("size", [25.001, 26, 100])
def test_a_batch_larger_than_a_group_is_refused(size: float) -> None:
    """A hundred examples in four groups allow batches of up to 25."""
    with pytest.raises(InvalidParameter, match=r"^batch_size must be in \(0, examples/groups=25\]"):
        CyclicPoisson.for_batch_size(size, examples=100, groups=4)


@pytest.mark.parametrize("bad", [0, -0.1, 1.0000001, math.nan, math.inf, "0.5", None])
def test_bad_rates_are_refused(bad: Any) -> None:
    """A rate is a number in (0, 1]."""
    with pytest.raises(InvalidParameter, match=r"^rate must be in \(0, 1\]"):
        CyclicPoisson(rate=bad, groups=4)


@pytest.mark.parametrize("bad", [0, -1, 2.0, math.nan, True, "4", None])
def test_bad_groups_are_refused(bad: Any) -> None:
    """The number of groups is a positive integer, also in `for_batch_size`."""
    with pytest.raises(InvalidParameter, match=r"^groups must be an integer >= 1"):
        CyclicPoisson(rate=0.5, groups=bad)
    with pytest.raises(InvalidParameter, match=r"^groups must be an integer >= 1"):
        CyclicPoisson.for_batch_size(5, examples=100, groups=bad)


def test_description() -> None:
    """The name, the rate and the number of groups, as plain numbers."""
    scheme = CyclicPoisson(rate=0.25, groups=np.int64(4))  # type: ignore[arg-type]
    assert type(scheme.groups) is int
    expected = {"scheme": "cyclic-poisson", "rate": 0.25, "groups": 4, "random_phase": False}
    assert scheme.describe() == expected


@given(rates, groups_counts, st.integers(1, 60), st.integers(1, 40), st.integers(0, 2**64))
def test_with_a_random_phase_turns_are_kept(
    rate: float, groups: int, examples: int, steps: int, seed: int
) -> None:
    """All steps of an example have the same residue, whichever that is."""
    scheme = CyclicPoisson(rate=rate, groups=groups, random_phase=True)
    residue: dict[int, int] = {}
    for step, batch in enumerate(scheme.batches(examples=examples, steps=steps, rng=seed)):
        for example in batch.tolist():
            assert residue.setdefault(example, step % groups) == step % groups


def test_a_random_phase_is_uniform_and_independent() -> None:
    """At rate 1 two examples show their groups: all nine pairs are equally likely."""
    scheme = CyclicPoisson(rate=1, groups=3, random_phase=True)
    group = np.empty(60_000, dtype=np.int64)
    for step, batch in enumerate(scheme.batches(examples=60_000, steps=3, rng=4)):
        group[batch] = step
    pairs = np.bincount(3 * group[::2] + group[1::2], minlength=9)
    assert stats.chisquare(pairs).pvalue > ALARM


def test_a_random_phase_hides_the_turns() -> None:
    """Rate 1 is no longer known participation, unless there is a single group."""
    assert CyclicPoisson(rate=1, groups=3).participation_known
    assert not CyclicPoisson(rate=1, groups=3, random_phase=True).participation_known
    assert CyclicPoisson(rate=1, groups=1, random_phase=True).participation_known


def test_members_of_a_random_group_join_at_the_rate() -> None:
    """Given its group, an example joins each step of the group independently."""
    scheme = CyclicPoisson(rate=0.4, groups=2, random_phase=True)
    joined = np.zeros((20_000, 4), dtype=np.int64)
    for step, batch in enumerate(scheme.batches(examples=20_000, steps=4, rng=6)):
        joined[batch, step] = 1
    observed = np.bincount(joined @ [8, 4, 2, 1], minlength=16)
    law = np.zeros(16)
    for first, later in ((8, 2), (4, 1)):
        for bits, p in ((0, 0.36), (first, 0.24), (later, 0.24), (first + later, 0.16)):
            law[bits] += p / 2
    assert observed[law == 0].sum() == 0
    assert stats.chisquare(observed[law > 0], 20_000 * law[law > 0]).pvalue > ALARM


@pytest.mark.parametrize("bad", [0, 1, "yes", None, math.nan])
def test_a_phase_is_random_or_not(bad: Any) -> None:
    """Only True and False are understood, also in `for_batch_size`."""
    with pytest.raises(InvalidParameter, match=r"^random_phase must be True or False"):
        CyclicPoisson(rate=0.5, groups=4, random_phase=bad)
    with pytest.raises(InvalidParameter, match=r"^random_phase must be True or False"):
        CyclicPoisson.for_batch_size(5, examples=100, groups=4, random_phase=bad)
