"""Batch sizes of UserMinSep and ConjecturedUserMinSep on graphs, and the rates that give them."""

from __future__ import annotations

import math
from typing import Any, TypeAlias

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hockeystick.errors import InvalidParameter
from hockeystick.schemes import Attribution, ConjecturedUserMinSep, MinSep, UserMinSep
from hypothesis_strategies import thinned

# Together they take seconds; `make test` runs them.
pytestmark = pytest.mark.slow

ALARM = 1e-6
"""p-value below which a fixed-seed statistic fails."""

Scheme: TypeAlias = type[UserMinSep] | type[ConjecturedUserMinSep]
SCHEMES: list[Scheme] = [UserMinSep, ConjecturedUserMinSep]
both = pytest.mark.parametrize("cls", SCHEMES)
owner_sets = st.lists(st.sets(st.integers(0, 5), min_size=1, max_size=3), min_size=1, max_size=12)
rates = st.floats(0.02, 1.0)


def graph_of(owners: list[set[int]]) -> Attribution:
    """The graph of examples with these owners, who are numbered below six."""
    pairs = [(example, user) for example, users in enumerate(owners) for user in users]
    examples, users = np.array(pairs).T
    return Attribution.from_pairs(
        examples=examples, users=users, number_of_examples=len(owners), number_of_users=6
    )


def random_graph(seed: int, *, examples: int, users: int) -> Attribution:
    """Every example has one to three users."""
    rng = np.random.default_rng(seed)
    owners = np.repeat(np.arange(examples), rng.integers(1, 4, size=examples))
    who = rng.integers(users, size=owners.size)
    return Attribution.from_pairs(
        examples=owners, users=who, number_of_examples=examples, number_of_users=users
    )


def test_the_warm_up_settles_the_batch_size() -> None:
    """After separation - 1 rounds the first batches are as large as late ones, exactly."""
    graph = random_graph(0, examples=40_000, users=60_000)
    scheme = UserMinSep(
        rate=0.05, separation=6, examples_per_user=10, warm_up=5, shared_examples=True
    )
    expected = scheme.expected_batch_size(graph)
    error = 2 * math.sqrt(expected)  # neighbours make sizes vary a little more than Poisson
    sizes = [batch.size for batch in scheme.batches(examples=graph, steps=20, rng=4)]
    assert abs(sizes[0] - expected) < 5 * error
    assert abs(np.mean(sizes) - expected) < 5 * error / math.sqrt(20)
    cold = UserMinSep(rate=0.05, separation=6, examples_per_user=10, shared_examples=True)
    first = next(iter(cold.batches(examples=graph, steps=20, rng=4)))
    assert first.size > expected + 10 * error


@both
def test_the_expected_size_is_what_is_drawn_on_a_graph(cls: Scheme) -> None:
    """The mean of 2,000 late batches, within two percent."""
    graph = random_graph(1, examples=300, users=400)
    most = graph.most_examples_per_user
    scheme = cls(rate=0.05, separation=5, examples_per_user=most, warm_up=100, shared_examples=True)
    sizes = [batch.size for batch in scheme.batches(examples=graph, steps=2_000, rng=6)]
    assert math.isclose(np.mean(sizes), scheme.expected_batch_size(graph), rel_tol=0.02)


@pytest.mark.slow
@both
@pytest.mark.parametrize("separation", thinned([4, 1], normal=1))
def test_for_batch_size_inverts_the_expectation_on_a_graph(cls: Scheme, separation: int) -> None:
    """Exactly for Algorithm 3, and to the accuracy of its simulation for Algorithm 4."""
    graph = random_graph(2, examples=300, users=500)
    scheme = cls.for_batch_size(10, examples=graph, separation=separation)
    assert scheme.examples_per_user == graph.most_examples_per_user
    accuracy = 1e-12 if cls is UserMinSep else 0.02
    assert math.isclose(scheme.expected_batch_size(graph), 10, rel_tol=accuracy)


@given(st.floats(1e-9, 1), st.integers(1, 30), st.integers(1, 1000))
def test_for_batch_size_takes_the_smaller_of_two_rates(
    share: float, separation: int, examples: int
) -> None:
    """For examples of their own, rate (1 - rate)^(separation - 1), which peaks at 1/separation."""
    peak = examples / separation * (1 - 1 / separation) ** (separation - 1)
    wanted = share * peak * (1 - 1e-9)
    scheme = UserMinSep.for_batch_size(wanted, examples=examples, separation=separation)
    assert scheme.rate <= 1 / separation * (1 + 1e-6)
    assert scheme.examples_per_user == 1
    size = scheme.rate * (1 - scheme.rate) ** (separation - 1) * examples
    assert math.isclose(size, wanted, rel_tol=1e-9)


def test_a_batch_that_no_rate_gives_is_refused() -> None:
    """The error says which is the largest: 100/4 * (3/4)^3, beyond which draws only exclude."""
    largest = 25 * 0.75**3
    with pytest.raises(InvalidParameter, match=rf"batch_size must be in \(0, {largest:.6g}\], the"):
        UserMinSep.for_batch_size(largest * 1.001, examples=100, separation=4)
    scheme = UserMinSep.for_batch_size(largest * (1 - 1e-9), examples=100, separation=4)
    assert math.isclose(scheme.rate, 0.25, rel_tol=1e-3)
    with pytest.raises(InvalidParameter, match=r"examples/separation=25"):
        ConjecturedUserMinSep.for_batch_size(25.1, examples=100, separation=4)


def test_alone_algorithm_four_is_min_sep() -> None:
    """Examples that share no users: the same law, and with a cold start the same batches."""
    options: dict[str, Any] = {"examples": 50, "steps": 30, "rng": 8}
    users = ConjecturedUserMinSep(rate=0.2, separation=4, examples_per_user=1)
    alone = MinSep(rate=0.2, separation=4, warm_start=False)
    assert [b.tolist() for b in users.batches(**options)] == [
        b.tolist() for b in alone.batches(**options)
    ]
    assert users.expected_batch_size(50) == alone.expected_batch_size(50)
