"""Names of budgets: which are there, and which are too near to be told apart from a typo."""

from __future__ import annotations

import difflib
import re
import unicodedata
from collections.abc import Mapping, Sequence

from hockeystick.errors import InvalidParameter, shown

__all__ = [
    "DEFAULT_NAME",
    "PAGE",
    "checked_text",
    "refuse_difference",
    "refuse_missing",
    "refuse_typo",
    "refuse_unnamed",
]

# The budget that is meant where no name is given.
DEFAULT_NAME = "default"

# Of a name or a label, in characters: they are shown in tables.
LONGEST = 200
# Names that a message lists.
LISTED = 10
# Words shorter than this are told apart as they are; from the second length two errors are a typo.
SHORTEST_WORD, LONG_WORD = 4, 8
PAGE = "docs/ledger.md#join-a-budget"


def checked_text(name: str, value: object) -> str:
    """A name or a label: some characters, all of which can be printed."""
    if not isinstance(value, str) or not 1 <= len(value) <= LONGEST or not value.isprintable():
        allowed = f"a text of 1 to {LONGEST} characters that can be printed"
        raise InvalidParameter(name, allowed, value)
    return value


def refuse_missing(name: str, there: Sequence[str], *, where: str) -> None:
    """`InvalidParameter`, with the names that are there, for a budget that has to exist."""
    if name in there:
        return
    close = difflib.get_close_matches(name, there, n=1)
    closest = f"; the closest is {close[0]!r}" if close else ""
    shown = ", ".join(map(repr, there[:LISTED])) or "none"
    more = f" and {len(there) - LISTED} more" if len(there) > LISTED else ""
    allowed = f"a budget of the ledger {where}, which has {shown}{more}{closest}"
    raise InvalidParameter("name", allowed, name, page=PAGE)


def refuse_typo(name: str, there: Sequence[str]) -> None:
    """`InvalidParameter` for a new name that is one slip away from a budget that is there."""
    for known in there:
        if _one_slip(name, known):
            allowed = (
                f"further from {known!r}, a budget of this ledger: a typo would open a second, "
                "full budget (must_exist=False opens it all the same)"
            )
            raise InvalidParameter("name", allowed, name, page=PAGE)


def refuse_unnamed(name: str, there: Sequence[str]) -> None:
    """`InvalidParameter` for the name that is taken by default, beside budgets with names."""
    if name == DEFAULT_NAME and there:
        named = ", ".join(map(repr, there[:LISTED]))
        allowed = (
            f"given: this ledger has {named}, and without a name a second, full budget would be "
            "opened (must_exist=False opens it all the same)"
        )
        raise InvalidParameter("name", allowed, name, page=PAGE)


def refuse_difference(
    name: str, there: Mapping[str, object], *, given: Mapping[str, object]
) -> None:
    """`InvalidParameter` for the first value in which a budget is not the one that is there."""
    # A budget of another filter has other values altogether: that is said first.
    for key in sorted({*there, *given}, key=lambda one: (one != "filter", one)):
        stored = shown(there[key]) if key in there else "left out"
        if key not in there or key not in given or repr(there[key]) != repr(given[key]):
            allowed = (
                f"{stored} as when the budget {name!r} was opened first (filters.join(ledger=..., "
                f"name={name!r}) takes what it has, another name opens another budget)"
            )
            raise InvalidParameter(key, allowed, given.get(key), page=PAGE)


def _one_slip(new: str, known: str) -> bool:
    """Whether the names differ in capitals, in what stands between words, or in mistyped words.

    Names with different digits (run-1, run-2) and different short words (team-a, team-b) are
    different on purpose.
    """
    first, second = _words(new), _words(known)
    if "".join(first) == "".join(second):
        return True
    if re.findall(r"\d+", new) != re.findall(r"\d+", known) or len(first) != len(second):
        return False
    different = [pair for pair in zip(first, second, strict=True) if pair[0] != pair[1]]
    return all(_mistyped(*pair) for pair in different)


def _mistyped(first: str, second: str) -> bool:
    """Whether one word may be meant for the other."""
    length = min(len(first), len(second))
    allowed = 0 if length < SHORTEST_WORD else 1 if length < LONG_WORD else 2
    return _distance(first, second) <= allowed


def _words(name: str) -> list[str]:
    # An accent may be a character of its own or part of its letter, and is printed alike.
    return re.findall(r"[^\W_]+", unicodedata.normalize("NFKC", name).casefold())


def _distance(first: str, second: str) -> int:
    """Letters to insert, delete, replace or exchange with the next one (optimal alignment)."""
    before: list[int] = []
    last = list(range(len(second) + 1))
    for i, one in enumerate(first):
        row = [i + 1]
        for j, other in enumerate(second):
            best = min(row[j] + 1, last[j + 1] + 1, last[j] + (one != other))
            if i and j and (one, first[i - 1]) == (second[j - 1], other):
                best = min(best, before[j - 1] + 1)
            row.append(best)
        before, last = last, row
    return last[-1]
