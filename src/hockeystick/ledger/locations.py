"""Where a ledger is, and the names of its budgets.

A location is a path or a URL; no message or repr ever shows a password. A new name must not be so
near to an old one that it could be a typo.
"""

from __future__ import annotations

import difflib
import re
import unicodedata
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import sqlalchemy as sa

from hockeystick._files import check_target
from hockeystick.errors import InvalidParameter, shown
from hockeystick.ledger.seals import ALLOWED, Ledger, Where

__all__ = [
    "DEFAULT_NAME",
    "PAGE",
    "Location",
    "checked_text",
    "existing",
    "location",
    "refuse_difference",
    "refuse_missing",
    "refuse_typo",
    "refuse_unnamed",
]

# Text that was meant for a server, however it is written: nothing after the first word is shown.
_FOR_A_SERVER = re.compile(
    r"(?i)^[a-z][\w+.-]+:/|^postgres\w*:|://|\bpassword\s*=|(^|/)[^/@:]+:[^/@]*@"
)
# Options of a URL that are as secret as its password.
SECRET_OPTIONS = ("password", "sslpassword")


class Location(NamedTuple):
    """A file, or a server with the secrets that its URL does not hold any more."""

    url: sa.URL
    secrets: Mapping[str, str]
    key: bytes | None = None

    @property
    def is_file(self) -> bool:
        """Whether it is an SQLite file."""
        return self.url.get_backend_name() == "sqlite"

    @property
    def path(self) -> Path:
        """The file, without symbolic links."""
        return Path(str(self.url.database))

    @property
    def text(self) -> str:
        """For messages: no password, and no options."""
        if self.is_file:
            return str(self.url.database)
        return self.url.set(query={}).render_as_string(hide_password=True)

    def without_secrets(self, text: str) -> str:
        """The text of somebody else with every secret taken out."""
        for secret in sorted(self.secrets.values(), key=len, reverse=True):
            text = text.replace(secret, "***") if secret else text
        return text

    def __repr__(self) -> str:
        return f"Location({self.text!r})"


def location(where: Where) -> Location:
    """The place of a ledger, given by a path or a URL, and its key."""
    if isinstance(where, Ledger):
        return location(where._where)._replace(key=where._key)
    text = str(where)
    if text.startswith("sqlite") and "://" in text:
        return _file(_without_host(_parsed(text), text).database or "")
    if _FOR_A_SERVER.search(text) is None:
        return _file(text)
    if text.count("@") > 1:
        # Otherwise a part of the password may pass for the host.
        raise InvalidParameter("ledger", "a URL with every other @ written as %40", _shown(text))
    url = _parsed(text)
    if url.get_backend_name() != "postgresql":
        raise InvalidParameter("ledger", ALLOWED, _shown(text))
    return _server(url.set(drivername="postgresql+psycopg"))


def existing(where: Where, *, file_only: bool = False) -> Location:
    """The same, if it is a server (unless only files will do) or a file that exists."""
    target = location(where)
    if not (target.path.is_file() if target.is_file else not file_only):
        raise InvalidParameter("ledger", "a file that exists", target.text)
    return target


def _parsed(text: str) -> sa.URL:
    try:
        url = sa.make_url(text)
        # Properties that raise for a driver that does not exist.
        url.get_backend_name()
    except (sa.exc.ArgumentError, ValueError, UnicodeError):
        url = None
    # Raised here, where no other error is being handled: theirs may quote the URL.
    if url is None:
        raise InvalidParameter("ledger", ALLOWED, _shown(text))
    return url


def _without_host(url: sa.URL, text: str) -> sa.URL:
    """The URL of a file, which is on no host: `sqlite://host/file` would be another file here."""
    if any(part is not None for part in (url.host, url.username, url.password, url.port)):
        raise InvalidParameter("ledger", "a sqlite:/// URL without a host", _shown(text))
    return url


def _server(url: sa.URL) -> Location:
    secrets = {} if url.password is None else {"password": str(url.password)}
    query = dict(url.query)
    for name in SECRET_OPTIONS:
        if name not in query:
            continue
        value = query.pop(name)
        if not isinstance(value, str) or name in secrets:
            raise InvalidParameter("ledger", f"a URL with one {name}", _shown(url.drivername))
        secrets[name] = value
    return Location(url.set(query=query)._replace(password=None), secrets)


def _file(path: str) -> Location:
    if path in ("", ".", ":memory:"):
        raise InvalidParameter("ledger", "a file, so that it survives the process", path)
    target = check_target("ledger", Path(path))
    return Location(sa.URL.create("sqlite+pysqlite", database=str(target.resolve())), {})


def _shown(text: str) -> str:
    """The first word of a URL, up to what may be a secret."""
    found = re.match(r"[\w+.-]*(://)?", text)
    return f"{found.group() if found else ''}..."


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
