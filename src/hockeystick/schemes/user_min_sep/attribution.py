"""Whose data an example is: the public graph between examples and users."""

from __future__ import annotations

from collections.abc import Mapping, Set
from copy import deepcopy
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, Self

import numpy as np

from hockeystick._validate import positive_integer
from hockeystick.errors import InvalidParameter
from hockeystick.schemes.batches import Indices

__all__ = ["Attribution"]

PAGE = "docs/users.md"
# Pairs of neighbours that are held at a time: 64 MB.
PAIRS = 4_000_000


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Attribution:
    """Examples and the users they belong to, as a sparse structure.

    Made by `from_users`, `from_pairs`, `from_sparse` or `one_user_each`. Every example has a user,
    or it would not be protected; a user may have no example. The graph is public: a guarantee is
    about the contents of a user's examples, not about who has which (fixed-graph adjacency)
    [Ganesh25].

    Parameters
    ----------
    starts, members
        The users of example i are `members[starts[i]:starts[i + 1]]`.
    users
        The number of users.

    Examples
    --------
    >>> import hockeystick as hs
    >>> hs.Attribution.from_users(["ada", "ada", "bob", "ada"])  # the user of each example
    Attribution(4 examples, 2 users)
    >>> graph = hs.Attribution.from_pairs(examples=[0, 1, 1, 2], users=[0, 0, 1, 1])
    >>> graph
    Attribution(3 examples, 2 users)
    >>> graph.examples_per_user.tolist(), graph.has_shared_examples
    ([2, 2], True)
    """

    starts: Indices
    members: Indices
    users: int

    def __post_init__(self) -> None:
        rising = np.diff(self.members) > 0
        if not (np.diff(self.starts) > 0).all():
            raise InvalidParameter("starts", "increasing: every example has a user", self.starts)
        rising[self.starts[1:-1] - 1] = True
        if not rising.all():
            # A user who is named twice would count twice.
            raise InvalidParameter("members", "increasing for each example", self.members)

    @classmethod
    def from_users(cls, users: Any) -> Self:
        """From one column: `users[i]` is the user of example i, and no example has two.

        Parameters
        ----------
        users
            Labels, equal for the examples of one user: integers, strings, tuples of them, in a
            list, an array or a tensor. Objects that equal nothing but themselves are refused: each
            would be a user of its own. So is a missing label (None, NaN): nobody would be protected
            by that example. Give an example of unknown origin a label of its own if it is nobody
            else's.
        """
        numbers, count = _numbered(users)
        return cls._from_edges(np.arange(numbers.size), numbers, (numbers.size, count))

    @classmethod
    def from_pairs(
        cls,
        *,
        examples: Any,
        users: Any,
        number_of_examples: int | None = None,
        number_of_users: int | None = None,
    ) -> Self:
        """From two arrays of the same length: example `examples[j]` belongs to user `users[j]`.

        Pairs that are named twice count once. An example below the largest one without a user is
        refused; of examples above it only `number_of_examples` knows.

        Parameters
        ----------
        examples, users
            Integers from 0.
        number_of_examples
            By default one more than the largest in `examples`. Give it where the data set has a
            length of its own: an example at the end that nobody is attributed to is then found.
        number_of_users
            By default one more than the largest in `users`.
        """
        of, count = _index_array("examples", examples, number_of_examples)
        who, people = _index_array("users", users, number_of_users)
        if of.shape != who.shape:
            raise InvalidParameter("users", f"as many as examples, {of.size}", who.size)
        return cls._from_edges(of, who, (count, people))

    @classmethod
    def from_sparse(cls, matrix: Any) -> Self:
        """From a SciPy sparse matrix with a row for each example and a column for each user.

        Entries that are not zero mark whose an example is; their values do not matter.
        """
        shape: Any = getattr(matrix, "shape", ())
        if not (hasattr(matrix, "tocoo") and len(shape) == 2 and min(shape) >= 1):
            allowed = "a SciPy sparse matrix with a row per example and a column per user"
            raise InvalidParameter("matrix", allowed, matrix)
        entries = matrix.tocoo()
        if np.isnan(entries.data).any():
            raise InvalidParameter("matrix", "free of NaN", matrix)
        of, who = (a[entries.data != 0].astype(np.int64) for a in (entries.row, entries.col))
        return cls._from_edges(of, who, shape)

    @classmethod
    def one_user_each(cls, examples: int) -> Self:
        """Every example belongs to a user of its own."""
        count = positive_integer("examples", examples)
        return cls(starts=np.arange(count + 1), members=np.arange(count), users=count)

    @classmethod
    def _from_edges(cls, of: Indices, who: Indices, shape: tuple[int, int]) -> Self:
        order = np.lexsort((who, of))
        of, who = of[order], who[order]
        new = np.ones(of.size, dtype=np.bool_)
        new[1:] = (np.diff(of) != 0) | (np.diff(who) != 0)
        counts = np.bincount(of[new], minlength=shape[0])
        if not counts.all():
            allowed = "attributed to one user or more, each of them: nobody else is protected"
            missing = f"none for example {counts.argmin()}"
            raise InvalidParameter("examples", allowed, missing, page=PAGE)
        return cls(starts=_offsets(counts), members=who[new], users=shape[1])

    def __repr__(self) -> str:
        return f"Attribution({self.examples} examples, {self.users} users)"

    @property
    def examples(self) -> int:
        """The number of examples."""
        return self.starts.size - 1

    @cached_property
    def examples_per_user(self) -> Indices:
        """How many examples each user has."""
        return np.bincount(self.members, minlength=self.users).astype(np.int64, copy=False)

    @cached_property
    def most_examples_per_user(self) -> int:
        """The largest number of examples that one user has."""
        return int(self.examples_per_user.max())

    @property
    def shares_users(self) -> bool:
        """Whether two examples have a user in common."""
        return self.most_examples_per_user > 1

    @property
    def has_shared_examples(self) -> bool:
        """Whether an example belongs to more than one user."""
        return self.members.size > self.examples

    @cached_property
    def neighbourhood_sizes(self) -> Indices:
        """|N(e)| for each example: how many examples share a user with it, itself included."""
        from scipy.sparse import csr_array

        marks = np.ones(self.members.size, dtype=np.bool_)
        graph = csr_array((marks, self.members, self.starts), shape=(self.examples, self.users))
        by_user = graph.T.tocsr()
        # The product has an entry for each pair of neighbours; blocks of rows bound its size.
        pairs = np.cumsum(self.examples_per_user[self.members])[self.starts[1:] - 1]
        ends = np.searchsorted(pairs, np.arange(PAIRS, pairs[-1], PAIRS), side="right")
        cuts = np.unique(np.concatenate([[0], ends, [self.examples]]))
        parts = [np.diff((graph[a:b] @ by_user).indptr) for a, b in pairwise(cuts)]
        return np.concatenate(parts).astype(np.int64, copy=False)

    @cached_property
    def most_neighbours(self) -> int:
        """At least the number of others' examples that share a user with an example of one user.

        The neighbourhoods of the user's examples without its own, which all of them contain; what
        lies in several of them is counted several times.
        """
        own = self.examples_per_user[self.members]
        around = np.repeat(self.neighbourhood_sizes, np.diff(self.starts)) - own
        found = np.bincount(self.members, weights=around, minlength=self.users)
        return int(found.max(initial=0))

    @cached_property
    def by_user(self) -> tuple[Indices, Indices]:
        """The graph from the other side: offsets for the users, and their examples."""
        owner = np.repeat(np.arange(self.examples), np.diff(self.starts))
        return _offsets(self.examples_per_user), owner[np.argsort(self.members, kind="stable")]

    def users_of(self, example: int) -> Indices:
        """The users of one example."""
        return self.members[self.starts[example] : self.starts[example + 1]]

    def edges_of(self, chosen: Indices) -> tuple[Indices, Indices]:
        """The users of the chosen examples one after the other, and which of these each is of."""
        counts = self.starts[chosen + 1] - self.starts[chosen]
        owner = np.repeat(np.arange(chosen.size), counts)
        within = np.arange(owner.size) - np.repeat(np.cumsum(counts) - counts, counts)
        return self.members[self.starts[chosen][owner] + within], owner

    def restricted_to(self, kept: Indices) -> Self:
        """The graph of these examples alone, numbered in their order; all users stay."""
        counts = self.starts[kept + 1] - self.starts[kept]
        members, _ = self.edges_of(kept)
        return type(self)(starts=_offsets(counts), members=members, users=self.users)


def _offsets(counts: Indices) -> Indices:
    """Where each of several runs starts, and the end."""
    return np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(counts)])


def _index_array(name: str, values: Any, given: int | None) -> tuple[Indices, int]:
    """The indices, and how many things they are indices of."""
    count = None if given is None else positive_integer(f"number_of_{name}", given)
    array = np.asarray(values)
    if array.dtype.kind not in "iu" or array.ndim != 1:
        allowed = "a vector of integers (from_users takes labels, one for each example)"
        raise InvalidParameter(name, allowed, values, page=PAGE)
    if count is None:
        if not array.size:
            raise InvalidParameter(name, "one or more", values)
        count = positive_integer(f"number_of_{name}", int(array.max()) + 1)
    if array.size and not (array.min() >= 0 and array.max() < count):
        raise InvalidParameter(name, f"integers in [0, {count - 1}]", values)
    return array.astype(np.int64), count


def _numbered(labels: Any) -> tuple[Indices, int]:
    """Each label as a number from 0, equal ones as the same; how many numbers there are."""
    if isinstance(labels, np.ndarray) and labels.ndim == 1 and labels.dtype.kind in "iuSU":
        kinds, numbers = np.unique(labels, return_inverse=True)
        found, count = numbers.astype(np.int64), kinds.size
    else:
        found, count = _numbered_one_by_one(labels)
    if not count:
        raise InvalidParameter("users", "a label for each example, one or more", labels)
    return found, count


def _numbered_one_by_one(labels: Any) -> tuple[Indices, int]:
    allowed = "one hashable label for each example (from_pairs takes examples of several users)"
    # Characters and keys are no column.
    if isinstance(labels, (str, bytes, Mapping, Set)):
        raise InvalidParameter("users", allowed, labels, page=PAGE)
    known: dict[object, int] = {}
    try:
        # Arrays of any library: their elements may be objects that equal nothing but themselves.
        whole = labels.tolist() if callable(getattr(labels, "tolist", None)) else labels
        rows = [one.item() if getattr(one, "shape", None) == () else one for one in whole]
        numbers = [known.setdefault(one, len(known)) for one in rows]
        examples_of_types = {type(one): one for one in known}
        alike = all(deepcopy(one) in {one} for one in examples_of_types.values())
    except TypeError:
        raise InvalidParameter("users", allowed, labels, page=PAGE) from None
    for label, number in known.items():
        if _is_missing(label):
            missing = f"{label!r} for example {numbers.index(number)}"
            allowed = "a label for each example: without one nobody is protected by it"
            raise InvalidParameter("users", allowed, missing, page=PAGE)
    if not alike:
        allowed = "labels that are equal where users are: integers, strings, tuples of them"
        kinds = ", ".join(sorted(kind.__name__ for kind in examples_of_types))
        raise InvalidParameter("users", allowed, f"objects of {kinds}", page=PAGE)
    return np.array(numbers, dtype=np.int64), len(known)


def _is_missing(label: Any) -> bool:
    """None, and what is not equal to itself: NaN, NaT; what compares to neither is pandas' NA."""
    try:
        return label is None or bool(label != label)  # noqa: PLR0124
    except (TypeError, ValueError):
        return True
