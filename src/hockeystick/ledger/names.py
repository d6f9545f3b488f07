"""What users say of a ledger: where it is, its key, the head of its chain, the name of a budget.

Which budgets are there, and which names are too near to be told apart from a typo.
"""

from __future__ import annotations

import difflib
import re
import unicodedata
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from hockeystick._files import KEY_BYTES, check_secret, read_secret
from hockeystick.errors import InvalidParameter, shown

__all__ = [
    "ALLOWED",
    "DEFAULT_NAME",
    "PAGE",
    "START",
    "Head",
    "Ledger",
    "Where",
    "checked_key",
    "checked_text",
    "parsed_head",
    "refuse_difference",
    "refuse_missing",
    "refuse_typo",
    "refuse_unnamed",
]

# The link before the first record.
START = "0" * 64


class Head(NamedTuple):
    """How many records the chain of a ledger has, and the link of the last one.

    Attributes
    ----------
    records : int
        How many.
    link : str
        It depends on every record; 64 hexadecimal digits.
    """

    records: int
    link: str

    def __str__(self) -> str:
        return f"{self.records}:{self.link}"


def parsed_head(text: object) -> Head:
    """What `str` of a head wrote."""
    records, _, link = str(text).strip().partition(":")
    if not (records.isascii() and records.isdigit() and len(link) == len(START)):
        allowed = "a head as `hockeystick ledger head` prints it, records:link"
        raise InvalidParameter("head", allowed, text)
    return Head(int(records), link)


ALLOWED = "a path, a sqlite:/// URL or a postgresql:// URL"


class Ledger:
    """A ledger whose rows are authenticated with a key: taken wherever a path or URL is.

    Whoever can write to the ledger but does not have the key can change nothing without being
    noticed, except for putting all of an older state back ([more](ledger.md#a-key)).

    Parameters
    ----------
    where
        A path or a database URL.
    key
        32 bytes or more that nobody else knows, or the file that holds them
        (`hockeystick keygen --ledger FILE`), which only its owner may read.

    Examples
    --------
    >>> import secrets
    >>> import hockeystick as hs
    >>> ledger = hs.ledger.Ledger("secured.db", key=secrets.token_bytes(32))
    >>> f = hs.filters.Gaussian(mu=1.0, ledger=ledger, name="survey")
    >>> f.request(noise_multiplier=2.0).commit()
    >>> hs.ledger.audit("secured.db")
    Traceback (most recent call last):
        ...
    hockeystick.errors.LedgerError: The ledger ... is authenticated with a key: give it ...
    """

    def __init__(self, where: str | Path, *, key: bytes | str | Path) -> None:
        if isinstance(where, Ledger) or not isinstance(where, (str, Path)):
            raise InvalidParameter("where", ALLOWED, type(where).__name__)
        self._where, self._key = where, checked_key(key)

    def __repr__(self) -> str:
        from hockeystick.ledger.locations import location

        return f"Ledger({location(self._where).text!r}, key=...)"


# Where a ledger is, as users say it.
Where = str | Path | Ledger


def checked_key(key: object) -> bytes:
    """The key itself, given as bytes or by its file."""
    allowed = (
        f"{KEY_BYTES} bytes or more, or a file with their hexadecimal digits that its owner alone "
        "can read"
    )
    try:
        if isinstance(key, (str, Path)):
            return read_secret(Path(key))
        if isinstance(key, bytes):
            return check_secret(key)
    except (OSError, ValueError) as error:
        # Not the text itself: it may be the key, given in the place of its file.
        reason = getattr(error, "strerror", None) or str(error)
        raise InvalidParameter("key", allowed, reason) from None
    raise InvalidParameter("key", allowed, type(key).__name__)


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
