"""Transactions on a ledger, across forks, with every failure as one sentence."""

from __future__ import annotations

import sqlite3
import weakref
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress

import sqlalchemy as sa

from hockeystick._process import OwnProcess
from hockeystick._text import printable
from hockeystick.errors import HockeystickError, LedgerError
from hockeystick.ledger.engines import READ_ONLY, leave_log, make_engine, sqlite_engine
from hockeystick.ledger.files import check_header, check_journal, is_logged, readable
from hockeystick.ledger.locations import Location
from hockeystick.ledger.place import OpenFile

__all__ = ["Connections", "clear_errors", "reading_only"]

# Characters of what a driver says that are shown: about three lines.
LONGEST_REASON = 300
# Connections of a parent process: neither used nor closed after a fork.
_INHERITED: list[sa.Engine] = []
# What SQLAlchemy says when the file or the server did not do its part; messages that quote a
# damaged file may not be text.
_FAILURES = (sa.exc.SQLAlchemyError, sqlite3.Error, UnicodeDecodeError)


class Connections:
    """Connections to one ledger that exists; a child process gets its own.

    Before and after each transaction the path of a file must still lead to the file that was
    opened: what is written into a deleted file is not acknowledged.
    """

    def __init__(self, where: Location) -> None:
        self.where = where
        self._file: OpenFile | None = None
        if where.is_file:
            header = check_header(where.path)
            self._file = OpenFile(where.path)
            check_journal(where.path)
            if is_logged(header):
                with clear_errors(where):
                    leave_log(where.path)
        self._open()

    @contextmanager
    def writing(self) -> Iterator[sa.Connection]:
        """A transaction that is durable when the block ends, and never happened if it raises."""
        with clear_errors(self.where), self._leaving_logs():
            engine = self._current()
            self._check_file()
            self._check_journal()
            with engine.begin() as connection:
                # Again, now that nobody else writes.
                self._check_file()
                yield connection
            self._check_file()

    @contextmanager
    def reading(self) -> Iterator[sa.Connection]:
        """A transaction in which everything that is read is of the same moment."""
        with clear_errors(self.where), self._leaving_logs():
            engine = self._current()
            self._check_file()
            self._check_journal()
            with _snapshot(engine, self.where) as connection:
                yield connection
            self._check_file()

    def close(self) -> None:
        """Let go of all connections; the next transaction opens new ones."""
        self._current().dispose()

    def _check_file(self) -> None:
        if self._file is not None:
            self._file.check()

    def _check_journal(self) -> None:
        if self._file is not None:
            check_journal(self.where.path)

    @contextmanager
    def _leaving_logs(self) -> Iterator[None]:
        """Keep no connection to a file that another program has switched to write-ahead mode.

        Such a connection has a lock for as long as it is open, and keeps everybody, this process
        included, from switching the file back.
        """
        try:
            yield
        finally:
            with suppress(HockeystickError):
                if self._file is not None and is_logged(check_header(self.where.path)):
                    self._engine.dispose()

    def _open(self) -> None:
        with clear_errors(self.where):
            self._engine = make_engine(self.where)
        self._owner = OwnProcess()
        weakref.finalize(self, _dispose, self._engine, self._owner)

    def _current(self) -> sa.Engine:
        if not self._owner.is_here:
            _INHERITED.append(self._engine)
            self._open()
        return self._engine


@contextmanager
def reading_only(where: Location) -> Iterator[sa.Connection]:
    """One transaction on a file, or on a server, that makes and changes nothing."""
    with ExitStack() as stack:
        stack.enter_context(clear_errors(where))
        if where.is_file:
            check_journal(where.path)
            path, mode = stack.enter_context(readable(where.path))
            engine = sqlite_engine(path, mode=mode)
        else:
            engine = make_engine(where)
        stack.callback(engine.dispose)
        yield stack.enter_context(_snapshot(engine, where))


@contextmanager
def clear_errors(where: Location) -> Iterator[None]:
    """Failures of the database as one sentence, without the secrets of a URL."""
    try:
        yield
    except _FAILURES as error:
        message = f"The ledger {where.text} cannot be used: {_reason(error, where)}."
        raise LedgerError(message) from (error if where.is_file else None)


@contextmanager
def _snapshot(engine: sa.Engine, where: Location) -> Iterator[sa.Connection]:
    with engine.connect() as plain:
        options = {"isolation_level": "REPEATABLE READ", "postgresql_readonly": True}
        connection = plain.execution_options(**({READ_ONLY: True} if where.is_file else options))
        with connection.begin():
            yield connection


def _reason(error: Exception, where: Location) -> str:
    """The first line of what the driver says, which may quote a damaged file."""
    reason = where.without_secrets(str(getattr(error, "orig", None) or error)).strip()
    first = (reason.splitlines() or [type(error).__name__])[0][:LONGEST_REASON].rstrip(".")
    return printable(first)


def _dispose(engine: sa.Engine, owner: OwnProcess) -> None:
    if owner.is_here:
        engine.dispose()
