"""The tables of a ledger, and the statements that use them.

Checks of the database repeat what the code ensures: no program that writes to these tables can
spend more than the budget or use a number twice.
"""

from __future__ import annotations

import sqlalchemy as sa

__all__ = [
    "ADD_BUDGET",
    "ADD_ENTRY",
    "ADD_INDIVIDUAL",
    "ADD_RECORD",
    "BUDGET_VALUES",
    "CHAIN",
    "CREATION_LOCK",
    "ENTRIES",
    "ENTRY_VALUES",
    "FIND_BUDGET",
    "FIND_OPENING",
    "FORMAT",
    "LAST_RECORD",
    "LOCK_BUDGET",
    "LOCK_ENTRY",
    "LOCK_INDIVIDUAL",
    "LOCK_LEDGER",
    "MARK",
    "NAMES",
    "ORPHANS",
    "TABLES",
    "TOTALS",
    "UPDATE_BUDGET",
    "UPDATE_INDIVIDUAL",
    "VALUES",
    "budgets",
    "chain",
    "entries",
    "individual",
    "ledger",
    "metadata",
]

# Of the tables below; 1 had neither checksums nor a place, 2 had no chain.
FORMAT = 3
# What the checksum of the one row of `hockeystick_ledger` was about in the second format.
OF_FORMAT_2 = ("format", "budgets")

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

# Budgets of single examples: what is left for each, as 64-bit numbers.
individual = sa.Table(
    "hockeystick_individual",
    metadata,
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("description", sa.Text, nullable=False),  # JSON with sorted keys
    sa.Column("steps", sa.BigInteger, nullable=False),
    sa.Column("remaining", sa.LargeBinary, nullable=False),
    sa.Column("created", sa.Text, nullable=False),
    sa.Column("checksum", sa.Text, nullable=False),
)

# What happened to the rows of the other tables, in order. `digest` is that of the row afterwards,
# `link` that of the record together with the link before it.
chain = sa.Table(
    "hockeystick_chain",
    metadata,
    sa.Column("position", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("event", sa.Text, nullable=False),
    sa.Column("budget", sa.Text),
    sa.Column("number", sa.BigInteger),
    sa.Column("digest", sa.Text, nullable=False),
    sa.Column("link", sa.Text, nullable=False),
)

# One row: how the tables are written, for a file where it is (`Place` as JSON), which record of the
# chain says so, and the fingerprint of the key if there is one.
ledger = sa.Table(
    "hockeystick_ledger",
    metadata,
    sa.Column("format", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("place", sa.Text),
    sa.Column("placed", sa.BigInteger, nullable=False),
    sa.Column("key", sa.Text),
    sa.Column("checksum", sa.Text, nullable=False),
)

TABLES = (budgets.name, entries.name, ledger.name, chain.name, individual.name)

# Statements are built once: building one costs more than running it.
_this_budget = budgets.c.name == sa.bindparam("of")
_this_entry = (entries.c.budget == sa.bindparam("of")) & (entries.c.number == sa.bindparam("at"))

ADD_BUDGET = budgets.insert()
ADD_ENTRY = entries.insert()
NAMES = sa.select(budgets.c.name).order_by(budgets.c.name)
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

LOCK_LEDGER = sa.select(ledger).with_for_update()
ADD_RECORD = chain.insert()
LAST_RECORD = sa.select(chain.c.position, chain.c.link).where(
    chain.c.position == sa.select(sa.func.max(chain.c.position)).scalar_subquery()
)
FIND_OPENING = sa.select(chain.c.link).where(
    (chain.c.event == "opened") & (chain.c.budget == sa.bindparam("of"))
)
CHAIN = sa.select(chain).order_by(chain.c.position)
ADD_INDIVIDUAL = individual.insert()
LOCK_INDIVIDUAL = (
    sa.select(individual).where(individual.c.name == sa.bindparam("of")).with_for_update()
)
UPDATE_INDIVIDUAL = (
    individual.update()
    .where(individual.c.name == sa.bindparam("of"))
    .values(steps=sa.bindparam("to"), remaining=sa.bindparam("left"), checksum=sa.bindparam("sum"))
)

# The columns that a checksum is about.
VALUES = {
    table.name: tuple(column.name for column in table.c if column.name != "checksum")
    for table in (budgets, entries, individual, ledger)
}
BUDGET_VALUES, ENTRY_VALUES = VALUES[budgets.name], VALUES[entries.name]
