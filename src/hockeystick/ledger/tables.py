"""The tables of a ledger: made, brought to this version, and checked before they are used."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from hockeystick._text import printable
from hockeystick.errors import InvalidParameter, LedgerError
from hockeystick.ledger import schema
from hockeystick.ledger.chain import CREATED, Event, append, begin, broken_links, check_key
from hockeystick.ledger.connections import sqlite_engine
from hockeystick.ledger.files import APPLICATION
from hockeystick.ledger.heads import Head
from hockeystick.ledger.locations import Location, Place, moved
from hockeystick.ledger.schema import FORMAT, TABLES, budgets, entries, ledger, metadata
from hockeystick.ledger.seals import intact_before, text_digest, with_checksum

__all__ = [
    "check_server",
    "damage_of",
    "fill",
    "format_of",
    "mark",
    "prepare",
    "record_place",
    "recorded_place",
    "refuse_damage",
    "rows_of",
    "wrong_sums",
]

# Pages of an SQLite file are checked before anything is believed; three problems say enough.
FILE_CHECK = "PRAGMA integrity_check(3)"
FOREIGN_OBJECTS = "SELECT name FROM sqlite_master WHERE type IN ('trigger', 'view') LIMIT 3"


def fill(path: Path, *, where: Location) -> None:
    """Make the tables in a new, empty file that will be called as the ledger is."""
    engine = sqlite_engine(path)
    try:
        with engine.begin() as connection:
            _make(connection, where, Place.of(path, name=where.path.name).as_text())
            mark(connection)
    finally:
        engine.dispose()


def _make(connection: sa.Connection, where: Location, place: str | None) -> None:
    metadata.create_all(connection)
    begin(connection, where, [Event(CREATED, text_digest(place))], place)


def prepare(connection: sa.Connection, where: Location) -> None:
    """Make sure, in a transaction, that the tables are there and of this version; a file is whole.

    `LedgerError` if the ledger is damaged or may be a copy, or has another key. Cost: linear in the
    entries. The tables of a server are checked by `check_server`, while others write.
    """
    from hockeystick.ledger.conversion import convert

    if not where.is_file:
        connection.execute(schema.CREATION_LOCK)
    version = format_of(connection, where)
    if version == 0:
        _make(connection, where, None)
        return
    check_key(connection, where, version=version)
    if version != FORMAT:
        convert(connection, where, version=version)
    if where.is_file:
        recorded = recorded_place(connection)
        if recorded is None or not recorded.is_at(Place.of(where.path)):
            raise LedgerError(_nowhere(where) if recorded is None else moved(where.path, recorded))
        refuse_damage(connection, where)


def check_server(connection: sa.Connection, where: Location) -> None:
    """The tables of a server, if they are there, in a transaction that reads one moment."""
    if format_of(connection, where) == FORMAT:
        check_key(connection, where, version=FORMAT)
        refuse_damage(connection, where)


def refuse_damage(connection: sa.Connection, where: Location, *, version: int = FORMAT) -> None:
    """One sentence for the first thing that is wrong."""
    for line in damage_of(connection, where, version=version):
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
    if there == [budgets.name, entries.name, ledger.name]:
        return _format_2(connection, where)
    if len(there) != len(TABLES):
        raise LedgerError(f"The ledger {where.text} is damaged: it has lost tables.")
    versions = connection.execute(sa.select(ledger.c.format)).scalars().all()
    if versions != [FORMAT]:
        raise LedgerError(
            f"The ledger {where.text} is damaged or of a newer version: its format is {versions} "
            f"and not [{FORMAT}]."
        )
    return FORMAT


def _format_2(connection: sa.Connection, where: Location) -> int:
    """The second format had no chain; a ledger of this one that has lost it is none."""
    columns = {column["name"] for column in sa.inspect(connection).get_columns(ledger.name)}
    versions = connection.execute(sa.select(ledger.c.format)).scalars().all()
    if "placed" in columns or versions != [2]:
        raise LedgerError(f"The ledger {where.text} is damaged: it has lost its chain.")
    return 2


def _is_marked(connection: sa.Connection) -> bool:
    """Whether this version of the library has written the file: it had all tables then."""
    return connection.exec_driver_sql("PRAGMA application_id").scalar() == APPLICATION


def mark(connection: sa.Connection) -> None:
    """Write into the header of a file what tells it from other SQLite files."""
    connection.exec_driver_sql(f"PRAGMA application_id = {APPLICATION}")


def record_place(connection: sa.Connection, where: Location, event: str) -> None:
    """Write down where the file is now, and that this happened."""
    place = Place.of(where.path).as_text()
    placed = append(connection, where, Event(event, text_digest(place)))
    row = connection.execute(sa.select(ledger)).one()
    new = with_checksum(ledger, {**row._mapping, "place": place, "placed": placed}, where.key)
    connection.execute(ledger.update().values(place=place, placed=placed, checksum=new["checksum"]))


def recorded_place(connection: sa.Connection) -> Place | None:
    """Where the file was last used; nothing if that cannot be read."""
    return Place.from_text(connection.execute(sa.select(ledger.c.place)).scalar())


def damage_of(
    connection: sa.Connection,
    where: Location,
    *,
    version: int = FORMAT,
    noted: Head | None = None,
) -> Iterator[str]:
    """What is wrong with a ledger, piece by piece, in parts of sentences.

    `noted` is a head of the chain that was kept elsewhere.
    """
    if where.is_file:
        yield from _damaged_pages(connection)
        yield from _foreign_objects(connection)
    if version == FORMAT:
        yield from broken_links(connection, where, noted=noted)
    elif where.is_file and version > 1:
        yield from _lost_budgets(connection)
    for row in connection.execute(rows_of(budgets, version)).all():
        if version == 2 and not intact_before(budgets, row):
            yield f"the budget {str(row.name)[:80]!r} does not match its checksum"
        yield from wrong_sums(connection, row)
    orphans = connection.execute(schema.ORPHANS).scalar()
    if orphans:
        yield f"{orphans} entries belong to no budget"
    for row in connection.execute(rows_of(entries, version)) if version == 2 else ():
        if not intact_before(entries, row):
            yield f"an entry of {str(row.budget)[:80]!r} does not match its checksum"


def _foreign_objects(connection: sa.Connection) -> Iterator[str]:
    """Triggers would change rows behind the back of whoever writes; views would show others."""
    found = connection.exec_driver_sql(FOREIGN_OBJECTS).scalars().all()
    for name in found:
        yield f"it has a trigger or view that is not the library's, {printable(name)[:80]!r}"


def _lost_budgets(connection: sa.Connection) -> Iterator[str]:
    """Of the second format, which counted its budgets."""
    row = connection.exec_driver_sql(f"SELECT format, budgets, checksum FROM {ledger.name}").one()
    if not intact_before(ledger, row):
        yield "the number of its budgets does not match its checksum"
    count = connection.execute(sa.select(sa.func.count()).select_from(budgets)).scalar()
    if count != row.budgets:
        yield f"it has {count} budgets and not {row.budgets!r:.20}"


def rows_of(table: sa.Table, version: int) -> sa.Select[Any]:
    """All rows, in order; those of the first version have no checksum."""
    columns = [one for one in table.c if version > 1 or one.name != "checksum"]
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


def _nowhere(where: Location) -> str:
    return f"The ledger {where.text} is damaged: where it was last used cannot be read."
