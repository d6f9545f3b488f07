"""Connections to SQLite files and PostgreSQL servers, with the settings that durability needs."""

from __future__ import annotations

import math
import random
import sqlite3
import time
from contextlib import closing
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy import event

from hockeystick.errors import MissingExtra
from hockeystick.ledger.files import connect
from hockeystick.ledger.locations import Location

__all__ = ["READ_ONLY", "leave_log", "make_engine", "sqlite_engine"]

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
