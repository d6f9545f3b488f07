"""Ledgers of the first version: read as they are, brought to this one when they are opened."""

from __future__ import annotations

import json
import shutil
import sqlite3

import psycopg
import pytest

from hockeystick.errors import BudgetExceeded
from hockeystick.ledger import LedgerError, adopt, audit, connections, read_ledger
from ledger.earlier import COLUMNS, TABLES, TIME, open_earlier
from ledger.test_opening import DESCRIPTION, opened
from ledger.workers import processes


@pytest.fixture
def path(tmp_path):
    """Where the ledger is."""
    return tmp_path / "ledger.db"


@pytest.fixture
def crashed(path, tmp_path):
    """A ledger whose process died: everything is in the log beside it."""
    running = tmp_path / "running"
    running.mkdir()
    connection = open_earlier(running / "ledger.db", DESCRIPTION)
    for suffix in ("", "-wal"):
        shutil.copy(running / f"ledger.db{suffix}", tmp_path / f"ledger.db{suffix}")
    connection.close()
    shutil.rmtree(running)
    return path


def contents(path):
    """All files of a directory."""
    return {file.name: file.read_bytes() for file in path.parent.iterdir()}


def test_it_goes_on(path):
    """With checksums, a place and a rollback journal from now on."""
    open_earlier(path, DESCRIPTION).close()
    store = opened(path)
    assert store.spent() == 0.5
    store.reserve(lambda spent: (0.5, {}))
    with pytest.raises(BudgetExceeded):
        store.reserve(lambda spent: (0.5, {}))
    store.close()
    assert [file.name for file in path.parent.iterdir()] == ["ledger.db"]
    assert not audit(path)[0].problems
    assert [entry.status for entry in opened(path).history()] == [
        "committed",
        "committed",
        "reserved",
    ]


def test_after_a_crash(crashed):
    """What is in the log is counted, and is in the file afterwards."""
    assert opened(crashed).spent() == 0.5
    assert not crashed.with_name("ledger.db-wal").exists()


@pytest.mark.parametrize("state", ["closed", "crashed"])
def test_reading_changes_nothing(path, state, request):
    """Neither the file nor its log, and nothing is left beside them."""
    if state == "closed":
        open_earlier(path, DESCRIPTION).close()
    else:
        request.getfixturevalue("crashed")
    before = contents(path)
    assert read_ledger(path)[0].spent == 0.5
    assert not audit(path)[0].problems
    assert contents(path) == before


def test_an_older_program_that_still_runs(path, monkeypatch):
    """The journal cannot be changed under it: refused, whatever mount it uses."""
    monkeypatch.setattr(connections, "PATIENCE_SECONDS", 0.1)
    other = open_earlier(path, DESCRIPTION)
    with pytest.raises(LedgerError, match="locked"):
        opened(path)
    other.close()
    assert opened(path).spent() == 0.5


@pytest.mark.slow
def test_eight_processes_open_it_at_once(directory):
    """None waits in vain for another that waits for it; all of the rest is spent, once."""
    path = directory / "ledger.db"
    open_earlier(path, DESCRIPTION).close()
    started = [processes.Process(target=reserve_some, args=(path,)) for _ in range(8)]
    for process in started:
        process.start()
    for process in started:
        process.join()
    assert [process.exitcode for process in started] == [0] * 8
    (record,) = read_ledger(path)
    assert (record.spent, record.reservations) == (1.0, 10)


def reserve_some(path):
    """A sixteenth of the budget, in a process of its own."""
    opened(path).reserve(lambda spent: (2.0**-4, {}))


def test_sums_that_do_not_fit_are_refused(path):
    """Nothing is given a checksum that was wrong before."""
    other = open_earlier(path, DESCRIPTION)
    other.execute("UPDATE hockeystick_budgets SET spent = 0.25")
    other.close()
    for use in (opened, adopt, read_ledger):
        with pytest.raises(LedgerError, match=r"damaged.*sum to 0.5 and not to 0.25"):
            use(path)


def test_an_older_program_switches_the_journal_back(path):
    """An open store stops, and says why; opened again, the file is switched once more."""
    store = opened(path)
    with sqlite3.connect(path) as other:
        other.execute("PRAGMA journal_mode = WAL")
    other.close()
    with pytest.raises(LedgerError, match="switched to 'wal'"):
        store.reserve(lambda spent: (0.5, {}))
    store.close()
    assert opened(path).reserve(lambda spent: (0.5, {})).number == 1
    assert [file.name for file in path.parent.iterdir()] == ["ledger.db"]


@pytest.mark.parametrize("use", ["spent", "reserve"])
def test_a_store_that_is_not_closed_does_not_keep_the_log(path, monkeypatch, use):
    """The same process can open the ledger again at once."""
    monkeypatch.setattr(connections, "PATIENCE_SECONDS", 1)
    store = opened(path)
    with sqlite3.connect(path) as other:
        other.execute("PRAGMA journal_mode = WAL")
    other.close()
    if use == "spent":
        assert store.spent() == 0.0
    else:
        with pytest.raises(LedgerError, match="switched to 'wal'"):
            store.reserve(lambda spent: (0.5, {}))
    assert opened(path).reserve(lambda spent: (0.5, {})).number == 1
    assert store.spent() == 0.5


def test_an_older_program_cannot_reserve(path):
    """It knows no checksums, which every new row must have."""
    opened(path).close()
    entry = ("default", 1, 0.25, "{}", "reserved", TIME, None, "host", 1)
    with sqlite3.connect(path) as other, pytest.raises(sqlite3.IntegrityError):
        other.execute(
            f"INSERT INTO hockeystick_entries ({COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", entry
        )
    other.close()


@pytest.mark.postgres
@pytest.mark.slow
def test_tables_of_a_server(postgres_url):
    """They get checksums as well; what was reserved by an older program afterwards is refused."""
    url = postgres_url
    with psycopg.connect(url) as connection:
        connection.execute(TABLES.replace("DOUBLE", "DOUBLE PRECISION"))
        text = json.dumps(DESCRIPTION, sort_keys=True)
        budget = ("default", text, 1.0, 0.5, 1, TIME)
        connection.execute(
            "INSERT INTO hockeystick_budgets VALUES (%s, %s, %s, %s, %s, %s)", budget
        )
        connection.execute(
            f"INSERT INTO hockeystick_entries ({COLUMNS}) VALUES "
            f"('default', 1, 0.5, '{{}}', 'reserved', '{TIME}', NULL, 'host', 1)"
        )
    assert read_ledger(url)[0].spent == 0.5
    store = opened(url)
    store.commit(1)
    store.reserve(lambda spent: (0.25, {}))
    assert not audit(url)[0].problems
    with psycopg.connect(url) as connection:
        connection.execute("UPDATE hockeystick_budgets SET spent = 0.25")
    for use in (store.spent, lambda: opened(url), lambda: read_ledger(url)):
        with pytest.raises(LedgerError, match="does not match its checksum"):
            use()
