"""Reading a ledger changes nothing, whatever the file is."""

from __future__ import annotations

import os
import shutil
import signal
import sqlite3

import pytest

from hockeystick.cli.main import main
from hockeystick.errors import HockeystickError
from hockeystick.ledger import LedgerError, audit, files, read_ledger
from ledger.earlier import TABLES
from ledger.test_opening import opened
from ledger.workers import CHARGE, Place, exit_code_of, run_until
from references.forked import in_child


def foreign(path, mode):
    """A database of somebody else, in this journal mode."""
    with sqlite3.connect(path, isolation_level=None) as file:
        file.execute(f"PRAGMA journal_mode = {mode}")
        file.execute("CREATE TABLE other (x)")
        file.execute("INSERT INTO other VALUES (1)")
    file.close()


def foreign_after_a_crash(path):
    """One with a journal that is to be rolled back."""
    foreign(path, "delete")
    with sqlite3.connect(path, isolation_level=None) as file:
        file.execute("BEGIN IMMEDIATE")
        file.execute("UPDATE other SET x = 2")
        shutil.copy(f"{path}-journal", path.with_name("kept"))
        file.execute("ROLLBACK")
    file.close()
    path.with_name("kept").rename(f"{path}-journal")


MAKERS = {
    "empty": lambda path: path.touch(),
    "text": lambda path: path.write_text("something else" * 100),
    "short": lambda path: path.write_bytes(b"SQLite format 3\0"),
    "rollback": lambda path: foreign(path, "delete"),
    "write-ahead": lambda path: foreign(path, "wal"),
    "crashed": foreign_after_a_crash,
}


def contents(directory):
    """All files with what is in them and when that was last changed."""
    return {file.name: (file.read_bytes(), file.stat().st_mtime_ns) for file in directory.iterdir()}


@pytest.mark.parametrize("kind", MAKERS)
def test_files_of_others(kind, tmp_path, capsys):
    """One sentence, and every file of the directory is as it was."""
    path = tmp_path / "other.db"
    MAKERS[kind](path)
    before = contents(tmp_path)
    for use in (read_ledger, audit, opened):
        with pytest.raises(HockeystickError) as error:
            use(path)
        assert "\n" not in str(error.value)
        assert "other.db" in str(error.value)
        assert contents(tmp_path) == before
    for command in ("show", "audit"):
        assert main(["ledger", command, str(path)]) == 2
        assert capsys.readouterr().err.count("\n") == 1


def test_a_ledger_is_read_without_a_change(tmp_path):
    """Its bytes and its time are the same afterwards."""
    store = opened(tmp_path / "ledger.db")
    store.reserve(lambda spent: (0.5, {}))
    store.close()
    before = contents(tmp_path)
    assert read_ledger(tmp_path / "ledger.db")[0].spent == 0.5
    assert not audit(tmp_path / "ledger.db")[0].problems
    assert contents(tmp_path) == before


def test_reading_does_not_end_the_locks_of_a_store(tmp_path):
    """Closing a file ends all locks of the process on it: none may be closed while in use."""
    path = tmp_path / "ledger.db"
    store = opened(path)
    busy = []

    def decide(spent):
        read_ledger(path)
        child = os.fork()
        if child == 0:
            try:
                with sqlite3.connect(path, timeout=0, isolation_level=None) as other:
                    other.execute("BEGIN IMMEDIATE")
            except sqlite3.OperationalError:
                os._exit(0)
            finally:
                os._exit(1)
        busy.append(os.waitpid(child, 0)[1] == 0)
        return 0.5, {}

    store.reserve(decide)
    assert busy == [True]


@pytest.mark.slow
def test_a_ledger_with_a_journal_is_rolled_back(directory):
    """A process died in the middle of a transaction: what it wrote is not read."""
    place = Place(str(directory / "ledger.db"), "run", 4 * CHARGE)
    assert exit_code_of(run_until, place, "before the commitment is written") == -signal.SIGKILL
    assert (directory / "ledger.db-journal").exists()
    (record,) = read_ledger(place.where)
    assert [entry.status for entry in record.entries] == ["reserved"]
    assert record.spent == CHARGE


def test_lost_tables_are_damage(tmp_path):
    """They are not made again: the budget would be."""
    path = tmp_path / "ledger.db"
    opened(path).close()
    with sqlite3.connect(path) as file:
        file.execute("ALTER TABLE hockeystick_budgets RENAME TO hockeystick_budgetz")
    file.close()
    for use in (read_ledger, opened):
        with pytest.raises(LedgerError, match="lost tables"):
            use(path)


def test_half_of_an_earlier_ledger_is_damage(tmp_path):
    """One of two tables is not none."""
    path = tmp_path / "ledger.db"
    with sqlite3.connect(path) as file:
        file.executescript(TABLES)
        file.execute("DROP TABLE hockeystick_entries")
    file.close()
    with pytest.raises(LedgerError, match="lost tables"):
        opened(path)


def test_the_position_of_a_kept_descriptor_is_not_used(directory):
    """It is shared with forked processes, which read at the same time."""
    path = directory / "ledger.db"
    opened(path).close()
    found = path.stat()
    kept = files._KEPT[found.st_dev, found.st_ino]
    os.lseek(kept, 7, os.SEEK_SET)
    assert files.check_header(path).startswith(b"SQLite format 3")
    assert os.lseek(kept, 0, os.SEEK_CUR) == 7


def test_a_fork_while_a_thread_reads(directory):
    """The child does not wait for a thread that it does not have."""
    path = directory / "ledger.db"
    opened(path).close()

    def read():
        signal.signal(signal.SIGALRM, signal.default_int_handler)
        signal.alarm(5)
        files.check_header(path)

    with files._READING["lock"]:
        assert in_child(read) == "returned"
