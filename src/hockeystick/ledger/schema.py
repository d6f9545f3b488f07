"""The tables of a ledger, the checksum of each row, and the statements that use them.

Checks of the database repeat what the code ensures: no program that writes to these tables can
spend more than the budget or use a number twice. A checksum keeps a flipped bit from passing for
another amount. It is no signature: whoever can write to a ledger can also write a checksum.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

import sqlalchemy as sa

from hockeystick.errors import LedgerError

__all__ = [
    "ADD_BUDGET",
    "ADD_ENTRY",
    "BUDGET_VALUES",
    "COUNT_BUDGETS",
    "CREATION_LOCK",
    "ENTRIES",
    "ENTRY_VALUES",
    "FIND_BUDGET",
    "FORMAT",
    "LOCK_BUDGET",
    "LOCK_ENTRY",
    "MARK",
    "NAMES",
    "ORPHANS",
    "TABLES",
    "TOTALS",
    "UPDATE_BUDGET",
    "budgets",
    "checked",
    "entries",
    "intact",
    "ledger",
    "metadata",
    "with_checksum",
]

# Of the tables below; 1 had neither checksums nor a place.
FORMAT = 2

metadata = sa.MetaData()

budgets = sa.Table(
    "hockeystick_budgets",
    metadata,
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("description", sa.Text, nullable=False),  # JSON with sorted keys
    sa.Column("budget", sa.Double, nullable=False),
    sa.Column("spent", sa.Double, nullable=False),  # charges reserved and committed
    sa.Column("reservations", sa.BigInteger, nullable=False),  # the largest number of an entry
    sa.Column("created", sa.Text, nullable=False),  # times are ISO 8601 in UTC
    sa.Column("checksum", sa.Text, nullable=False),
    sa.CheckConstraint("spent >= 0 AND spent <= budget", name="hockeystick_within_budget"),
)

entries = sa.Table(
    "hockeystick_entries",
    metadata,
    sa.Column("budget", sa.Text, sa.ForeignKey(budgets.c.name), primary_key=True),
    sa.Column("number", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("charge", sa.Double, nullable=False),
    sa.Column("request", sa.Text, nullable=False),  # JSON
    sa.Column("status", sa.Text, nullable=False),
    sa.Column("reserved_at", sa.Text, nullable=False),
    sa.Column("committed_at", sa.Text),
    sa.Column("host", sa.Text, nullable=False),
    sa.Column("pid", sa.BigInteger, nullable=False),
    sa.Column("checksum", sa.Text, nullable=False),
    # The upper end keeps out NaN and, in SQLite, text.
    sa.CheckConstraint(
        "charge >= 0 AND charge <= 1.7976931348623157e308", name="hockeystick_charge"
    ),
    sa.CheckConstraint(
        "status IN ('reserved', 'committed', 'cancelled')", name="hockeystick_status"
    ),
)

# One row: how the tables are written and, for a file, where it is (`Place` as JSON) and how many
# budgets it has.
ledger = sa.Table(
    "hockeystick_ledger",
    metadata,
    sa.Column("format", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("place", sa.Text),
    sa.Column("budgets", sa.BigInteger),
    sa.Column("checksum", sa.Text, nullable=False),
)

TABLES = (budgets.name, entries.name, ledger.name)

# Statements are built once: building one costs more than running it.
_this_budget = budgets.c.name == sa.bindparam("of")
_this_entry = (entries.c.budget == sa.bindparam("of")) & (entries.c.number == sa.bindparam("at"))

ADD_BUDGET = budgets.insert()
ADD_ENTRY = entries.insert()
NAMES = sa.select(budgets.c.name).order_by(budgets.c.name)
COUNT_BUDGETS = sa.select(sa.func.count()).select_from(budgets)
FIND_BUDGET = sa.select(budgets).where(_this_budget)
# SQLite has no row locks and needs none: its transactions hold the whole file.
LOCK_BUDGET = FIND_BUDGET.with_for_update()
UPDATE_BUDGET = (
    budgets.update()
    .where(_this_budget)
    .values(
        spent=sa.bindparam("to"),
        reservations=sa.bindparam("last"),
        checksum=sa.bindparam("sum"),
    )
)
ENTRIES = (
    sa.select(entries).where(entries.c.budget == sa.bindparam("of")).order_by(entries.c.number)
)
LOCK_ENTRY = sa.select(entries).where(_this_entry).with_for_update()
MARK = (
    entries.update()
    .where(_this_entry)
    .values(
        status=sa.bindparam("to"),
        committed_at=sa.bindparam("when"),
        checksum=sa.bindparam("sum"),
    )
)
# Of all entries of a budget; what was cancelled is given back.
TOTALS = sa.select(
    sa.func.count().label("count"),
    sa.func.coalesce(sa.func.max(entries.c.number), 0).label("last"),
    sa.func.coalesce(
        sa.func.sum(sa.case((entries.c.status == "cancelled", 0.0), else_=entries.c.charge)), 0.0
    ).label("total"),
).where(entries.c.budget == sa.bindparam("of"))
ORPHANS = sa.select(sa.func.count()).where(entries.c.budget.not_in(sa.select(budgets.c.name)))
# A number that only this library locks, so that two processes do not create tables at once.
CREATION_LOCK = sa.select(sa.func.pg_advisory_xact_lock(0x686F636B6579))

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
