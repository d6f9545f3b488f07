"""The tables of a ledger.

Checks of the database repeat what the code promises: no program that writes to these tables can
spend more than the budget or use a number twice. Every row has a checksum of its own.
"""

from __future__ import annotations

import sqlalchemy as sa

__all__ = ["FORMAT", "TABLES", "budgets", "entries", "ledger", "metadata"]

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
