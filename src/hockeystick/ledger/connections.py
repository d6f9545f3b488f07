"""Transactions on a ledger, across forks, with every failure as one sentence."""

from __future__ import annotations

import os
import sqlite3
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import sqlalchemy as sa

from hockeystick.errors import LedgerError
from hockeystick.ledger.engines import READ_ONLY, location, make_engine

__all__ = ["Connections"]

# Connections of a parent process: neither used nor closed after a fork.
_INHERITED: list[sa.Engine] = []
# What SQLAlchemy says when the file or the server did not do its part.
_FAILURES = (sa.exc.DBAPIError, sa.exc.TimeoutError, sqlite3.Error)


class Connections:
    """Connections to one ledger; a child process gets its own."""

    def __init__(self, where: str | Path) -> None:
        self.url = location(where)
        self._open()

    @property
    def text(self) -> str:
        """Where the ledger is, without a password."""
        if self.is_file:
            return str(self.url.database)
        return self.url.render_as_string(hide_password=True)

    @property
    def is_file(self) -> bool:
        """Whether it is an SQLite file."""
        return self.url.get_backend_name() == "sqlite"

    @contextmanager
    def writing(self) -> Iterator[sa.Connection]:
        """A transaction that is durable when the block ends, and never happened if it raises."""
        with self._clear_errors(), self._current().begin() as connection:
            yield connection

    @contextmanager
    def reading(self) -> Iterator[sa.Connection]:
        """A transaction in which everything that is read is of the same moment."""
        with self._clear_errors(), self._current().connect() as plain:
            options = {READ_ONLY: True} if self.is_file else {"isolation_level": "REPEATABLE READ"}
            connection = plain.execution_options(**options)
            with connection.begin():
                yield connection

    def close(self) -> None:
        """Let go of all connections; the next transaction opens new ones."""
        self._current().dispose()

    def _open(self) -> None:
        self._engine = make_engine(self.url)
        self._owner = os.getpid()
        weakref.finalize(self, _dispose, self._engine, self._owner)

    def _current(self) -> sa.Engine:
        if os.getpid() != self._owner:
            _INHERITED.append(self._engine)
            self._open()
        return self._engine

    @contextmanager
    def _clear_errors(self) -> Iterator[None]:
        try:
            yield
        except _FAILURES as error:
            reason = str(getattr(error, "orig", None) or error).strip()
            first = (reason.splitlines() or [type(error).__name__])[0].rstrip(".")
            raise LedgerError(f"The ledger {self.text} cannot be used: {first}.") from error


def _dispose(engine: sa.Engine, owner: int) -> None:
    if os.getpid() == owner:
        engine.dispose()
