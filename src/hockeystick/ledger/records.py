"""Everything that a ledger knows, for reports: budgets and their entries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from hockeystick.errors import InvalidParameter, LedgerError
from hockeystick.ledger.requests import from_text

if TYPE_CHECKING:
    import sqlalchemy as sa

    from hockeystick.ledger.connections import Connections

__all__ = ["BudgetRecord", "EntryRecord", "read_ledger"]

ASYMPTOTIC = (
    "This filter is asymptotic: its budget is not a proven guarantee for a finite number of steps."
)


class EntryRecord(NamedTuple):
    """One reservation, with who made it and when."""

    number: int
    charge: float
    request: Mapping[str, object]
    status: str
    reserved_at: datetime
    committed_at: datetime | None
    host: str
    pid: int


class BudgetRecord(NamedTuple):
    """One budget with its entries, all of the same moment."""

    name: str
    description: Mapping[str, object]
    budget: float
    spent: float
    reservations: int
    created: datetime
    entries: Sequence[EntryRecord]
    damage: Sequence[str]  # what the database says about its own file

    @property
    def kind(self) -> str:
        """The kind of the filter's guarantee, or nothing if its description has none."""
        return str(self.description.get("kind", ""))

    @property
    def warnings(self) -> list[str]:
        """What a reader has to know before trusting the numbers."""
        return [ASYMPTOTIC] if self.kind == "asymptotic" else []

    def count(self, status: str) -> int:
        """How many entries have this status."""
        return sum(entry.status == status for entry in self.entries)


def read_ledger(where: str | Path, *, name: str | None = None) -> list[BudgetRecord]:
    """All budgets of a ledger, or the named one; nothing is created or changed.

    Cost: linear in the number of entries.
    """
    from hockeystick.ledger.connections import Connections

    connections = Connections(where)
    if connections.is_file and not Path(connections.text).is_file():
        raise InvalidParameter("ledger", "a file that exists", str(where))
    try:
        with connections.reading() as connection:
            records = _records(connections, connection)
    finally:
        connections.close()
    if name is None:
        return records
    chosen = [record for record in records if record.name == name]
    if not chosen:
        names = ", ".join(repr(record.name) for record in records) or "none"
        raise InvalidParameter("name", f"a budget of this ledger (it has {names})", name)
    return chosen


def _records(connections: Connections, connection: sa.Connection) -> list[BudgetRecord]:
    import sqlalchemy as sa

    from hockeystick.ledger.schema import budgets

    if not sa.inspect(connection).has_table(budgets.name):
        raise InvalidParameter("ledger", "a ledger written by this library", connections.text)
    damage = _damage(connection) if connections.is_file else []
    rows = connection.execute(sa.select(budgets).order_by(budgets.c.name)).all()
    return [_record(row, connection, damage) for row in rows]


def _record(row: Any, connection: sa.Connection, damage: Sequence[str]) -> BudgetRecord:
    from hockeystick.ledger.statements import ENTRIES

    found = connection.execute(ENTRIES, {"of": row.name}).all()
    try:
        return BudgetRecord(
            name=row.name,
            description=from_text(row.description),
            budget=float(row.budget),
            spent=float(row.spent),
            reservations=int(row.reservations),
            created=datetime.fromisoformat(row.created),
            entries=[_entry(one) for one in found],
            damage=damage,
        )
    except (TypeError, ValueError) as error:
        raise LedgerError(f"The budget {row.name!r} of the ledger is damaged: {error}.") from error


def _entry(row: Any) -> EntryRecord:
    committed = row.committed_at
    return EntryRecord(
        number=int(row.number),
        charge=float(row.charge),
        request=from_text(row.request),
        status=row.status,
        reserved_at=datetime.fromisoformat(row.reserved_at),
        committed_at=None if committed is None else datetime.fromisoformat(committed),
        host=row.host,
        pid=int(row.pid),
    )


def _damage(connection: sa.Connection) -> list[str]:
    found = [str(line) for (line,) in connection.exec_driver_sql("PRAGMA integrity_check")]
    return [] if found == ["ok"] else found
