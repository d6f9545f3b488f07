"""The durable store: one budget in an SQLite file or a PostgreSQL database."""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import sqlalchemy as sa

from hockeystick._process import OwnProcess, Uncopied
from hockeystick.errors import HockeystickError, InvalidParameter, LedgerError
from hockeystick.ledger import schema
from hockeystick.ledger.chain import CANCELLED, COMMITTED, OPENED, RESERVED, Event, append
from hockeystick.ledger.connections import Connections
from hockeystick.ledger.names import refuse_difference, refuse_missing, refuse_typo, refuse_unnamed
from hockeystick.ledger.schema import budgets, entries
from hockeystick.ledger.seals import checked, digest_of, text_digest, with_checksum
from hockeystick.ledger.store import (
    BUDGET_DIGITS,
    Decision,
    Entry,
    NumberedDecision,
    admit,
    as_text,
    checked_number,
    from_text,
    must_change,
    now,
)
from hockeystick.ledger.tables import check_server, prepare

__all__ = ["DatabaseStore"]

# The largest integer that both databases hold.
LARGEST_NUMBER = 2**63 - 1
_NOT_MINE = (
    "an entry that this store reserved in this process (this one belongs to process {} on {}, "
    "which may be running it; `commit` settles it as spent)"
)


class DatabaseStore(Uncopied):
    """Spending of one budget that survives crashes and is shared by processes and machines.

    Every call is one transaction that ends on the disk. `reserve` holds the budget's row while it
    decides, so reservations happen one after the other. Every row that is used is compared with its
    checksum, every change is added to the chain, and a ledger that goes back behind what this store
    has seen is refused. Cost: O(1) per call, except for `history` and for opening, which checks
    everything.
    """

    what: ClassVar[str] = "The store of a ledger"
    because: ClassVar[str] = "the copy could cancel reservations that are not its own"
    instead: ClassVar[str] = "open the ledger again"
    refused_as: ClassVar[type[HockeystickError]] = LedgerError

    def __init__(
        self,
        connections: Connections,
        *,
        name: str,
        budget: float,
        description: Mapping[str, object],
        must_exist: bool | None = None,
    ) -> None:
        self._connections = connections
        self.name = name
        self.budget = budget
        self._seen = 0  # the largest number of a reservation
        self._records = 0  # of the chain
        self._mine: set[int] = set()  # open reservations of this store, in this process
        self._owner = OwnProcess()
        self._enter(as_text(description, name="description"), must_exist)

    def reserve(self, decide: Decision) -> Entry:
        """A new entry, counted from now on."""
        return self.reserve_numbered(lambda spent, _: decide(spent))

    def reserve_numbered(self, decide: NumberedDecision) -> Entry:
        """A new entry, for a decision that also depends on how many there are."""
        with self._connections.writing() as connection:
            row = self._lock(connection)
            wanted_charge, wanted = decide(row.spent, row.reservations)
            charge = admit(wanted_charge, spent=row.spent, budget=row.budget)
            number, request = row.reservations + 1, as_text(wanted)
            entry = {
                "budget": self.name,
                "number": number,
                "charge": charge,
                "request": request,
                "status": RESERVED,
                "reserved_at": now(),
                "committed_at": None,
                "host": socket.gethostname(),
                "pid": os.getpid(),
            }
            sealed = with_checksum(entries, entry, self._key)
            connection.execute(schema.ADD_ENTRY, sealed)
            self._update(connection, row, spent=row.spent + charge, last=number)
            self._append(connection, RESERVED, sealed)
        self._seen = max(self._seen, number)
        self._own().add(number)
        return Entry(number, charge, from_text(request), RESERVED)

    def commit(self, number: int) -> None:
        """Mark the entry as run; any process may."""
        with self._connections.writing() as connection:
            row = self._entry(connection, number)
            if must_change(number, status=row.status, wanted=COMMITTED):
                changed = self._mark(connection, row, status=COMMITTED, when=now())
                self._append(connection, COMMITTED, changed)
        self._own().discard(number)

    def cancel(self, number: int) -> None:
        """Give the charge back; only the store that reserved it may, in the same process.

        Nobody else can know that the step is not running just now.
        """
        with self._connections.writing() as connection:
            # The budget before the entry, as in `reserve`: no two transactions wait for each other.
            budget = self._lock(connection)
            row = self._entry(connection, number)
            if must_change(number, status=row.status, wanted=CANCELLED):
                if row.number not in self._own():
                    raise InvalidParameter("number", _NOT_MINE.format(row.pid, row.host), number)
                changed = self._mark(connection, row, status=CANCELLED, when=None)
                spent = budget.spent - row.charge
                self._update(connection, budget, spent=spent, last=budget.reservations)
                self._append(connection, CANCELLED, changed)
        self._own().discard(number)

    def spent(self) -> float:
        """Everything reserved and committed."""
        seen = self._seen  # before the moment that is read
        with self._connections.reading() as connection:
            found = connection.execute(schema.FIND_BUDGET, {"of": self.name}).one_or_none()
            spent = float(self._checked(found, seen=seen).spent)
        return spent

    def identity(self) -> str:
        """A digest of the chain's record of the opening, which binds moment and place to the name.

        Another key gives another one, and so does a conversion.
        """
        with self._connections.reading() as connection:
            link = connection.execute(schema.FIND_OPENING, {"of": self.name}).scalar_one()
        return text_digest(f"{self.name} {link}")[:BUDGET_DIGITS]

    def history(self) -> Sequence[Entry]:
        """All entries in order of reservation."""
        with self._connections.reading() as connection:
            found = connection.execute(schema.ENTRIES, {"of": self.name}).all()
            rows = [self._whole(entries, row) for row in found]
        return tuple(Entry(r.number, r.charge, from_text(r.request), r.status) for r in rows)

    def close(self) -> None:
        """Let go of the file or the server; the next call opens it again."""
        self._connections.close()

    def _enter(self, description: str, must_exist: bool | None) -> None:
        """Find the budget or create it; another budget under the same name is refused."""
        if not self._connections.where.is_file:
            with self._connections.reading() as connection:
                check_server(connection, self._connections.where)
        with self._connections.writing() as connection:
            prepare(connection, self._connections.where)
            row = connection.execute(schema.LOCK_BUDGET, {"of": self.name}).one_or_none()
            if row is None:
                self._check_new(connection, must_exist)
                new = {"name": self.name, "description": description, "budget": self.budget}
                started = {"spent": 0.0, "reservations": 0, "created": now()}
                row_of = with_checksum(budgets, {**new, **started}, self._key)
                connection.execute(schema.ADD_BUDGET, row_of)
                event = Event(OPENED, digest_of(budgets, row_of), self.name)
                self._records = append(connection, self._connections.where, event)
                return
            self._checked(row, seen=0)
        if row.description != description:
            refuse_difference(self.name, from_text(row.description), given=from_text(description))
        if row.budget != self.budget:
            refuse_difference(self.name, {"budget": row.budget}, given={"budget": self.budget})

    def _check_new(self, connection: sa.Connection, must_exist: bool | None) -> None:
        """Refuse a name that has to exist, and one that may be meant for another budget."""
        if must_exist is False:
            return
        there = connection.execute(schema.NAMES).scalars().all()
        if must_exist:
            refuse_missing(self.name, there, where=self._where)
        refuse_typo(self.name, there)
        refuse_unnamed(self.name, there)

    def _lock(self, connection: sa.Connection) -> Any:
        """The budget's row; nobody else changes it before the transaction ends."""
        found = connection.execute(schema.LOCK_BUDGET, {"of": self.name}).one_or_none()
        return self._checked(found, seen=self._seen)

    def _checked(self, found: Any, *, seen: int) -> Any:
        """The budget's row, if it is there, whole, and not older than one that was seen before."""
        if found is None:
            raise LedgerError(f"The ledger {self._where} no longer has a budget {self.name!r}.")
        self._whole(budgets, found)
        if found.name != self.name or found.reservations < seen:
            raise LedgerError(
                f"The ledger {self._where} has forgotten reservations of {self.name!r} that were "
                "made before, and nothing is spent from it; was an older copy restored?"
            )
        self._seen = max(self._seen, found.reservations)
        return found

    def _entry(self, connection: sa.Connection, number: int) -> Any:
        """The entry's row; nobody else changes it before the transaction ends."""
        which = {"of": self.name, "at": checked_number(number, last=LARGEST_NUMBER)}
        row = connection.execute(schema.LOCK_ENTRY, which).one_or_none()
        if row is None:
            raise InvalidParameter("number", "the number of an entry", number)
        self._whole(entries, row)
        if (row.budget, row.number) != (which["of"], which["at"]):
            raise LedgerError(f"The ledger {self._where} is damaged: it finds another entry.")
        return row

    def _update(self, connection: sa.Connection, row: Any, *, spent: float, last: int) -> None:
        changed = {**row._mapping, "spent": spent, "reservations": last}
        new = with_checksum(budgets, changed, self._key)
        values = {"of": self.name, "to": spent, "last": last, "sum": new["checksum"]}
        connection.execute(schema.UPDATE_BUDGET, values)

    def _mark(
        self, connection: sa.Connection, row: Any, *, status: str, when: str | None
    ) -> dict[str, Any]:
        changed = {**row._mapping, "status": status, "committed_at": when}
        new = with_checksum(entries, changed, self._key)
        values = {"of": self.name, "at": row.number, "to": status, "when": when}
        connection.execute(schema.MARK, {**values, "sum": new["checksum"]})
        return new

    def _append(self, connection: sa.Connection, event: str, entry: Mapping[str, Any]) -> None:
        """Record what happened to the entry; without a key its checksum is its digest."""
        digest = entry["checksum"] if self._key is None else digest_of(entries, entry)
        record = Event(event, digest, self.name, entry["number"])
        self._records = append(connection, self._connections.where, record, seen=self._records)

    def _whole(self, table: sa.Table, row: Any) -> Any:
        return checked(table, row, where=self._where, key=self._key)

    @property
    def _key(self) -> bytes | None:
        return self._connections.where.key

    def _own(self) -> set[int]:
        """The open reservations of this store; a child process has none of its parent's."""
        if not self._owner.is_here:
            self._owner, self._mine = OwnProcess(), set()
        return self._mine

    @property
    def _where(self) -> str:
        return self._connections.where.text
