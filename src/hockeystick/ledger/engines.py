"""Connections to SQLite files and PostgreSQL servers, with the settings that durability needs."""

from __future__ import annotations

import math
import sqlite3
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy import event

from hockeystick.atomic import check_target
from hockeystick.errors import InvalidParameter, MissingExtra

__all__ = ["READ_ONLY", "location", "make_engine"]

# How long a process waits for others before it gives up.
PATIENCE_SECONDS = 60
# A connection that was not used for longer is tried before it is used again.
REST_SECONDS = 5
# Between two attempts to switch a new file to write-ahead logging.
PAUSE_SECONDS = 0.02
# A transaction with this option does not keep others from writing.
READ_ONLY = "hockeystick_read_only"
ALLOWED = "a path, a sqlite:/// URL or a postgresql:// URL"


def location(where: str | Path) -> sa.URL:
    """The URL of a ledger, given by a path or a URL."""
    text = str(where)
    if "://" not in text:
        return _file(text, where)
    try:
        url = sa.make_url(text)
    except (sa.exc.ArgumentError, ValueError):
        raise InvalidParameter("ledger", ALLOWED, where) from None
    backend = url.get_backend_name()
    if backend == "sqlite":
        return _file(url.database or "", where)
    if backend == "postgresql":
        return url.set(drivername="postgresql+psycopg")
    raise InvalidParameter("ledger", ALLOWED, url.render_as_string(hide_password=True))


def _file(path: str, where: str | Path) -> sa.URL:
    if path in ("", ".", ":memory:"):
        raise InvalidParameter("ledger", "a file, so that it survives the process", str(where))
    target = check_target("ledger", Path(path))
    return sa.URL.create("sqlite+pysqlite", database=str(target.absolute()))


def make_engine(url: sa.URL) -> sa.Engine:
    """An engine whose transactions are durable when they end, and one after the other."""
    return _ENGINES[url.get_backend_name()](url)


def _sqlite(url: sa.URL) -> sa.Engine:
    """BEGIN IMMEDIATE takes the write lock before anything is read."""
    engine = sa.create_engine(url, connect_args={"timeout": PATIENCE_SECONDS})

    @event.listens_for(engine, "connect")
    def prepare(connection: Any, record: object) -> None:  # noqa: ARG001
        connection.isolation_level = None  # the driver leaves BEGIN to the next function
        connection.execute("PRAGMA foreign_keys = ON")
        _log_ahead(connection)
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA fullfsync = ON")

    @event.listens_for(engine, "begin")
    def begin(connection: sa.Connection) -> None:
        read_only = connection.get_execution_options().get(READ_ONLY, False)
        connection.exec_driver_sql("BEGIN" if read_only else "BEGIN IMMEDIATE")

    return engine


def _log_ahead(connection: sqlite3.Connection) -> None:
    """Switch to write-ahead logging, which is remembered in the file.

    The switch does not wait for other processes that open a new file at the same time, so it is
    tried again. Where it is not possible the rollback journal stays, which is as durable.
    """
    deadline = time.monotonic() + PATIENCE_SECONDS
    while connection.execute("PRAGMA journal_mode").fetchone()[0] != "wal":
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > deadline:
                raise
            time.sleep(PAUSE_SECONDS)


def _postgresql(url: sa.URL) -> sa.Engine:
    """READ COMMITTED with row locks: a locked row is read again after the wait.

    A client that disappears from the network without a word holds its lock until the timeout.
    """
    if find_spec("psycopg") is None:
        raise MissingExtra(
            "A PostgreSQL ledger needs psycopg; install it with: pip install hockeystick[postgres]"
        )
    milliseconds = 1000 * PATIENCE_SECONDS
    settings = {
        "synchronous_commit": "on",
        "lock_timeout": milliseconds,
        "idle_in_transaction_session_timeout": milliseconds,
    }
    options = " ".join(f"-c {name}={value}" for name, value in settings.items())
    engine = sa.create_engine(
        url,
        isolation_level="READ COMMITTED",
        connect_args={"options": options, "application_name": "hockeystick"},
    )
    _try_after_rest(engine)
    return engine


def _try_after_rest(engine: sa.Engine) -> None:
    """Replace connections that were lost while nobody used them.

    Only those that rested for a while are tried: that takes as long as the transaction itself.
    """

    @event.listens_for(engine, "checkin")
    def rest(connection: Any, record: Any) -> None:  # noqa: ARG001
        record.info["resting since"] = time.monotonic()

    @event.listens_for(engine, "checkout")
    def wake(connection: Any, record: Any, proxy: object) -> None:  # noqa: ARG001
        if time.monotonic() - record.info.get("resting since", math.inf) < REST_SECONDS:
            return
        try:
            engine.dialect.do_ping(connection)
        except engine.dialect.loaded_dbapi.Error as error:
            raise sa.exc.DisconnectionError from error


_ENGINES: dict[str, Callable[[sa.URL], sa.Engine]] = {"sqlite": _sqlite, "postgresql": _postgresql}
