"""Attribution: which example is whose."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from hockeystick.errors import InvalidParameter
from hockeystick.schemes import Attribution
from hockeystick.schemes.user_min_sep import attribution
from references.user_min_sep import neighbourhood

owner_sets = st.lists(st.sets(st.integers(0, 6), min_size=1, max_size=4), min_size=1, max_size=15)


def graph_of(owners: list[set[int]]) -> Attribution:
    """The graph of these owners, whose pairs are given backwards and the first one twice."""
    pairs = [(example, user) for example, users in enumerate(owners) for user in users][::-1]
    examples, users = np.array([*pairs, pairs[0]]).T
    return Attribution.from_pairs(
        examples=examples, users=users, number_of_examples=len(owners), number_of_users=7
    )


def sets_of(graph: Attribution) -> list[set[int]]:
    """The users of each example."""
    return [set(graph.users_of(example).tolist()) for example in range(graph.examples)]


@given(owner_sets)
def test_pairs_come_back_as_sets(owners: list[set[int]]) -> None:
    """The order of the pairs and repetitions do not matter."""
    graph = graph_of(owners)
    assert sets_of(graph) == owners
    assert graph.members.size == sum(map(len, owners))
    assert (graph.examples, graph.users) == (len(owners), 7)
    counts = [sum(user in users for users in owners) for user in range(7)]
    assert graph.examples_per_user.tolist() == counts
    assert graph.most_examples_per_user == max(counts)
    assert graph.shares_users == (max(counts) > 1)


@given(owner_sets, st.integers(1, 20))
def test_neighbourhoods_are_counted_in_blocks_of_any_size(
    owners: list[set[int]], block: int
) -> None:
    """|N(e)| counts every neighbour once, and the example itself."""
    graph = graph_of(owners)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(attribution, "PAIRS", block)
        sizes = graph.neighbourhood_sizes
    assert sizes.tolist() == [len(neighbourhood(owners, e)) for e in range(len(owners))]


@given(owner_sets, st.data())
def test_parts_of_the_graph(owners: list[set[int]], data: st.DataObject) -> None:
    """Edges of some examples, the graph of these alone, and the graph seen from the users."""
    graph = graph_of(owners)
    chosen = np.array(sorted(data.draw(st.sets(st.sampled_from(range(len(owners)))))), dtype=int)
    users, owner = graph.edges_of(chosen)
    edges = list(zip(chosen[owner].tolist(), users.tolist(), strict=True))
    assert edges == [(e, u) for e in chosen.tolist() for u in sorted(owners[e])]
    assert sets_of(graph.restricted_to(chosen)) == [owners[e] for e in chosen]
    starts, examples = graph.by_user
    for user in range(7):
        mine = examples[starts[user] : starts[user + 1]].tolist()
        assert mine == [e for e, users in enumerate(owners) if user in users]


@pytest.mark.parametrize("form", [sparse.csr_array, sparse.csc_matrix, sparse.coo_array])
def test_a_sparse_matrix_has_examples_as_rows(form: Any) -> None:
    """Entries other than zero are attributions, whatever they are."""
    dense = np.array([[0.0, 2.5, 0.0], [-1.0, 1.0, 0.0]])
    graph = Attribution.from_sparse(form(dense))
    assert sets_of(graph) == [{1}, {0, 1}]
    assert graph.users == 3


def test_explicit_zeros_are_no_attributions() -> None:
    """A zero that is stored still means no."""
    matrix = sparse.csr_array(np.array([[1.0, 2.0]]))
    matrix.data[0] = 0.0
    assert sets_of(Attribution.from_sparse(matrix)) == [{1}]


def test_one_user_each() -> None:
    """Example i is user i's."""
    graph = Attribution.one_user_each(4)
    assert sets_of(graph) == [{0}, {1}, {2}, {3}]
    assert not graph.shares_users
    assert repr(graph) == "Attribution(4 examples, 4 users)"


BAD_PAIRS: dict[str, tuple[dict[str, Any], str]] = {
    "example too large": ({"examples": [0, 2]}, r"^examples must be integers in \[0, 1\]"),
    "negative user": ({"users": [0, -1]}, r"^users must be integers in \[0, 2\]"),
    "floats": ({"examples": [0.0, 1.0]}, "^examples must be a vector of integers"),
    "nan": ({"users": [0, math.nan]}, "^users must be a vector of integers"),
    "booleans": ({"users": [True, False]}, "^users must be a vector of integers"),
    "a table": ({"examples": [[0, 1]]}, "^examples must be a vector of integers"),
    "lengths": ({"users": [0]}, "^users must be as many as examples, 2, got 1"),
    "nobody's": ({"examples": [0, 0]}, "^examples must be attributed.*none for example 1"),
    "no examples": ({"number_of_examples": 0}, "^number_of_examples must be"),
    "no users": ({"number_of_users": 2.0}, "^number_of_users must be"),
}


@pytest.mark.parametrize(("changes", "text"), BAD_PAIRS.values(), ids=BAD_PAIRS.keys())
def test_bad_pairs_are_refused(changes: dict[str, Any], text: str) -> None:
    """One sentence about the argument at fault."""
    fine: dict[str, Any] = {
        "examples": [0, 1],
        "users": [2, 2],
        "number_of_examples": 2,
        "number_of_users": 3,
    }
    Attribution.from_pairs(**fine)
    with pytest.raises(InvalidParameter, match=text):
        Attribution.from_pairs(**{**fine, **changes})


@pytest.mark.parametrize(
    "bad",
    [np.eye(2), None, "graph", sparse.csr_array((0, 3)), sparse.csr_array(np.array([[math.nan]]))],
    ids=["dense", "none", "text", "empty", "nan"],
)
def test_bad_matrices_are_refused(bad: Any) -> None:
    """Only a sparse matrix of numbers with examples and users will do."""
    with pytest.raises(InvalidParameter, match=r"^matrix must be"):
        Attribution.from_sparse(bad)
