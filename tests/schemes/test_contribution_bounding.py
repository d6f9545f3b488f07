"""Contribution bounding: what is kept, what is dropped, and why."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hockeystick.errors import InvalidParameter
from hockeystick.randomness import generator
from hockeystick.schemes import Attribution, bound_contributions
from hypothesis_strategies import examples
from references.user_min_sep import fitting_examples, neighbourhood

owner_sets = st.lists(st.sets(st.integers(0, 5), min_size=1, max_size=3), min_size=1, max_size=20)
patient = examples(100)
seeds = st.integers(0, 2**32)


def graph_of(owners: list[set[int]]) -> Attribution:
    """The graph of examples with these owners, who are numbered below six."""
    pairs = [(example, user) for example, users in enumerate(owners) for user in users]
    examples, users = np.array(pairs).T
    return Attribution.from_pairs(
        examples=examples, users=users, number_of_examples=len(owners), number_of_users=6
    )


@pytest.mark.parametrize("seed", range(20))
def test_duplicates_fill_up(seed: int) -> None:
    """Nobody above the bound; everybody who shares no example has it; no example fits once more."""
    rng = np.random.default_rng(seed)
    owners = [set(rng.choice(6, size=rng.integers(1, 4), replace=False).tolist()) for _ in range(9)]
    owners.append({int(rng.integers(6))})
    result = bound_contributions(graph_of(owners), examples_per_user=4, duplicates=True, rng=seed)
    once = bound_contributions(graph_of(owners), examples_per_user=4, rng=seed)
    held = np.zeros(6, dtype=int)
    for example in result.kept:
        held[list(owners[example])] += 1
    assert held.tolist() == result.attribution.examples_per_user.tolist()
    assert held.max() == 4
    assert not any(all(held[user] < 4 for user in users) for users in owners)
    assert set(result.kept) >= set(once.kept)
    assert result.attribution.examples == result.kept.size >= once.kept.size


@patient
@given(owner_sets, st.integers(1, 4), seeds)
def test_examples_are_kept_greedily_in_random_order(
    owners: list[set[int]], most: int, seed: int
) -> None:
    """The seed's order, and in it every example that leaves all users within the bound."""
    result = bound_contributions(graph_of(owners), examples_per_user=most, rng=seed)
    order = generator(seed).permutation(len(owners)).tolist()
    kept = sorted(fitting_examples(owners, order, most))
    assert result.kept.tolist() == kept
    assert result.attribution.most_examples_per_user <= most
    assert result.dropped_for_neighbourhood.size == 0


@patient
@given(owner_sets, st.integers(1, 4), st.integers(1, 5) | st.none(), seeds)
def test_every_example_is_accounted_for(
    owners: list[set[int]], most: int, largest: int | None, seed: int
) -> None:
    """Kept or dropped for one reason, users in the new graph as in the old one."""
    result = bound_contributions(
        graph_of(owners), examples_per_user=most, neighbourhood=largest, rng=seed
    )
    parts = [result.kept, result.dropped_for_users, result.dropped_for_neighbourhood]
    assert sorted(np.concatenate(parts).tolist()) == list(range(len(owners)))
    assert result.kept.size > 0
    left = [set(result.attribution.users_of(i).tolist()) for i in range(result.kept.size)]
    assert left == [owners[example] for example in result.kept]
    without = set().union(*owners) - set().union(*left)
    assert result.users_without_data.tolist() == sorted(without)
    assert result.describe() == {
        "examples_kept": result.kept.size,
        "dropped_for_users": result.dropped_for_users.size,
        "dropped_for_neighbourhood": result.dropped_for_neighbourhood.size,
        "users_without_data": len(without),
    }


@patient
@given(owner_sets, st.integers(2, 4), st.integers(1, 5), seeds)
def test_crowded_examples_go_largest_first(
    owners: list[set[int]], most: int, largest: int, seed: int
) -> None:
    """What is dropped can be put in an order in which each had the largest neighbourhood left."""
    graph = graph_of(owners)
    before = bound_contributions(graph, examples_per_user=most, rng=seed)
    after = bound_contributions(graph, examples_per_user=most, neighbourhood=largest, rng=seed)
    assert np.array_equal(before.dropped_for_users, after.dropped_for_users)
    assert after.attribution.neighbourhood_sizes.max() <= largest
    gone = set(after.dropped_for_neighbourhood.tolist())
    left = {example: owners[example] for example in before.kept.tolist()}
    assert _can_be_dropped(left, gone, largest)


def _can_be_dropped(left: dict[int, set[int]], gone: set[int], largest: int) -> bool:
    """Whether dropping a largest neighbourhood again and again can end with exactly these gone."""
    names = list(left)
    sizes = {e: len(neighbourhood(list(left.values()), i)) for i, e in enumerate(names)}
    if max(sizes.values()) <= largest:
        return not gone
    worst = [e for e in sorted(gone) if sizes[e] == max(sizes.values())]
    return any(
        _can_be_dropped({e: u for e, u in left.items() if e != one}, gone - {one}, largest)
        for one in worst
    )


def test_the_example_of_everybody_goes_first() -> None:
    """One example that is shared with four others, who are strangers without it."""
    graph = graph_of([{0}, {1}, {0, 1, 2, 3}, {2}, {3}])
    result = bound_contributions(graph, examples_per_user=2, neighbourhood=4, rng=0)
    assert result.dropped_for_neighbourhood.tolist() == [2]
    assert result.kept.tolist() == [0, 1, 3, 4]
    assert bound_contributions(graph, examples_per_user=2, neighbourhood=5).kept.size == 5


def test_the_order_is_random_but_for_a_seed() -> None:
    """A seed repeats the outcome, fresh randomness does not."""
    graph = graph_of([{0} for _ in range(200)])
    fixed = [bound_contributions(graph, examples_per_user=5, rng=3).kept for _ in range(2)]
    fresh = [bound_contributions(graph, examples_per_user=5).kept for _ in range(2)]
    assert np.array_equal(*fixed)
    assert not np.array_equal(*fresh)


@pytest.mark.parametrize("bad", [0, -1, 2.0, math.nan, True, "2"])
def test_bad_bounds_are_refused(bad: Any) -> None:
    """Both are positive integers."""
    graph = Attribution.one_user_each(3)
    with pytest.raises(InvalidParameter, match=r"^examples_per_user must be"):
        bound_contributions(graph, examples_per_user=bad)
    with pytest.raises(InvalidParameter, match=r"^neighbourhood must be"):
        bound_contributions(graph, examples_per_user=1, neighbourhood=bad)


def test_only_a_graph_can_be_bounded() -> None:
    """A number of examples has nothing to bound."""
    with pytest.raises(InvalidParameter, match=r"^attribution must be an Attribution, got 3"):
        bound_contributions(3, examples_per_user=1)  # type: ignore[arg-type]
