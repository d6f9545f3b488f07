"""Making the graph of examples and users from what a table has."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import coo_array

from hockeystick.errors import InvalidParameter
from hockeystick.schemes import Attribution

COLUMNS = {
    "strings": ["ada", "bob", "ada", "eve", "bob", "ada"],
    "array of strings": np.array(["ada", "bob", "ada", "eve", "bob", "ada"]),
    "array of objects": np.array(["ada", "bob", "ada", "eve", "bob", "ada"], dtype=object),
    "integers far apart": np.array([-5, 10**12, -5, 7, 10**12, -5]),
    "tuples": [(1, "x"), (2, "x"), (1, "x"), (1, "y"), (2, "x"), (1, "x")],
}


def owners(graph: Attribution) -> list[list[int]]:
    """The users of each example."""
    return [sorted(graph.users_of(example).tolist()) for example in range(graph.examples)]


@pytest.mark.parametrize("column", COLUMNS.values(), ids=COLUMNS)
def test_from_users(column):
    """Equal labels are one user, different ones are two, whatever the labels are."""
    graph = Attribution.from_users(column)
    assert (graph.examples, graph.users) == (6, 3)
    who = [users[0] for users in owners(graph)]
    same = [[a == b for a in who] for b in who]
    rows = list(column)
    assert same == [[bool(a == b) for a in rows] for b in rows]
    assert sorted(graph.examples_per_user.tolist()) == [1, 2, 3]


class Person:
    """Equal to nothing but itself."""


class Scalar:
    """An element of an array of another library: its hash is its identity."""

    shape = ()

    def __init__(self, value):
        self._value = value

    def __eq__(self, other):
        return Scalar(self._value == other._value)

    def __hash__(self):
        return id(self)

    def item(self):
        """The number itself."""
        return self._value


class Column:
    """An array of another library."""

    def __iter__(self):
        return iter([Scalar(one) for one in self.tolist()])

    def tolist(self):
        """The numbers."""
        return [3, 5, 3, 7, 5, 3]


@pytest.mark.parametrize("column", [Column(), list(Column())], ids=["array", "list of scalars"])
def test_arrays_of_other_libraries(column):
    """Elements of tensors are compared by value: six examples are those of three users."""
    graph = Attribution.from_users(column)
    assert (graph.examples, graph.users) == (6, 3)


def test_labels_that_equal_only_themselves_are_refused():
    """Each of them would be a user with one example: a guarantee for nobody."""
    allowed = r"labels that are equal where users are.*objects of Person"
    with pytest.raises(InvalidParameter, match=allowed):
        Attribution.from_users([Person(), Person()])
    with pytest.raises(InvalidParameter, match=r"equal where users are"):
        Attribution.from_users([(1, Person()), (1, Person())])


@pytest.mark.parametrize("missing", [None, float("nan"), np.datetime64("NaT", "s")])
def test_a_missing_label_is_refused(missing):
    """An example of nobody would be trained on and protect nobody; the sentence says which."""
    with pytest.raises(InvalidParameter, match=r"nobody is protected.*for example 2"):
        Attribution.from_users(["ada", "bob", missing, "ada"])


@pytest.mark.parametrize("column", ["ada", {"ada": 1}, [], 7, [["ada", "bob"], ["eve"]]])
def test_what_is_no_column_is_refused(column):
    """Characters, keys, nothing, and lists of users, which `from_pairs` takes."""
    with pytest.raises(InvalidParameter, match=r"users must be"):
        Attribution.from_users(column)


def test_counts_follow_from_the_pairs():
    """The same graph with and without the counts."""
    pairs = {"examples": [2, 0, 1, 1], "users": [1, 0, 0, 3]}
    short = Attribution.from_pairs(**pairs)
    whole = Attribution.from_pairs(**pairs, number_of_examples=3, number_of_users=4)
    matrix = coo_array((np.ones(4), (pairs["examples"], pairs["users"])))
    assert owners(short) == owners(whole) == owners(Attribution.from_sparse(matrix))
    assert (short.examples, short.users) == (whole.examples, whole.users) == (3, 4)


def test_examples_of_nobody_are_found():
    """In the middle always; at the end where the number of examples is given."""
    with pytest.raises(InvalidParameter, match=r"nobody else is protected.*example 1"):
        Attribution.from_pairs(examples=[0, 2], users=[0, 0])
    with pytest.raises(InvalidParameter, match=r"nobody else is protected.*example 2"):
        Attribution.from_pairs(examples=[0, 1], users=[0, 0], number_of_examples=3)
    with pytest.raises(InvalidParameter, match=r"examples must be integers in \[0, 0\]"):
        Attribution.from_pairs(examples=[0, 1], users=[0, 0], number_of_examples=1)
    with pytest.raises(
        InvalidParameter, match=r"from_users takes labels.*See `hockeystick docs users"
    ):
        Attribution.from_pairs(examples=[0, 1], users=["ada", "bob"])
    with pytest.raises(InvalidParameter, match=r"examples must be one or more"):
        Attribution.from_pairs(examples=np.array([], dtype=int), users=np.array([], dtype=int))


def test_edges_are_there_once() -> None:
    """A graph that is made by hand and names a user twice is refused; it would hide neighbours."""
    for starts, members in [([0, 2], [0, 0]), ([0, 2], [1, 0]), ([0, 1, 1], [0])]:
        with pytest.raises(InvalidParameter):
            Attribution(starts=np.array(starts), members=np.array(members), users=2)
