"""Digests of rows, what a key adds to them, and the head of the chain, to be noted elsewhere.

A digest is SHA-256 of the table's name and the exact values: the text of a Python value tells it
from every other. It is the checksum of a row, and notices flipped bits and careless edits. With a
key the checksum is HMAC-SHA256 of the digest, which only an owner of the key can compute.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import sqlalchemy as sa

from hockeystick._files import KEY_BYTES, check_secret, read_secret
from hockeystick.errors import InvalidParameter, LedgerError
from hockeystick.ledger.schema import VALUES, budgets, chain

__all__ = [
    "ALLOWED",
    "START",
    "Head",
    "Ledger",
    "Where",
    "checked",
    "checked_key",
    "digest_of",
    "fingerprint",
    "intact",
    "intact_before",
    "link_of",
    "parsed_head",
    "seal_of",
    "text_digest",
    "tuple_digest",
    "with_checksum",
]

# Hexadecimal digits of a key's name: enough to tell the keys of one ledger apart.
FINGERPRINT_DIGITS = 16


def digest_of(table: sa.Table, values: Mapping[str, Any]) -> str:
    """Of the name of the table and the exact values of a row."""
    return tuple_digest(table, [values[name] for name in VALUES[table.name]])


def tuple_digest(table: sa.Table, values: Iterable[Any]) -> str:
    """The same from the values in the order of the table, the checksum left out."""
    return _digest((table.name, *values))


def text_digest(text: str | None) -> str:
    """Of a text that is in no row of its own."""
    return _digest(("text", text))


def link_of(
    key: bytes | None,
    *,
    previous: str,
    position: int,
    event: str,
    of: str | None,
    number: int | None,
    digest: str,
) -> str:
    """What a record of the chain carries on: it depends on all records up to this one."""
    values = (chain.name, previous, position, event, of, number, digest)
    return seal_of(_digest(values), key)


def seal_of(digest: str, key: bytes | None) -> str:
    """The digest, or with a key what nobody else can compute from it."""
    if key is None:
        return digest
    return hmac.digest(key, digest.encode("ascii"), "sha256").hex()


def fingerprint(key: bytes | None) -> str | None:
    """What tells keys apart and says nothing about them; None without a key."""
    if key is None:
        return None
    return hmac.digest(key, b"hockeystick ledger key", "sha256").hex()[:FINGERPRINT_DIGITS]


def with_checksum(
    table: sa.Table, values: Mapping[str, Any], key: bytes | None = None
) -> dict[str, Any]:
    """The values of a row together with their checksum."""
    return {**values, "checksum": seal_of(digest_of(table, values), key)}


def intact(table: sa.Table, row: Any, key: bytes | None = None) -> bool:
    """Whether a row that was read is as it was written."""
    values = row._mapping
    return _same(values["checksum"], seal_of(digest_of(table, values), key))


def intact_before(table: sa.Table, row: Any) -> bool:
    """The same for a row of the second format, whose checksums were shorter."""
    values = row._mapping
    names = VALUES.get(table.name, ()) if table.name != "hockeystick_ledger" else OF_FORMAT_2
    text = repr((table.name, *(values[name] for name in names)))
    wanted = hashlib.blake2b(text.encode("utf-8", "backslashreplace"), digest_size=16).hexdigest()
    return bool(values["checksum"] == wanted)


# What the checksum of the one row of `hockeystick_ledger` was about in the second format.
OF_FORMAT_2 = ("format", "budgets")


def checked(table: sa.Table, row: Any, *, where: str, key: bytes | None) -> Any:
    """The row, if it is as it was written; `LedgerError` otherwise."""
    if not intact(table, row, key):
        what = "a budget" if table is budgets else "an entry"
        raise LedgerError(
            f"The ledger {where} is damaged: {what} does not match its checksum, and nothing is "
            "spent from it; `hockeystick ledger audit` says more."
        )
    return row


def _digest(values: tuple[object, ...]) -> str:
    return hashlib.sha256(repr(values).encode("utf-8", "backslashreplace")).hexdigest()


def _same(given: object, wanted: str) -> bool:
    # Compared in constant time: how far a guess is right is not to be measured.
    return hmac.compare_digest(str(given).encode("utf-8", "replace"), wanted.encode())


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
