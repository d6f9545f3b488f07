"""Limits for users: contribution bounding, and batches formed in advance."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import hockeystick as hs
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


def random_graph(rng, examples, users, most):
    """Examples with up to so many users each."""
    pairs = [
        (example, int(user))
        for example in range(examples)
        for user in rng.choice(users, size=rng.integers(1, most + 1), replace=False)
    ]
    return hs.Attribution.from_pairs(
        examples=[example for example, _ in pairs], users=[user for _, user in pairs]
    )


@pytest.mark.parametrize("seed", range(25))
def test_users_keep_their_limits(seed):
    """From the definition: once in a batch, far enough apart, often enough at most."""
    rng = np.random.default_rng(seed)
    graph = random_graph(rng, 60, 40, 3)
    gap, most, size = int(rng.integers(1, 6)), int(rng.integers(1, 5)), int(rng.integers(1, 9))
    scheme = hs.FormedBatches(batch_size=size, separation=gap, max_participations=most)
    steps, taken = 15, {user: [] for user in range(graph.users)}
    batches = list(scheme.batches(examples=graph, steps=steps, rng=seed))
    for step, batch in enumerate(batches):
        assert len(batch) <= size
        for example in batch:
            for user in graph.users_of(int(example)):
                taken[int(user)].append(step)
        if len(batch) < size:
            # Nobody else could have joined.
            ready = {
                user
                for user, when in taken.items()
                if len(when) < most and not any(0 <= step - one < gap for one in when)
            }
            for example in range(graph.examples):
                assert not ready.issuperset(graph.users_of(example).tolist())
    for when in taken.values():
        assert len(when) <= most
        assert all(later - earlier >= gap for earlier, later in itertools.pairwise(when))
    first = list(scheme.batches(examples=graph, steps=7, rng=seed))
    assert all(np.array_equal(a, b) for a, b in zip(first, batches, strict=False))


def test_it_is_a_gaussian_mechanism_for_users():
    """With the sensitivity of the separation and the participations; nothing is amplified."""
    strategy = hs.strategies.band_mf(40, bands=4)
    scheme = hs.FormedBatches(batch_size=5, separation=4, max_participations=3)
    plan = hs.Plan(sampling=scheme, steps=40, strategy=strategy)
    sensitivity = strategy.sensitivity(separation=4, participations=3)
    found = hs.account(plan, noise_multiplier=2.0).epsilon(1e-5)
    single = hs.Profile.gaussian(noise_multiplier=2.0 / float(sensitivity)).epsilon(1e-5)
    assert found == pytest.approx(single, rel=1e-6)
    assert scheme.unit == "user"
    assert hs.methods(plan) == {"gaussian": "proven"}


@pytest.mark.parametrize("size", [2.5, 0, 101])
def test_sizes_that_are_refused(size):
    """Whole numbers, up to the number of examples."""
    with pytest.raises(InvalidParameter, match="batch_size"):
        hs.FormedBatches.for_batch_size(size, examples=100, separation=2)
