"""The durable store: one budget in an SQLite file or a PostgreSQL database."""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa

from hockeystick.errors import InvalidParameter, LedgerError
from hockeystick.ledger import statements
from hockeystick.ledger.amounts import admit
from hockeystick.ledger.connections import Connections
from hockeystick.ledger.requests import as_text, from_text
from hockeystick.ledger.schema import metadata
from hockeystick.ledger.store import Decision, Entry, checked_number, must_change

__all__ = ["DatabaseStore"]

# The largest integer that both databases hold.
LARGEST_NUMBER = 2**63 - 1


class DatabaseStore:
    """Spending of one budget that survives crashes and is shared by processes and machines.

    Every call is one transaction that ends on the disk. `reserve` holds the budget's row while it
    decides, so reservations happen one after the other. Cost: O(1) per call, except for `history`.
    """

    def __init__(
        self,
        connections: Connections,
        *,
        name: str,
        budget: float,
        description: Mapping[str, object],
    ) -> None:
        self._connections = connections
        self.name = name
        self.budget = budget
        self._enter(as_text(description, name="description"))

    def reserve(self, decide: Decision) -> Entry:
        """A new entry, counted from now on."""
        with self._connections.writing() as connection:
            row = self._lock(connection)
            asked, wanted = decide(row.spent)
            charge = admit(asked, spent=row.spent, budget=row.budget)
            number, request = row.reservations + 1, as_text(wanted)
            entry = {
                "budget": self.name,
                "number": number,
                "charge": charge,
                "request": request,
                "status": "reserved",
                "reserved_at": _now(),
                "host": socket.gethostname(),
                "pid": os.getpid(),
            }
            connection.execute(statements.ADD_ENTRY, entry)
            self._update(connection, spent=row.spent + charge, last=number)
        return Entry(number, charge, from_text(request), "reserved")

    def commit(self, number: int) -> None:
        """Mark the entry as run."""
        with self._connections.writing() as connection:
            self._mark(connection, number, status="committed", when=_now())

    def cancel(self, number: int) -> None:
        """Give the charge back."""
        with self._connections.writing() as connection:
            # The budget before the entry, as in `reserve`: no two transactions wait for each other.
            row = self._lock(connection)
            charge = self._mark(connection, number, status="cancelled", when=None)
            self._update(connection, spent=row.spent - charge, last=row.reservations)

    def spent(self) -> float:
        """Everything reserved and committed."""
        with self._connections.reading() as connection:
            spent = connection.execute(statements.SPENT, {"of": self.name}).scalar_one_or_none()
        return float(self._still_there(spent))

    def history(self) -> Sequence[Entry]:
        """All entries in order of reservation."""
        with self._connections.reading() as connection:
            rows = connection.execute(statements.ENTRIES, {"of": self.name}).all()
        return tuple(Entry(r.number, r.charge, from_text(r.request), r.status) for r in rows)

    def close(self) -> None:
        """Let go of the file or the server; the next call opens it again."""
        self._connections.close()

    def _enter(self, description: str) -> None:
        """Find the budget or create it; another budget under the same name is refused."""
        with self._connections.writing() as connection:
            if not self._connections.is_file:
                connection.execute(statements.CREATION_LOCK)
            metadata.create_all(connection)
            row = connection.execute(statements.FIND_BUDGET, {"of": self.name}).one_or_none()
            if row is None:
                new = {"name": self.name, "description": description, "budget": self.budget}
                started = {"spent": 0.0, "reservations": 0, "created": _now()}
                connection.execute(statements.ADD_BUDGET, {**new, **started})
                return
        before = f"as when {self.name!r} was opened first"
        if row.description != description:
            raise InvalidParameter("description", f"{row.description} {before}", description)
        if row.budget != self.budget:
            raise InvalidParameter("budget", f"{row.budget!r} {before}", self.budget)

    def _lock(self, connection: sa.Connection) -> Any:
        """The budget's row; nobody else changes it before the transaction ends."""
        found = connection.execute(statements.LOCK_BUDGET, {"of": self.name}).one_or_none()
        return self._still_there(found)

    def _still_there(self, found: Any) -> Any:
        if found is None:
            where = self._connections.text
            raise LedgerError(f"The ledger {where} no longer has a budget {self.name!r}.")
        return found

    def _update(self, connection: sa.Connection, *, spent: float, last: int) -> None:
        values = {"of": self.name, "to": spent, "last": last}
        connection.execute(statements.UPDATE_BUDGET, values)

    def _mark(
        self, connection: sa.Connection, number: int, *, status: str, when: str | None
    ) -> float:
        """The charge of the entry if it was reserved, 0 if it has the wanted status already."""
        entry = {"of": self.name, "at": checked_number(number, last=LARGEST_NUMBER)}
        changed = connection.execute(statements.MARK, {**entry, "to": status, "when": when})
        charge = changed.scalar_one_or_none()
        if charge is not None:
            return float(charge)
        before = connection.execute(statements.STATUS, entry).scalar_one_or_none()
        if before is None:
            raise InvalidParameter("number", "the number of an entry", number)
        must_change(number, status=before, wanted=status)
        return 0.0


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="microseconds")
