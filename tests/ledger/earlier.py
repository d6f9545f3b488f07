"""Ledgers of earlier versions.

The first: in write-ahead mode, without checksums or a place. The second: without a chain.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from pathlib import Path

import psycopg

from hockeystick.ledger.files import APPLICATION
from hockeystick.ledger.locations import Place

TABLES = """
CREATE TABLE hockeystick_budgets (
    name TEXT NOT NULL PRIMARY KEY, description TEXT NOT NULL, budget DOUBLE NOT NULL,
    spent DOUBLE NOT NULL, reservations BIGINT NOT NULL, created TEXT NOT NULL,
    CONSTRAINT hockeystick_within_budget CHECK (spent >= 0 AND spent <= budget)
);
CREATE TABLE hockeystick_entries (
    budget TEXT NOT NULL, number BIGINT NOT NULL, charge DOUBLE NOT NULL, request TEXT NOT NULL,
    status TEXT NOT NULL, reserved_at TEXT NOT NULL, committed_at TEXT, host TEXT NOT NULL,
    pid BIGINT NOT NULL, PRIMARY KEY (budget, number),
    FOREIGN KEY(budget) REFERENCES hockeystick_budgets (name)
);
"""
COLUMNS = "budget, number, charge, request, status, reserved_at, committed_at, host, pid"
TIME = "2026-01-01T00:00:00.000000+00:00"


def open_earlier(path: Path, description: dict[str, object]) -> sqlite3.Connection:
    """A connection to a new ledger with half of the budget 1.0 spent in two entries."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.executescript(TABLES)
    text = json.dumps(description, sort_keys=True)
    budget = ("default", text, 1.0, 0.5, 2, TIME)
    connection.execute("INSERT INTO hockeystick_budgets VALUES (?, ?, ?, ?, ?, ?)", budget)
    for number in (1, 2):
        entry = ("default", number, 0.25, "{}", "committed", TIME, TIME, "host", 1)
        connection.execute(
            "INSERT INTO hockeystick_entries VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", entry
        )
    return connection


SECOND = """
CREATE TABLE hockeystick_budgets (
    name TEXT NOT NULL PRIMARY KEY, description TEXT NOT NULL, budget DOUBLE PRECISION NOT NULL,
    spent DOUBLE PRECISION NOT NULL, reservations BIGINT NOT NULL, created TEXT NOT NULL,
    checksum TEXT NOT NULL,
    CONSTRAINT hockeystick_within_budget CHECK (spent >= 0 AND spent <= budget)
);
CREATE TABLE hockeystick_entries (
    budget TEXT NOT NULL, number BIGINT NOT NULL, charge DOUBLE PRECISION NOT NULL,
    request TEXT NOT NULL, status TEXT NOT NULL, reserved_at TEXT NOT NULL, committed_at TEXT,
    host TEXT NOT NULL, pid BIGINT NOT NULL, checksum TEXT NOT NULL, PRIMARY KEY (budget, number),
    FOREIGN KEY(budget) REFERENCES hockeystick_budgets (name)
);
CREATE TABLE hockeystick_ledger (
    format BIGINT NOT NULL PRIMARY KEY, place TEXT, budgets BIGINT, checksum TEXT NOT NULL
);
"""


def checksum(*values: object) -> str:
    """Of a row of the second version: the name of the table and its values."""
    return hashlib.blake2b(repr(values).encode(), digest_size=16).hexdigest()


def second_rows(description: dict[str, object], place: str | None) -> list[tuple[str, tuple]]:
    """Rows of the second version, with their tables: an entry of each status, 0.5 spent."""
    text = json.dumps(description, sort_keys=True)
    budget = ("default", text, 1.0, 0.5, 3, TIME)
    rows: list[tuple[str, tuple]] = [("budgets", budget)]
    for number, status in enumerate(("committed", "reserved", "cancelled"), start=1):
        when = TIME if status == "committed" else None
        entry = ("default", number, 0.25, '{"steps": 1}', status, TIME, when, "host", 1)
        rows.append(("entries", entry))
    sealed = [(table, (*row, checksum(f"hockeystick_{table}", *row))) for table, row in rows]
    count = None if place is None else 1
    ledger = (2, place, count, checksum("hockeystick_ledger", 2, count))
    return [*sealed, ("ledger", ledger)]


def write_second(where: str, description: dict[str, object]) -> None:
    """A ledger of the second version, in a file or on a server."""
    server = where.startswith("postgresql")
    if server:
        connection, mark = psycopg.connect(where), "%s"
    else:
        Path(where).touch()
        connection, mark = sqlite3.connect(where), "?"
    for command in filter(str.strip, SECOND.split(";")):
        connection.execute(command)
    place = None if server else Place.of(Path(where)).as_text()
    for table, row in second_rows(description, place):
        marks = ", ".join(mark for _ in row)
        connection.execute(f"INSERT INTO hockeystick_{table} VALUES ({marks})", row)
    if not server:
        connection.execute(f"PRAGMA application_id = {APPLICATION}")
    connection.commit()
    connection.close()
