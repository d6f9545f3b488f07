"""Ledgers as the first version wrote them: in write-ahead mode, without checksums or a place."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

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
