"""The tables of a ledger: made, brought to this version, and checked before they are used."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from hockeystick._text import printable
from hockeystick.errors import InvalidParameter, LedgerError
from hockeystick.ledger import schema
from hockeystick.ledger.engines import sqlite_engine
from hockeystick.ledger.files import APPLICATION
from hockeystick.ledger.locations import Location
from hockeystick.ledger.place import Place, moved
from hockeystick.ledger.schema import (
    BUDGET_VALUES,
    ENTRY_VALUES,
    FORMAT,
    TABLES,
    budgets,
    entries,
    intact,
    ledger,
    metadata,
    with_checksum,
)

__all__ = [
    "damage_of",
    "fill",
    "format_of",
    "prepare",
    "record_place",
    "recorded_place",
    "refuse_damage",
    "rows_of",
    "upgrade",
    "wrong_sums",
]

# Pages of an SQLite file are checked before anything is believed; three problems say enough.
FILE_CHECK = "PRAGMA integrity_check(3)"


def fill(path: Path, *, name: str) -> None:
    """Make the tables in a new, empty file that will be called `name`."""
    engine = sqlite_engine(path)
    try:
        with engine.begin() as connection:
            metadata.create_all(connection)
            record_place(connection, Place.of(path, name=name))
    finally:
        engine.dispose()


def prepare(connection: sa.Connection, where: Location) -> None:
    """Make sure, in a transaction, that the tables are there and, in a file, whole.

    `LedgerError` if the file is damaged or may be a copy. Cost: linear in the entries.
    """
    if not where.is_file:
        connection.execute(schema.CREATION_LOCK)
    version = format_of(connection, where)
    if version == 0:
        metadata.create_all(connection)
        record_place(connection, None)
    if version == 1:
        upgrade(connection, where)
    if where.is_file:
        recorded = recorded_place(connection)
        if recorded is None or not recorded.is_at(Place.of(where.path)):
            raise LedgerError(_nowhere(where) if recorded is None else moved(where.path, recorded))
        refuse_damage(connection, where)


def refuse_damage(connection: sa.Connection, where: Location, *, every_entry: bool = False) -> None:
    """One sentence for the first thing that is wrong."""
    for line in damage_of(connection, where, every_entry=every_entry):
        raise LedgerError(
            f"The ledger {where.text} is damaged, and nothing is spent from it: {line}."
        )


def format_of(connection: sa.Connection, where: Location) -> int:
    """Which version wrote the tables; 0 for a server without them.

    A file that has none of the tables belongs to somebody else; one that lacks some is damaged.
    """
    found = sa.inspect(connection)
    there = [name for name in TABLES if found.has_table(name)]
    if not there and where.is_file:
        allowed = "a ledger written by this library, or a path without a file"
        raise InvalidParameter("ledger", allowed, where.text)
    if not there:
        return 0
    if there == [budgets.name, entries.name] and not (where.is_file and _is_marked(connection)):
        return 1
    if len(there) != len(TABLES):
        raise LedgerError(f"The ledger {where.text} is damaged: it has lost tables.")
    versions = connection.execute(sa.select(ledger.c.format)).scalars().all()
    if versions != [FORMAT]:
        raise LedgerError(
            f"The ledger {where.text} is damaged or of a newer version: its format is {versions} "
            f"and not [{FORMAT}]."
        )
    return FORMAT


def _is_marked(connection: sa.Connection) -> bool:
    """Whether this version of the library has written the file: it had all tables then."""
    return connection.exec_driver_sql("PRAGMA application_id").scalar() == APPLICATION


def record_place(connection: sa.Connection, place: Place | None) -> None:
    """Write down where the ledger is and how many budgets it has; a server has no place.

    On a server budgets are not counted: all of them would wait for one row.
    """
    connection.execute(ledger.delete())
    values: dict[str, object] = {"format": FORMAT, "place": None, "budgets": None}
    if place is not None:
        values["place"] = place.as_text()
        values["budgets"] = connection.execute(schema.COUNT_BUDGETS).scalar()
    connection.execute(ledger.insert(), with_checksum(ledger, values))
    if place is not None:
        connection.exec_driver_sql(f"PRAGMA application_id = {APPLICATION}")


def recorded_place(connection: sa.Connection) -> Place | None:
    """Where the file was last used; nothing if that cannot be read."""
    return Place.from_text(connection.execute(sa.select(ledger.c.place)).scalar())


def damage_of(
    connection: sa.Connection,
    where: Location,
    *,
    every_entry: bool = False,
    version: int = FORMAT,
) -> Iterator[str]:
    """What is wrong with a ledger, piece by piece, in parts of sentences.

    The checksums of entries are compared only if that is asked for; sums are always.
    """
    if where.is_file:
        yield from _damaged_pages(connection)
    with_checksums = version == FORMAT
    if where.is_file and with_checksums:
        yield from _lost_budgets(connection)
    for row in connection.execute(rows_of(budgets, version)).all():
        if with_checksums and not intact(budgets, row):
            yield f"the budget {str(row.name)[:80]!r} does not match its checksum"
        yield from wrong_sums(connection, row)
    orphans = connection.execute(schema.ORPHANS).scalar()
    if orphans:
        yield f"{orphans} entries belong to no budget"
    for row in connection.execute(rows_of(entries, version)) if every_entry else ():
        if with_checksums and not intact(entries, row):
            yield f"an entry of {str(row.budget)[:80]!r} does not match its checksum"


def _lost_budgets(connection: sa.Connection) -> Iterator[str]:
    row = connection.execute(sa.select(ledger)).one()
    if not intact(ledger, row):
        yield "the number of its budgets does not match its checksum"
    count = connection.execute(schema.COUNT_BUDGETS).scalar()
    if count != row.budgets:
        yield f"it has {count} budgets and not {row.budgets!r:.20}"


def rows_of(table: sa.Table, version: int) -> sa.Select[Any]:
    """All rows, in order; those of the first version have no checksum."""
    columns = [one for one in table.c if version == FORMAT or one.name != "checksum"]
    return sa.select(*columns).order_by(*table.primary_key)


def _damaged_pages(connection: sa.Connection) -> Iterator[str]:
    for (line,) in connection.exec_driver_sql(FILE_CHECK):
        if line != "ok":
            yield printable(" ".join(str(line).replace("*", "").split()).rstrip("."))


def wrong_sums(connection: sa.Connection, row: Any) -> Iterator[str]:
    """Whether the entries of a budget, nobody changing it, are those that its row counts.

    Charges are multiples of the budget's last place: the database adds them exactly.
    """
    found = connection.execute(schema.TOTALS, {"of": row.name}).one()
    if found.total != row.spent:
        yield f"the entries of {row.name!r} sum to {found.total!r} and not to {row.spent!r}"
    if (found.count, found.last) != (row.reservations, row.reservations):
        yield f"{row.name!r} has {found.count} entries and not {row.reservations}"


def upgrade(connection: sa.Connection, where: Location) -> None:
    """Add checksums and the place to tables that an earlier version wrote."""
    metadata.create_all(connection)
    for table in (budgets, entries):
        sql = f"ALTER TABLE {table.name} ADD COLUMN checksum TEXT NOT NULL DEFAULT ''"
        connection.exec_driver_sql(sql)
    for row in connection.execute(sa.select(budgets)).all():
        written = with_checksum(budgets, {name: row._mapping[name] for name in BUDGET_VALUES})
        connection.execute(
            budgets.update().where(budgets.c.name == row.name), {"checksum": written["checksum"]}
        )
    for row in connection.execute(sa.select(entries)).all():
        written = with_checksum(entries, {name: row._mapping[name] for name in ENTRY_VALUES})
        connection.execute(
            entries.update().where(
                (entries.c.budget == row.budget) & (entries.c.number == row.number)
            ),
            {"checksum": written["checksum"]},
        )
    record_place(connection, Place.of(where.path) if where.is_file else None)


def _nowhere(where: Location) -> str:
    return f"The ledger {where.text} is damaged: where it was last used cannot be read."
