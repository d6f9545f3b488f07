"""Ledgers with rows of every kind, and copies of them in which changes are tried."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import sqlalchemy as sa

import hockeystick as hs
from hockeystick.ledger import Ledger, open_store
from hockeystick.ledger.chain import broken_links
from hockeystick.ledger.locations import Location
from hockeystick.ledger.schema import TABLES
from hockeystick.ledger.tables import damage_of


def fill(where: Ledger | Path, *, entries: int) -> None:
    """Two budgets with entries of every status, and budgets of single examples."""
    stores = [
        open_store(where, name=name, budget=1e6, description={"unit": "one"})
        for name in ("first", "second")
    ]
    for turn in range(entries):
        store = stores[turn % 2]
        number = store.reserve(lambda spent: (1.0, {"turn": turn})).number  # noqa: B023
        if turn % 8 < 6:
            store.commit(number)
        elif turn % 8 == 6:
            store.cancel(number)
    people = hs.filters.Individual.gaussian(examples=3, mu=1.0, ledger=where, name="people")
    for _ in range(3):
        people.step([0.1, 0.2, 0.3], noise_multiplier=2.0)
    for store in stores:
        store.close()


def rows_in(file: sqlite3.Connection, table: str) -> list[int]:
    """The rows of a table."""
    return [row for (row,) in file.execute(f"SELECT rowid FROM {table} ORDER BY rowid")]


def columns_of(file: sqlite3.Connection, table: str) -> list[str]:
    """All columns of a table."""
    return [line[1] for line in file.execute(f"PRAGMA table_info({table})")]


class Copy:
    """A ledger in memory, in which one change at a time is tried.

    Its tables have no keys and no constraints: whoever attacks a file takes them away.
    """

    def __init__(self, path: Path, where: Location) -> None:
        self.file = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
        with closing(sqlite3.connect(path)) as original:
            original.backup(self.file)
        for table in TABLES:
            self.file.execute(f"CREATE TABLE loose AS SELECT * FROM {table} ORDER BY rowid")
            self.file.execute(f"DROP TABLE {table}")
            self.file.execute(f"ALTER TABLE loose RENAME TO {table}")
        # Held open: giving it back would end the change that is tried.
        engine = sa.create_engine("sqlite://", creator=lambda: self.file, poolclass=sa.StaticPool)
        self.connection = engine.connect()
        self.where = where

    @contextmanager
    def changed(self) -> Iterator[sqlite3.Connection]:
        """What is done to the file is undone at the end."""
        self.file.execute("SAVEPOINT before")
        yield self.file
        self.file.execute("ROLLBACK TO before")
        self.file.execute("RELEASE before")

    def noticed(self) -> bool:
        """Whether the chain and the rows disagree."""
        return next(broken_links(self.connection, self.where), None) is not None

    def whole_check(self) -> list[str]:
        """Everything that opening and auditing look at, but for the pages."""
        return list(damage_of(self.connection, self.where))


def another(value: object) -> object:
    """A value of the same type that is another one."""
    if value is None:
        return "2026-01-01T00:00:00.000000+00:00"
    if isinstance(value, bytes):
        return bytes([value[0] ^ 1]) + value[1:]
    if isinstance(value, str):
        return f"{value[:-1]}{'x' if value[-1:] != 'x' else 'y'}"
    return value + 1
