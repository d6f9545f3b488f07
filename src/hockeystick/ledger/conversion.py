"""Ledgers of earlier versions, brought to this one; and ledgers that get another key."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import sqlalchemy as sa

from hockeystick.ledger import schema
from hockeystick.ledger.chain import CONVERTED, OPENED, RESERVED, Event, begin
from hockeystick.ledger.locations import Location, Place
from hockeystick.ledger.schema import budgets, chain, entries, individual, ledger, metadata
from hockeystick.ledger.seals import digest_of, text_digest, with_checksum
from hockeystick.ledger.tables import mark, refuse_damage

__all__ = ["convert", "seal_again"]


def convert(connection: sa.Connection, where: Location, *, version: int) -> None:
    """Give the tables of an earlier version what they do not have, in one transaction.

    Everything is checked as that version did. What is there then is the beginning of the chain,
    budget by budget: in which order budgets were used is not known any more.
    """
    _lock(connection, where, (budgets, entries))
    refuse_damage(connection, where, version=version)
    place = _place(connection, where, version)
    if version == 1:
        for table in (budgets, entries):
            sql = f"ALTER TABLE {table.name} ADD COLUMN checksum TEXT NOT NULL DEFAULT ''"
            connection.exec_driver_sql(sql)
    else:
        connection.exec_driver_sql(f"DROP TABLE {ledger.name}")
    metadata.create_all(connection)
    _seal_rows(connection, where.key)
    begin(connection, where, [Event(CONVERTED, text_digest(place)), *_past(connection)], place)
    if where.is_file:
        mark(connection)


def seal_again(connection: sa.Connection, where: Location, *, key: bytes) -> None:
    """Checksums and links with another key; nothing else changes, and damage is refused."""
    _lock(connection, where, (budgets, entries, individual, ledger, chain))
    refuse_damage(connection, where)
    events = [
        Event(row.event, row.digest, row.budget, row.number)
        for row in connection.execute(schema.CHAIN).all()
    ]
    place = connection.execute(sa.select(ledger.c.place)).scalar()
    _seal_rows(connection, key)
    begin(connection, where._replace(key=key), events, place)


def _lock(connection: sa.Connection, where: Location, tables: tuple[sa.Table, ...]) -> None:
    """Wait until nobody uses the tables of a server, in the order in which stores do."""
    if not where.is_file:
        for table in tables:
            connection.exec_driver_sql(f"LOCK TABLE {table.name} IN ACCESS EXCLUSIVE MODE")


def _place(connection: sa.Connection, where: Location, version: int) -> str | None:
    if not where.is_file:
        return None
    if version == 1:
        return Place.of(where.path).as_text()
    found: str | None = connection.execute(sa.select(ledger.c.place)).scalar()
    return found


def _seal_rows(connection: sa.Connection, key: bytes | None) -> None:
    for table in (budgets, entries, individual):
        names = [column.name for column in table.primary_key]
        change = table.update().where(
            *(table.c[name] == sa.bindparam(f"of_{name}") for name in names)
        )
        values = [
            {"checksum": with_checksum(table, dict(row._mapping), key)["checksum"]}
            | {f"of_{name}": row._mapping[name] for name in names}
            for row in connection.execute(sa.select(table)).all()
        ]
        if values:
            connection.execute(change, values)


def _past(connection: sa.Connection) -> Iterator[Event]:
    """What must have happened, for the rows to be as they are."""
    found: dict[str, list[Any]] = {}
    for row in connection.execute(sa.select(entries).order_by(entries.c.number)):
        found.setdefault(row.budget, []).append(row)
    for budget in connection.execute(sa.select(budgets).order_by(budgets.c.name)).all():
        new = {**budget._mapping, "spent": 0.0, "reservations": 0}
        yield Event(OPENED, digest_of(budgets, new), budget.name)
        for row in found.get(budget.name, []):
            values = row._mapping
            new = {**values, "status": RESERVED, "committed_at": None}
            yield Event(RESERVED, digest_of(entries, new), row.budget, row.number)
            if row.status != RESERVED:
                yield Event(row.status, digest_of(entries, values), row.budget, row.number)
