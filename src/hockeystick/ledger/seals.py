"""Digests of rows, and what a key adds to them.

A digest is SHA-256 of the table's name and the exact values: the text of a Python value tells it
from every other. It is the checksum of a row, and notices flipped bits and careless edits. With a
key the checksum is HMAC-SHA256 of the digest, which only an owner of the key can compute.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterable, Mapping
from typing import Any

import sqlalchemy as sa

from hockeystick.errors import LedgerError
from hockeystick.ledger.schema import OF_FORMAT_2, VALUES, budgets, chain

__all__ = [
    "checked",
    "digest_of",
    "fingerprint",
    "intact",
    "intact_before",
    "link_of",
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
    given, wanted = str(values["checksum"]), seal_of(digest_of(table, values), key)
    # Compared in constant time: how far a guess is right is not to be measured.
    return hmac.compare_digest(given.encode("utf-8", "replace"), wanted.encode())


def intact_before(table: sa.Table, row: Any) -> bool:
    """The same for a row of the second format, whose checksums were shorter."""
    values = row._mapping
    names = VALUES.get(table.name, ()) if table.name != "hockeystick_ledger" else OF_FORMAT_2
    text = repr((table.name, *(values[name] for name in names)))
    wanted = hashlib.blake2b(text.encode("utf-8", "backslashreplace"), digest_size=16).hexdigest()
    return bool(values["checksum"] == wanted)


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
