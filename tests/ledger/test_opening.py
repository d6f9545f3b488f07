"""Opening ledgers: what goes on and what is refused."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys

import pytest
import sqlalchemy as sa
from sqlalchemy import event

from hockeystick.errors import InvalidParameter
from hockeystick.ledger import open_store
from ledger.workers import engine_of

DESCRIPTION = {"filter": "renyi", "kind": "proven", "order": 8.5}


def opened(where, name="default", **changes):
    """A store with the usual budget."""
    given = {"budget": 1.0, "description": DESCRIPTION, **changes}
    return open_store(where, name=name, **given)


def test_the_same_name_goes_on(where, name):
    """A second store sees the first one's spending, and both see each other's."""
    first = opened(where, name)
    first.reserve(lambda spent: (0.25, {}))
    second = opened(where, name, description=dict(reversed(DESCRIPTION.items())))
    second.reserve(lambda spent: (0.5, {"rate": 0.1}))
    assert first.spent() == second.spent() == 0.75
    assert first.history() == second.history()


def test_names_are_separate(where, name):
    """Two budgets in one ledger do not touch each other."""
    first, second = opened(where, name), opened(where, f"{name} again", budget=2.0)
    first.reserve(lambda spent: (0.25, {}))
    assert second.spent() == 0.0
    assert second.reserve(lambda spent: (2.0, {})).number == 1


def test_another_budget_is_refused(where, name):
    """Both numbers are in the message."""
    opened(where, name)
    with pytest.raises(InvalidParameter, match=r"budget must be 1.0 as when .* got 1.5"):
        opened(where, name, budget=1.5)


def test_another_description_is_refused(where, name):
    """One budget belongs to one filter."""
    opened(where, name)
    with pytest.raises(InvalidParameter, match=r"order must be 8.5 as when .*join.* got 8.25"):
        opened(where, name, description={**DESCRIPTION, "order": 8.25})


def test_constant_work(where, name):
    """The thousandth reservation asks the database for as much as the first ones."""
    store = opened(where, name)
    statements = []

    @event.listens_for(engine_of(store), "before_cursor_execute")
    def note(connection, cursor, statement, parameters, *more):
        statements.append(statement)

    def asked():
        """What one reservation and its commitment execute."""
        statements.clear()
        store.commit(store.reserve(lambda spent: (2.0**-20, {})).number)
        return list(statements)

    first = asked()
    for _ in range(100):
        store.reserve(lambda spent: (2.0**-20, {}))
    assert asked() == first
    # A server locks the end of the chain in each of the two transactions. The chain of a file is
    # written through the driver, four statements more, which no event of SQLAlchemy shows.
    most = 5 if "sqlite" in engine_of(store).name else 11
    assert len([statement for statement in first if "BEGIN" not in statement]) == most
    if "sqlite" in engine_of(store).name:
        with sqlite3.connect(where) as file:
            for statement in first:
                if not statement.startswith(("BEGIN", "INSERT")):
                    values = ["x"] * statement.count("?")
                    plan = file.execute(f"EXPLAIN QUERY PLAN {statement}", values).fetchall()
                    assert all(line[-1].startswith(("SEARCH", "SCALAR SUBQUERY")) for line in plan)
        file.close()


def test_the_database_refuses_overspending(where, name):
    """Whoever writes to the tables: its own checks hold."""
    store = opened(where, name)
    for value in ("1.5", "-0.5"):
        with pytest.raises(sa.exc.IntegrityError), engine_of(store).begin() as connection:
            connection.execute(
                sa.text(f"UPDATE hockeystick_budgets SET spent = {value} WHERE name = :name"),
                {"name": name},
            )


def test_durable_settings(directory):
    """What was committed is in the file itself, and nothing is beside it."""
    store = opened(directory / "ledger.db")
    store.reserve(lambda spent: (0.5, {}))
    with engine_of(store).connect() as connection:
        assert connection.exec_driver_sql("PRAGMA journal_mode").scalar() == "delete"
        assert connection.exec_driver_sql("PRAGMA synchronous").scalar() == 3
    assert [file.name for file in directory.iterdir()] == ["ledger.db"]


@pytest.mark.parametrize("form", ["{}", "sqlite:///{}", "sqlite+pysqlite:///{}"])
def test_paths_and_urls(tmp_path, form):
    """A path, as text or not, and its URLs mean the same file, whatever is in its name."""
    path = tmp_path / "led ger #1.db"
    opened(path).reserve(lambda spent: (0.5, {}))
    assert opened(form.format(path)).spent() == 0.5


def test_relative_paths_stay_where_they_were(tmp_path, monkeypatch):
    """A change of the working directory does not start a new ledger."""
    monkeypatch.chdir(tmp_path)
    store = opened("ledger.db")
    store.reserve(lambda spent: (0.5, {}))
    store.close()
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert store.spent() == 0.5


@pytest.mark.parametrize(
    "where", ["", ":memory:", "sqlite://", "mysql://user@host/base", "http://x", "://"]
)
def test_places_that_are_none(where):
    """Neither memory nor other databases."""
    with pytest.raises(InvalidParameter, match="ledger must be"):
        opened(where)


def test_directories_are_no_ledgers(tmp_path):
    """Nor are files in directories that do not exist."""
    with pytest.raises(InvalidParameter, match="not a directory"):
        opened(tmp_path)
    with pytest.raises(InvalidParameter, match="a directory that exists"):
        opened(tmp_path / "none" / "ledger.db")


def test_pipes_and_devices_are_no_ledgers(tmp_path):
    """Nobody waits for what comes out of a pipe."""
    os.mkfifo(tmp_path / "pipe")
    for wrong in (tmp_path / "pipe", "/dev/null"):
        with pytest.raises(InvalidParameter, match="a regular file"):
            opened(wrong)


@pytest.mark.parametrize("name", ["", "x" * 201, "a\0b", "\ud800", 3])
def test_names_that_are_none(tmp_path, name):
    """A name is a short text."""
    with pytest.raises(InvalidParameter, match="name must be a text of 1 to 200 characters"):
        opened(tmp_path / "ledger.db", name)


@pytest.mark.slow
def test_loading_is_light():
    """The database library is loaded when a ledger is opened, not before."""
    code = (
        "import hockeystick as hs, sys; hs.ledger.MemoryStore(1.0); "
        "print('sqlalchemy' in sys.modules)"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    found = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, env=environment, text=True
    )
    assert found.stdout.strip() == "False"
