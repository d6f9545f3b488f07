"""Files and servers that fail: one clear sentence, and nothing uncounted."""

from __future__ import annotations

import sqlite3

import psycopg
import pytest

from hockeystick.errors import InvalidParameter
from hockeystick.ledger import LedgerError, adopt, audit, connections, open_store, read_ledger
from ledger.test_opening import opened
from ledger.workers import CHARGE, Place, decide, engine_of


def one_sentence(error):
    """The message is one line that names the file and ends with a full stop."""
    text = str(error.value)
    assert "\n" not in text
    assert text.endswith(".")
    assert "ledger.db" in text
    return True


def test_a_file_of_something_else(tmp_path):
    """It is left as it was."""
    path = tmp_path / "ledger.db"
    path.write_text("not a database " * 100)
    with pytest.raises(LedgerError, match="file is not a database") as error:
        opened(path)
    assert one_sentence(error)
    assert path.read_text() == "not a database " * 100


def test_a_damaged_file(tmp_path):
    """Pages of noise are found when the file is opened."""
    path = tmp_path / "ledger.db"
    store = opened(path)
    for _ in range(50):
        store.reserve(lambda spent: (2.0**-10, {"text": "x" * 100}))
    store.close()
    with path.open("r+b") as file:
        file.seek(4096)
        file.write(b"\xa5" * (path.stat().st_size - 4096))
    with pytest.raises(LedgerError, match=r"cannot be used|is damaged") as error:
        opened(path)
    assert one_sentence(error)


def test_a_file_that_may_not_be_written(tmp_path):
    """There is no place for the journal beside it: an honest refusal, as root and as others."""
    path = tmp_path / "ledger.db"
    store = opened(path)
    (tmp_path / "ledger.db-journal").mkdir()
    for use in (lambda: opened(path), lambda: store.reserve(lambda spent: (0.5, {}))):
        with pytest.raises(LedgerError, match=r"unable to open|disk I/O error") as error:
            use()
        assert one_sentence(error)
    (tmp_path / "ledger.db-journal").rmdir()
    assert store.spent() == 0.0


def test_a_file_that_cannot_be_written(tmp_path):
    """The disk is full: nothing is reserved."""
    path = tmp_path / "ledger.db"
    store = opened(path)
    with engine_of(store).connect() as connection:
        pages = connection.exec_driver_sql("PRAGMA page_count").scalar()
        connection.exec_driver_sql(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(LedgerError, match="full") as error:
        store.reserve(lambda spent: (0.5, {"text": "x" * 100_000}))
    assert one_sentence(error)
    assert store.spent() == 0.0


def test_a_ledger_that_was_deleted(directory, name):
    """A store does not go on with an empty budget in its place."""
    path = directory / "ledger.db"
    store = opened(path, name)
    store.close()
    for file in directory.glob("ledger.db*"):
        file.unlink()
    with pytest.raises(LedgerError) as error:
        store.reserve(lambda spent: (0.5, {}))
    assert one_sentence(error)


def test_a_busy_file(tmp_path, monkeypatch):
    """Somebody who never ends a transaction is reported."""
    monkeypatch.setattr(connections, "PATIENCE_SECONDS", 0.05)
    path = tmp_path / "ledger.db"
    store = opened(path)
    with sqlite3.connect(path, isolation_level=None) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(LedgerError, match="locked") as error:
            store.reserve(lambda spent: (0.5, {}))
        other.execute("ROLLBACK")
    other.close()
    assert one_sentence(error)
    assert store.reserve(lambda spent: (0.5, {})).number == 1


@pytest.mark.postgres
@pytest.mark.slow
def test_lost_connections(postgres_url, name, monkeypatch):
    """A connection that the server ended while it was idle is replaced; else it is an error."""
    store = Place(postgres_url, name, 1.0).open()

    def end_connections():
        """What a restart of the server does."""
        with psycopg.connect(postgres_url) as connection:
            connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE application_name = 'hockeystick'"
            )

    store.reserve(decide)
    end_connections()
    with pytest.raises(LedgerError, match="cannot be used"):
        store.reserve(decide)
    assert store.reserve(decide).number == 2
    end_connections()
    monkeypatch.setattr(connections, "IDLE_SECONDS", 0)
    assert store.reserve(decide).number == 3
    assert store.spent() == 3 * CHARGE


LOST_BUDGET = (
    "DELETE FROM hockeystick_entries; DELETE FROM hockeystick_budgets WHERE name = 'default'"
)
AS_EARLIER = """
    DROP TABLE hockeystick_ledger;
    UPDATE hockeystick_entries SET charge = 0.25;
    UPDATE hockeystick_budgets SET spent = 0.25;
    ALTER TABLE hockeystick_budgets DROP COLUMN checksum;
    ALTER TABLE hockeystick_entries DROP COLUMN checksum;
"""


@pytest.mark.parametrize(
    ("statements", "said"),
    [
        (LOST_BUDGET, "the budget 'default' is in its chain and not in the ledger"),
        (f"{LOST_BUDGET}; DELETE FROM hockeystick_chain", "where it was last used is not what"),
        ("DROP TABLE hockeystick_chain; DROP TABLE hockeystick_individual", "lost its chain"),
        (AS_EARLIER, "it has lost tables"),
    ],
)
def test_rows_and_columns_that_are_gone(directory, statements, said):
    """A deleted budget is not a new one, and a ledger of this version is no earlier one."""
    path = directory / "ledger.db"
    store = opened(path)
    store.reserve(lambda spent: (0.5, {}))
    store.close()
    with sqlite3.connect(path, isolation_level=None) as file:
        file.executescript(statements)
    file.close()
    for use in (opened, adopt, read_ledger, audit):
        with pytest.raises(LedgerError, match=said) as error:
            use(path)
        assert "\n" not in str(error.value)


def test_several_budgets_are_in_one_chain(directory):
    """Each of them when it is made."""
    path = directory / "ledger.db"
    for name in ("first", "second", "first"):
        open_store(path, name=name, budget=1.0, description={}).close()
    adopt(path)
    assert [found.problems for found in audit(path)] == [[], []]


@pytest.mark.parametrize("request_", [{"note": "\x1b[2J"}, {1: 2, "1": 3}, {"\u202e": 1}])
def test_a_request_that_could_not_be_read_again(directory, request_):
    """It is refused before anything is written."""
    store = opened(directory / "ledger.db")
    with pytest.raises(InvalidParameter, match="request must be a mapping of different names"):
        store.reserve(lambda spent: (0.5, request_))
    assert (store.spent(), store.history()) == (0.0, ())
