"""UserMinSep and ConjecturedUserMinSep: exclusion of users, whoever's examples they share."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import hockeystick
from hockeystick.errors import InvalidParameter
from hockeystick.plan import Plan
from hockeystick.schemes import Attribution, ConjecturedUserMinSep, Poisson, UserMinSep
from hockeystick.schemes.user_min_sep.sampler import user_walk
from in_one_test import in_one_test
from references.user_min_sep import user_batches

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


def steps_of_users(batches: list[Any], graph: Attribution) -> list[list[int]]:
    """In which steps each user has an example in the batch."""
    found: list[list[int]] = [[] for _ in range(graph.users)]
    for step, batch in enumerate(batches):
        for user in {int(u) for example in batch for u in graph.users_of(int(example))}:
            found[user].append(step)
    return found


@both
@given(owner_sets, st.integers(1, 5), rates, st.integers(0, 2**64))
def test_users_are_always_separated(
    cls: Scheme, owners: list[set[int]], separation: int, rate: float, seed: int
) -> None:
    """From one participation of a user to the next are at least `separation` steps."""
    graph = graph_of(owners)
    most = graph.most_examples_per_user
    scheme = cls(
        rate=rate,
        separation=separation,
        examples_per_user=most,
        warm_up=seed % 7,
        shared_examples=True,
    )
    batches = list(scheme.batches(examples=graph, steps=25, rng=seed))
    assert len(batches) == 25
    for steps in steps_of_users(batches, graph):
        assert np.all(np.diff(steps) >= separation)
        assert len(steps) <= scheme.most_participations(25)


@both
@given(owner_sets, st.integers(1, 3), st.integers(1, 3), st.integers(0, 2**64))
def test_users_stop_after_their_last_participation(
    cls: Scheme, owners: list[set[int]], separation: int, most: int, seed: int
) -> None:
    """Nobody takes part in more than `max_participations` steps; the warm-up does not count."""
    graph = graph_of(owners)
    scheme = cls(
        rate=0.4,
        separation=separation,
        examples_per_user=graph.most_examples_per_user,
        warm_up=5,
        max_participations=most,
        shared_examples=True,
    )
    batches = list(scheme.batches(examples=graph, steps=25, rng=seed))
    assert max(len(steps) for steps in steps_of_users(batches, graph)) <= most
    uncapped = cls(**{**vars(scheme), "max_participations": None})
    first = next(iter(uncapped.batches(examples=graph, steps=25, rng=seed)))
    assert np.array_equal(batches[0], first)


@both
def test_everyone_reaches_the_cap_in_a_long_run(cls: Scheme) -> None:
    """Examples of a stopped user stay out, so batches run dry."""
    graph = graph_of([{0, 1}, {1}, {2}, {3}])
    scheme = cls(
        rate=0.3, separation=2, examples_per_user=2, max_participations=3, shared_examples=True
    )
    batches = list(scheme.batches(examples=graph, steps=600, rng=1))
    counts = [len(steps) for steps in steps_of_users(batches, graph)]
    assert counts[1:4] == [3, 3, 3]
    assert all(batch.size == 0 for batch in batches[-100:])


@both
@given(
    owner_sets,
    st.integers(1, 5),
    st.lists(st.sets(st.integers(0, 11)), min_size=1, max_size=12),
)
def test_batches_are_those_of_the_paper(
    cls: Scheme, owners: list[set[int]], separation: int, draws: list[set[int]]
) -> None:
    """With the same draws the walk over users gives what the sets of the algorithms give."""
    drawn = [{e for e in chosen if e < len(owners)} for chosen in draws]
    arrays = [np.array(sorted(chosen), dtype=np.int64) for chosen in drawn]
    rule = {"separation": separation, "draws_exclude": cls.draws_exclude}
    walked = user_walk(graph_of(owners), arrays, **rule)
    expected = user_batches(owners, drawn, **rule)
    assert [set(batch.tolist()) for batch in walked] == expected


def test_a_draw_while_excluded_prolongs_the_exclusion_in_one_algorithm_only() -> None:
    """Drawn in every step with separation 3: once ever, or in every third step."""
    graph = Attribution.one_user_each(1)
    sizes = {}
    for cls in SCHEMES:
        scheme = cls(rate=1, separation=3, examples_per_user=1)
        assert scheme.participation_known
        sizes[cls] = [batch.size for batch in scheme.batches(examples=graph, steps=7)]
    assert sizes == {
        UserMinSep: [1, 0, 0, 0, 0, 0, 0],
        ConjecturedUserMinSep: [1, 0, 0, 1, 0, 0, 1],
    }


@both
def test_the_first_steps_follow_the_enumerated_law(cls: Scheme) -> None:
    """Two examples of one user and one of a pair: the sequences of two batches, 20,000 times."""
    owners, rate, copies = [{0}, {0, 1}, {1}], 0.4, 20_000
    subsets = [set(c) for n in range(4) for c in itertools.combinations(range(3), n)]
    law: dict[tuple[int, ...], float] = {}
    for drawn in itertools.product(subsets, repeat=2):
        odds = math.prod(rate ** len(s) * (1 - rate) ** (3 - len(s)) for s in drawn)
        batches = user_batches(owners, drawn, separation=2, draws_exclude=cls.draws_exclude)
        key = tuple(sum(1 << e for e in batch) for batch in batches)
        law[key] = law.get(key, 0.0) + odds
    pairs = [(3 * c + e, 2 * c + u) for c in range(copies) for e in range(3) for u in owners[e]]
    examples, users = np.array(pairs).T
    many = Attribution.from_pairs(
        examples=examples, users=users, number_of_examples=3 * copies, number_of_users=2 * copies
    )
    seen = np.zeros((copies, 2), dtype=np.int64)
    scheme = cls(rate=rate, separation=2, examples_per_user=2, shared_examples=True)
    for step, batch in enumerate(scheme.batches(examples=many, steps=2, rng=9)):
        np.add.at(seen[:, step], batch // 3, 1 << batch % 3)
    found, counts = np.unique(seen, axis=0, return_counts=True)
    observed = dict.fromkeys(law, 0) | {
        tuple(row): int(n) for row, n in zip(found.tolist(), counts, strict=True)
    }
    assert observed.keys() == law.keys()
    expected = [copies * law[key] for key in observed]
    assert stats.chisquare(list(observed.values()), expected).pvalue > ALARM


@both
def test_separation_one_is_poisson_on_any_graph(cls: Scheme) -> None:
    """Nobody is excluded, so the graph does not matter, draw for draw."""
    graph = random_graph(3, examples=50, users=20)
    scheme = cls(
        rate=0.2, separation=1, examples_per_user=graph.most_examples_per_user, shared_examples=True
    )
    drawn = scheme.batches(examples=graph, steps=20, rng=7)
    plain = Poisson(rate=0.2).batches(examples=50, steps=20, rng=7)
    assert [b.tolist() for b in drawn] == [b.tolist() for b in plain]


@both
def test_a_graph_with_busier_users_is_refused(cls: Scheme) -> None:
    """The batches that are drawn are those that were accounted; the error says what helps."""
    graph = graph_of([{0}, {0}, {0, 1}])
    scheme = cls(rate=0.1, separation=2, examples_per_user=2, shared_examples=True)
    with pytest.raises(InvalidParameter, match=r"examples_per_user=2.*bound_contributions.*with 3"):
        scheme.batches(examples=graph, steps=5)
    with pytest.raises(InvalidParameter, match="bound_contributions"):
        scheme.expected_batch_size(graph)
    with pytest.raises(InvalidParameter, match="bound_contributions"):
        cls.for_batch_size(0.1, examples=graph, separation=2, examples_per_user=2)


def test_a_plan_passes_the_graph_on() -> None:
    """A scheme for examples refuses it, one for users draws from it."""
    graph = graph_of([{0}, {0}, {1}])
    users = Plan(sampling=UserMinSep(rate=0.5, separation=2, examples_per_user=2), steps=4)
    assert len(list(users.batches(examples=graph, rng=1))) == 4
    with pytest.raises(
        InvalidParameter, match=r"examples must be an integer >= 1, got Attribution"
    ):
        Plan(sampling=Poisson(rate=0.5), steps=4).batches(examples=graph)


@in_one_test
@both
@pytest.mark.parametrize(
    ("name", "bad"),
    [
        ("rate", [0, 1.01, math.nan, None]),
        ("separation", [0, 2.0, math.nan, True]),
        ("examples_per_user", [0, 2.0, math.nan, True, None]),
        ("warm_up", [-1, 2.5, math.nan, True, False, None]),
        ("max_participations", [0, 2.0, math.nan, True]),
    ],
)
def test_bad_parameters_are_refused(cls: Scheme, name: str, bad: list[Any]) -> None:
    """Each is named in the error."""
    for value in bad:
        with pytest.raises(InvalidParameter, match=rf"^{name} must be"):
            cls(**{"rate": 0.5, "separation": 4, "examples_per_user": 2, name: value})


@both
def test_the_unit_is_a_user(cls: Scheme) -> None:
    """Neither scheme is the other's subclass, so an analysis of one is never one of the other."""
    assert cls.unit == "user"
    assert not issubclass(ConjecturedUserMinSep, UserMinSep)


@both
def test_shared_examples_must_be_declared(cls: Scheme) -> None:
    """What is accounted as nobody's but one user's is not drawn from a graph where it is not."""
    graph = graph_of([{0, 1}, {1}])
    alone = cls(rate=0.1, separation=2, examples_per_user=2)
    with pytest.raises(InvalidParameter, match="shared_examples=True"):
        alone.batches(examples=graph, steps=3)
    assert len(list(replace(alone, shared_examples=True).batches(examples=graph, steps=3))) == 3
    fitted = cls.for_batch_size(0.2, examples=graph, separation=2)
    assert fitted.shared_examples
    assert not cls.for_batch_size(0.2, examples=5, separation=2).shared_examples


@in_one_test
@both
@pytest.mark.parametrize(
    ("options", "independent"),
    [
        ({"separation": 2}, True),
        ({"separation": 2, "shared_examples": True}, False),
        ({"separation": 1, "shared_examples": True}, True),
        ({"separation": 1, "shared_examples": True, "max_participations": 3}, False),
    ],
)
def test_when_others_are_independent(
    cls: Scheme, options: dict[str, Any], independent: bool
) -> None:
    """A draw that excludes other users, or uses up their participations, has traces."""
    scheme = cls(rate=0.1, examples_per_user=2, **options)
    assert scheme.others_are_independent is independent
    proven = set(hockeystick.methods(Plan(sampling=scheme, steps=4)))
    assert "gaussian" in proven
    assert ("poisson-reduction" in proven) is independent
    assert ("monte-carlo" in proven) is independent
