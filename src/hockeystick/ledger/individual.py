"""Budgets of single examples in a ledger: what is left for each of them, as of the last step.

The same store as for other budgets: a step is one transaction that ends on the disk and adds a
record to the chain. What examples have spent depends on the data, so that a file which others can
read is refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import sqlalchemy as sa

from hockeystick._numerics.law import FloatArray
from hockeystick.errors import LedgerError
from hockeystick.ledger import opened, schema
from hockeystick.ledger.chain import CHARGED, INDIVIDUAL, Event, append, check_key
from hockeystick.ledger.connections import Connections, reading_only
from hockeystick.ledger.heads import Where
from hockeystick.ledger.locations import Location, existing
from hockeystick.ledger.names import (
    checked_text,
    refuse_difference,
    refuse_missing,
    refuse_typo,
    refuse_unnamed,
)
from hockeystick.ledger.schema import individual
from hockeystick.ledger.seals import checked, digest_of, with_checksum
from hockeystick.ledger.store import as_text, from_text, now
from hockeystick.ledger.tables import check_server, format_of, prepare

__all__ = ["IndividualStore", "charged_steps"]

# Of what is kept: 64-bit numbers, the same bytes on every machine.
KEPT = np.dtype("<f8")
NAMES = sa.select(individual.c.name).order_by(individual.c.name)


class IndividualStore:
    """What is left for each example under a name; one process at a time charges it."""

    def __init__(
        self,
        where: Where,
        *,
        name: str,
        description: Mapping[str, object],
        full: FloatArray,
        must_exist: bool | None,
    ) -> None:
        self.name = checked_text("name", name)
        self._connections: Connections = opened(where, name=name if must_exist else None)
        self._refuse_readers()
        self._records = 0
        self.remaining, self.steps = self._enter(
            as_text(description, name="description"), full, must_exist
        )

    def charge(self, remaining: FloatArray) -> None:
        """One step more; it is on the disk when this returns.

        `LedgerError` if somebody else has charged a step meanwhile: what is left here is too much.
        """
        self._refuse_readers()
        with self._connections.writing() as connection:
            row = self._found(connection)
            if row is None or row.steps != self.steps:
                raise LedgerError(
                    f"The ledger {self._where.text} has another number of steps of {self.name!r} "
                    "than this process: somebody else has charged them, and nothing is spent here."
                )
            content = remaining.astype(KEPT).tobytes()
            changed = {**row._mapping, "steps": self.steps + 1, "remaining": content}
            new = with_checksum(individual, changed, self._where.key)
            values = {"of": self.name, "to": new["steps"], "left": content, "sum": new["checksum"]}
            connection.execute(schema.UPDATE_INDIVIDUAL, values)
            event = Event(CHARGED, digest_of(individual, new), self.name, new["steps"])
            self._records = append(connection, self._where, event, seen=self._records)
        self.remaining, self.steps = remaining, self.steps + 1

    def _enter(
        self, description: str, full: FloatArray, must_exist: bool | None
    ) -> tuple[FloatArray, int]:
        """What is left, of budgets that are there or full ones."""
        if not self._where.is_file:
            with self._connections.reading() as connection:
                check_server(connection, self._where)
        with self._connections.writing() as connection:
            prepare(connection, self._where)
            row = self._found(connection)
            if row is None:
                self._check_new(connection, must_exist)
                new = {"name": self.name, "description": description, "steps": 0}
                new |= {"remaining": full.astype(KEPT).tobytes(), "created": now()}
                connection.execute(
                    schema.ADD_INDIVIDUAL, with_checksum(individual, new, self._where.key)
                )
                event = Event(INDIVIDUAL, digest_of(individual, new), self.name)
                self._records = append(connection, self._where, event)
                return full, 0
        if row.description != description:
            refuse_difference(self.name, from_text(row.description), given=from_text(description))
        try:
            remaining = np.frombuffer(row.remaining, dtype=KEPT).astype(np.float64)
        except (TypeError, ValueError):
            remaining = np.empty(0)
        if remaining.shape != full.shape or not np.all((remaining >= 0) & (remaining <= full)):
            raise LedgerError(
                f"The ledger {self._where.text} is damaged: {self.name!r} is no state."
            )
        return remaining, int(row.steps)

    def _check_new(self, connection: sa.Connection, must_exist: bool | None) -> None:
        if must_exist is False:
            return
        there = connection.execute(NAMES).scalars().all()
        if must_exist:
            refuse_missing(self.name, there, where=self._where.text)
        refuse_typo(self.name, there)
        refuse_unnamed(self.name, there)

    def _found(self, connection: sa.Connection) -> Any:
        row = connection.execute(schema.LOCK_INDIVIDUAL, {"of": self.name}).one_or_none()
        if row is None:
            return None
        if row.name != self.name:
            raise LedgerError(f"The ledger {self._where.text} is damaged: it finds another budget.")
        return checked(individual, row, where=self._where.text, key=self._where.key)

    def _refuse_readers(self) -> None:
        where = self._where
        if where.is_file and where.path.stat().st_mode & 0o077:
            raise LedgerError(
                f"The ledger {where.text} can be read by others, and what single examples have "
                f"spent is as secret as the data: run `chmod 600 {where.text}`."
            )

    @property
    def _where(self) -> Location:
        return self._connections.where


def charged_steps(where: Where) -> list[tuple[str, int]]:
    """The names of the budgets of examples in a ledger with their steps: what may be shown."""
    target = existing(where)
    with reading_only(target) as connection:
        if format_of(connection, target) != schema.FORMAT:
            return []
        check_key(connection, target, version=schema.FORMAT)
        found = connection.execute(
            sa.select(individual.c.name, individual.c.steps).order_by(individual.c.name)
        )
        return [(str(name), int(steps)) for name, steps in found]
