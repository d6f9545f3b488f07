"""Connections and transactions of a ledger, across forks, with every failure as one sentence.

SQLite files and PostgreSQL servers have the settings that durability needs.
"""

from __future__ import annotations

import math
import random
import sqlite3
import time
import weakref
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy import event

from hockeystick._process import OwnProcess
from hockeystick._text import printable
from hockeystick.errors import HockeystickError, LedgerError, MissingExtra
from hockeystick.ledger.files import check_header, check_journal, connect, is_logged, readable
from hockeystick.ledger.locations import Location, OpenFile

__all__ = [
    "READ_ONLY",
    "Connections",
    "clear_errors",
    "leave_log",
    "make_engine",
    "reading_only",
    "sqlite_engine",
]

# How long a process waits for others before it gives up: a transaction takes milliseconds.
PATIENCE_SECONDS = 60
# A connection that was idle for longer is tried before it is used again: a server may have ended
# it.
IDLE_SECONDS = 5
# At most, between two attempts to switch an old file from write-ahead logging.
PAUSE_SECONDS = 0.1
# Of SQLite: the journal is deleted when a transaction ends.
JOURNAL_MODE = "delete"
# A transaction with this option does not keep others from writing.
READ_ONLY = "hockeystick_read_only"


def make_engine(where: Location) -> sa.Engine:
    """An engine whose transactions are durable when they end, and one after the other."""
    return sqlite_engine(where.path) if where.is_file else _postgresql(where)


def sqlite_engine(path: Path, *, mode: str = "rw") -> sa.Engine:
    """Of a file that exists; BEGIN IMMEDIATE takes the write lock before anything is read.

    Locks are on the file itself, and a transaction that has ended is in the file and nowhere else.
    """
    engine = sa.create_engine(
        "sqlite+pysqlite:///",
        creator=lambda: connect(path, mode=mode, patience=PATIENCE_SECONDS),
        poolclass=sa.QueuePool,
    )

    @event.listens_for(engine, "connect")
    def prepare(connection: Any, record: object) -> None:  # noqa: ARG001
        connection.isolation_level = None  # the driver leaves BEGIN to the next function
        connection.execute("PRAGMA foreign_keys = ON")
        # Also the removal of the journal, which is the moment of the commit, is on the disk.
        connection.execute("PRAGMA synchronous = EXTRA")
        connection.execute("PRAGMA fullfsync = ON")

    @event.listens_for(engine, "begin")
    def begin(connection: sa.Connection) -> None:
        read_only = connection.get_execution_options().get(READ_ONLY, False)
        connection.exec_driver_sql("BEGIN" if read_only else "BEGIN IMMEDIATE")
        if not read_only:
            _check_journal(connection)

    return engine


def _check_journal(connection: sa.Connection) -> None:
    """An earlier version of the library may have switched the file back under this connection."""
    driver = connection.connection.driver_connection
    assert isinstance(driver, sqlite3.Connection)
    mode = driver.execute("PRAGMA journal_mode").fetchone()[0]
    if mode != JOURNAL_MODE:
        driver.execute("ROLLBACK")
        raise sqlite3.OperationalError(
            f"its journal was switched to {mode!r:.20} while it was open, by another program"
        )


def leave_log(path: Path) -> None:
    """Switch a file that an earlier version wrote from write-ahead logging to a rollback journal.

    That needs the file for itself, also from processes that use another mount: it is tried again
    until they are gone, and let go of in between, because others may be trying the same. What is
    in the log is in the file afterwards.
    """
    deadline = time.monotonic() + PATIENCE_SECONDS
    while True:
        late = time.monotonic() > deadline
        with closing(connect(path, mode="rw", patience=0.0)) as connection:
            try:
                mode = connection.execute(f"PRAGMA journal_mode = {JOURNAL_MODE}").fetchone()[0]
            except sqlite3.OperationalError as error:
                if late or "locked" not in str(error):
                    raise
            else:
                if mode == JOURNAL_MODE:
                    return
                raise sqlite3.OperationalError(f"its journal stays in the mode {mode!r:.20}")
        time.sleep(PAUSE_SECONDS * random.random())


def _postgresql(where: Location) -> sa.Engine:
    """READ COMMITTED with row locks: a locked row is read again after the wait.

    A client that disappears from the network without a word holds its lock until the timeout.
    """
    if find_spec("psycopg") is None:
        raise MissingExtra("A PostgreSQL ledger needs psycopg", extra="postgres")
    milliseconds = 1000 * PATIENCE_SECONDS
    settings = {
        "synchronous_commit": "on",
        "lock_timeout": milliseconds,
        "idle_in_transaction_session_timeout": milliseconds,
    }
    options = " ".join(f"-c {name}={value}" for name, value in settings.items())
    engine = sa.create_engine(
        where.url,
        isolation_level="READ COMMITTED",
        connect_args={"options": options, "application_name": "hockeystick", **where.secrets},
    )
    _try_after_idling(engine)
    return engine


def _try_after_idling(engine: sa.Engine) -> None:
    """Replace connections that were lost while nobody used them.

    Only those that were idle for a while are tried: that takes as long as the transaction itself.
    """

    @event.listens_for(engine, "checkin")
    def idle(connection: Any, record: Any) -> None:  # noqa: ARG001
        record.info["idle since"] = time.monotonic()

    @event.listens_for(engine, "checkout")
    def wake(connection: Any, record: Any, proxy: object) -> None:  # noqa: ARG001
        if time.monotonic() - record.info.get("idle since", math.inf) < IDLE_SECONDS:
            return
        try:
            engine.dialect.do_ping(connection)
        except engine.dialect.loaded_dbapi.Error as error:
            raise sa.exc.DisconnectionError from error


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
