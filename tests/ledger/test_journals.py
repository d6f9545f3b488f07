"""A journal is rolled back into the ledger it was written for, and into no other file."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from hockeystick.cli.main import main
from hockeystick.ledger import adopt, audit, locations, read_ledger
from hockeystick.ledger.locations import birth_of
from ledger.earlier import open_earlier
from ledger.test_opening import DESCRIPTION, opened
from ledger.test_places import half, refuses
from ledger.workers import die_in_the_middle_of_writing, exit_code_of

pytestmark = pytest.mark.slow

FOREIGN = "may belong to another ledger"


@pytest.fixture
def path(directory):
    """A ledger of which half is spent, and the journal of a process that died."""
    file = directory / "ledger.db"
    store = opened(file)
    store.commit(store.reserve(half).number)
    store.close()
    before = file.read_bytes()
    assert exit_code_of(die_in_the_middle_of_writing, file) == -signal.SIGKILL
    # As if it had died after the journal was on the disk and before the first page.
    file.write_bytes(before)
    assert journal(file).exists()
    return file


def journal(path):
    """Where SQLite keeps it."""
    return path.with_name(f"{path.name}-journal")


@pytest.fixture
def brought_back(path, directory):
    """The same after it was used elsewhere, and all of it was spent there."""
    elsewhere, kept = directory / "moved.db", directory / "kept"
    path.rename(elsewhere)
    journal(path).rename(kept)
    adopt(elsewhere)
    store = opened(elsewhere)
    store.reserve(half)
    store.close()
    elsewhere.rename(path)
    kept.rename(journal(path))
    return path


def test_its_own_journal_is_rolled_back(path):
    """By whoever comes first."""
    assert read_ledger(path)[0].spent == 0.5
    assert not journal(path).exists()
    assert opened(path).reserve(half).number == 2


def test_a_foreign_journal_is_refused(brought_back, capsys):
    """By everything that opens a ledger, and no file changes."""
    files = (brought_back, journal(brought_back))
    before = [file.read_bytes() for file in files]
    for use in (opened, read_ledger, audit, adopt):
        refuses(lambda use=use: use(brought_back), FOREIGN)
    for command in ("show", "audit", "adopt"):
        assert main(["ledger", command, str(brought_back)]) == 2
        assert FOREIGN in capsys.readouterr().err
    assert [file.read_bytes() for file in files] == before
    journal(brought_back).unlink()
    adopt(brought_back)
    assert opened(brought_back).spent() == 1.0


def test_a_store_that_stayed_open(path, directory):
    """It does not roll it back either."""
    shutil.move(journal(path), directory / "kept")
    store = opened(path)
    path.rename(directory / "moved.db")
    adopt(directory / "moved.db")
    other = opened(directory / "moved.db")
    other.reserve(half)
    other.close()
    (directory / "moved.db").rename(path)
    (directory / "kept").rename(journal(path))
    before = path.read_bytes()
    for use in (store.spent, store.history, lambda: store.reserve(half), lambda: store.commit(1)):
        refuses(use, FOREIGN)
    assert path.read_bytes() == before


def test_a_ledger_that_was_moved_without_its_journal(path, directory):
    """It may be half a transaction: it has to go back first."""
    elsewhere = directory / "moved.db"
    path.rename(elsewhere)
    before = elsewhere.read_bytes()
    refuses(lambda: adopt(elsewhere), "is left of a transaction of this ledger; move the ledger")
    assert elsewhere.read_bytes() == before
    elsewhere.rename(path)
    assert opened(path).spent() == 0.5
    path.rename(elsewhere)
    adopt(elsewhere)
    assert opened(elsewhere).spent() == 0.5


def test_a_journal_beside_an_earlier_ledger(directory, path):
    """It does not say where it was used: nothing is rolled back into it."""
    earlier = directory / "earlier.db"
    open_earlier(earlier, {}).close()
    shutil.copy(journal(path), journal(earlier))
    before = earlier.read_bytes()
    for use in (opened, read_ledger, audit, adopt):
        refuses(lambda use=use: use(earlier), FOREIGN)
    assert earlier.read_bytes() == before


def test_a_journal_beside_a_damaged_ledger(path):
    """Where it was used cannot be read."""
    pages = path.read_bytes()
    path.write_bytes(pages[:100] + b"\xa5" * (len(pages) - 100))
    refuses(lambda: opened(path), FOREIGN)


# -- inode numbers that are given out again ----------------------------------------------------


def test_a_backup_with_the_inode_number_of_the_ledger(tmp_path, monkeypatch):
    """`rm ledger.db; cp backup ledger.db`: on many file systems the number is the same."""
    file, backup = tmp_path / "ledger.db", tmp_path / "backup.db"
    if birth_of(tmp_path) is None:
        pytest.skip("this file system does not say when a file was made")
    reserve_in_a_process(file)
    shutil.copy(file, backup)
    number = file.stat().st_ino
    reserve_in_a_process(file)
    file.unlink()
    shutil.copy(backup, file)
    given = locations._stat

    def same_number(path: Path) -> os.stat_result:
        found = given(path)
        return os.stat_result((found[0], number, *found[2:])) if path == file else found

    # Whatever this file system does; the number is the only thing that is feigned.
    monkeypatch.setattr(locations, "_stat", same_number)
    monkeypatch.setattr(locations.OpenFile, "check", lambda _: None)
    refuses(lambda: opened(file), "may be a copy")
    assert "may be a copy" in audit(file)[0].problems[0]
    adopt(file)
    assert opened(file).spent() == 0.5


def reserve_in_a_process(file):
    """Half of the budget is reserved by a process that ends."""
    code = (
        "import json, sys; from hockeystick.ledger import open_store; "
        "given = json.loads(sys.argv[2]); "
        "open_store(sys.argv[1], name='default', budget=1.0, description=given)"
        ".reserve(lambda spent: (0.5, {}))"
    )
    given = json.dumps(DESCRIPTION)
    subprocess.run([sys.executable, "-c", code, str(file), given], check=True)


def test_a_changed_inode_is_the_same_file(path):
    """Permissions and times of a ledger may change."""
    path.chmod(0o640)
    os.utime(path, (1.0, 1.0))
    assert opened(path).spent() == 0.5


def test_without_births_the_numbers_decide(path, monkeypatch):
    """A file system that does not say, or a ledger that was written on one."""
    monkeypatch.setattr(locations, "birth_of", lambda _: None)
    assert opened(path).spent() == 0.5
    adopt(path)
    monkeypatch.undo()
    assert opened(path).spent() == 0.5


def test_births_differ(tmp_path):
    """A file made later is younger; a name makes no difference."""
    first, second = tmp_path / "first", tmp_path / "second"
    first.touch()
    born = birth_of(first)
    if born is None:
        pytest.skip("this file system does not say when a file was made")
    assert abs(born - first.stat().st_ctime_ns) < 10**9
    first.rename(second)
    assert birth_of(second) == born
    assert birth_of(tmp_path / "none") is None
