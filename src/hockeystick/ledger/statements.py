"""What is asked of the tables, built once: building a statement costs more than running it."""

from __future__ import annotations

import sqlalchemy as sa

from hockeystick.ledger.schema import budgets, entries

__all__ = [
    "ADD_BUDGET",
    "ADD_ENTRY",
    "COUNT_BUDGETS",
    "CREATION_LOCK",
    "ENTRIES",
    "FIND_BUDGET",
    "LOCK_BUDGET",
    "LOCK_ENTRY",
    "MARK",
    "ORPHANS",
    "TOTALS",
    "UPDATE_BUDGET",
]

_this_budget = budgets.c.name == sa.bindparam("of")
_this_entry = (entries.c.budget == sa.bindparam("of")) & (entries.c.number == sa.bindparam("at"))

ADD_BUDGET = budgets.insert()
ADD_ENTRY = entries.insert()
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
