"""A checksum for each row, so that a flipped bit does not pass for another amount.

It is no signature: whoever can write to a ledger can also write a checksum.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

import sqlalchemy as sa

from hockeystick.errors import LedgerError
from hockeystick.ledger.schema import budgets, entries, ledger

__all__ = ["BUDGET_VALUES", "ENTRY_VALUES", "checked", "intact", "with_checksum"]

BUDGET_VALUES = tuple(column.name for column in budgets.c if column.name != "checksum")
ENTRY_VALUES = tuple(column.name for column in entries.c if column.name != "checksum")
# A place is compared with the file that it is read from.
VALUES = {
    budgets.name: BUDGET_VALUES,
    entries.name: ENTRY_VALUES,
    ledger.name: (ledger.c.format.name, ledger.c.budgets.name),
}


def with_checksum(table: sa.Table, values: Mapping[str, Any]) -> dict[str, Any]:
    """The values of a row together with their checksum."""
    return {**values, "checksum": _checksum(table, values)}


def intact(table: sa.Table, row: Any) -> bool:
    """Whether a row that was read is as it was written."""
    values = row._mapping
    return bool(values["checksum"] == _checksum(table, values))


def checked(table: sa.Table, row: Any, *, where: str) -> Any:
    """The row, if it is as it was written; `LedgerError` otherwise."""
    if not intact(table, row):
        what = "a budget" if table is budgets else "an entry"
        raise LedgerError(
            f"The ledger {where} is damaged: {what} does not match its checksum, and nothing is "
            "spent from it; `hockeystick ledger audit` says more."
        )
    return row


def _checksum(table: sa.Table, values: Mapping[str, Any]) -> str:
    """Of names and exact values: the text of a Python number tells it from every other."""
    text = repr((table.name, *(values[name] for name in VALUES[table.name])))
    return hashlib.blake2b(text.encode("utf-8", "backslashreplace"), digest_size=16).hexdigest()
