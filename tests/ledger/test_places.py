"""One file, one name, one place: everything else is refused."""

from __future__ import annotations

import os
import shutil
import sqlite3

import pytest

from hockeystick.cli.main import main
from hockeystick.errors import InvalidParameter
from hockeystick.ledger import LedgerError, adopt, audit, files, open_store, read_ledger
from ledger.forging import forge_file
from ledger.test_broken import one_sentence
from ledger.test_opening import opened


def half(spent):
    """Half of the budget."""
    return 0.5, {}


@pytest.fixture
def path(directory):
    """A ledger of which half is spent."""
    file = directory / "ledger.db"
    store = opened(file)
    store.commit(store.reserve(half).number)
    store.close()
    return file


def refuses(use, text):
    """One sentence with this text."""
    with pytest.raises(LedgerError, match=text) as error:
        use()
    assert "\n" not in str(error.value)


def problems(path):
    """What the audit says, in one text."""
    return " ".join(audit(path)[0].problems)


# -- several names ----------------------------------------------------------------------------


def test_hard_links(path, directory):
    """Neither name can be used, by an open store or by a new one, until one of them is gone."""
    store = opened(path)
    other = directory / "elsewhere" / "link.db"
    other.parent.mkdir()
    os.link(path, other)
    refuses(lambda: store.reserve(half), "has 2 names")
    refuses(store.spent, "has 2 names")
    for name in (path, other):
        refuses(lambda name=name: opened(name), "has 2 names")
        assert "has 2 names" in problems(name)
    other.unlink()
    assert store.reserve(half).number == 2


def test_a_link_made_inside_a_transaction(path, directory):
    """The reservation is not acknowledged."""

    def linking(spent):
        os.link(path, directory / "link.db")
        return 0.25, {}

    refuses(lambda: opened(path).reserve(linking), "has 2 names")


def test_the_other_name_of_a_link_stays_refused(path, directory):
    """Also when the first name is gone: its journal would be the one that counts."""
    os.link(path, directory / "link.db")
    path.unlink()
    refuses(lambda: opened(directory / "link.db"), "may be a copy")


def test_symbolic_links_are_followed(path, directory):
    """They lead to the one file and its one journal."""
    (directory / "soft.db").symlink_to(path)
    (directory / "folder").symlink_to(directory)
    for name in (directory / "soft.db", directory / "folder" / "ledger.db"):
        assert opened(name).spent() == 0.5


# -- deleted and replaced -----------------------------------------------------------------------


@pytest.mark.parametrize(
    "change", ["deleted", "moved", "moved and linked", "replaced", "made anew"]
)
@pytest.mark.parametrize("when", ["before", "inside"])
def test_while_it_is_open(path, directory, change, when):
    """Nothing is acknowledged that is not in the file of that name."""
    store = opened(path)
    copy = directory / "copy.db"
    shutil.copy(path, copy)

    def happens():
        if change in ("deleted", "made anew"):
            path.unlink()
        if change.startswith("moved"):
            path.rename(directory / "aside.db")
        if change == "moved and linked":
            path.symlink_to(directory / "aside.db")
        if change == "replaced":
            copy.rename(path)
        if change == "made anew":
            opened(path)

    def decide(spent):
        if when == "inside":
            happens()
        return 0.25, {}

    if when == "before":
        happens()
    refuses(lambda: store.reserve(decide), r"deleted, moved or replaced|readonly database")
    refuses(store.spent, "deleted, moved or replaced")
    refuses(lambda: store.commit(1), "deleted, moved or replaced")
    store.close()
    refuses(lambda: store.reserve(half), "deleted, moved or replaced")


def test_while_it_is_being_opened(path, monkeypatch):
    """Whatever comes first, the file is gone and that is said."""

    def gone(name):
        path.unlink()
        return check_header(name)

    check_header = files.check_header
    monkeypatch.setattr("hockeystick.ledger.connections.check_header", gone)
    refuses(lambda: opened(path), "cannot be read: No such file")
    monkeypatch.undo()
    opened(path).close()
    monkeypatch.setattr(
        "hockeystick.ledger.connections.check_header",
        lambda name: (check_header(name), path.unlink())[0],
    )
    refuses(lambda: opened(path), "was deleted or moved: No such file")


def test_an_unopened_store_does_not_make_the_file(path):
    """A path without a file is a new ledger only for who opens it."""
    store = opened(path)
    store.close()
    path.unlink()
    refuses(store.spent, "deleted")
    assert not path.exists()


def test_an_older_copy_put_back_in_place(path, directory):
    """An open store notices; one that is opened later cannot."""
    store = opened(path)
    before = path.read_bytes()
    store.reserve(half)
    store.close()
    path.write_bytes(before)
    refuses(lambda: store.reserve(half), "has forgotten reservations")
    refuses(store.spent, "has forgotten reservations")
    assert opened(path).spent() == 0.5


# -- copied and moved -----------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["copy", "move", "rename"])
def test_copies_are_refused(path, directory, how, capsys):
    """Until somebody says that this is the one in use; then what it knew is spent."""
    (directory / "other").mkdir()
    target = directory / ("new.db" if how == "rename" else "other/ledger.db")
    (shutil.copy if how == "copy" else shutil.move)(path, target)
    refuses(lambda: opened(target), "may be a copy")
    assert "may be a copy" in problems(target)
    assert any("may be a copy" in warning for warning in read_ledger(target)[0].warnings)
    assert main(["ledger", "adopt", str(target)]) == 0
    assert "default: 0.50000 of 1.0000 spent" in capsys.readouterr().out
    assert opened(target).spent() == 0.5
    assert not problems(target)


def test_a_file_that_replaced_another(path, directory):
    """The same path, another file: a backup that was put back is one as well."""
    shutil.copy(path, directory / "backup.db")
    path.unlink()
    (directory / "backup.db").rename(path)
    refuses(lambda: opened(path), "may be a copy")


def test_a_machine_that_starts_again(path, monkeypatch):
    """Devices may have other numbers then; the path is the same."""
    with sqlite3.connect(path) as file:
        (text,) = file.execute("SELECT place FROM hockeystick_ledger").fetchone()
        device = path.stat().st_dev
        assert f'"device": {device}' in text
        other = text.replace(f'"device": {device}', f'"device": {device + 1}')
        file.execute("UPDATE hockeystick_ledger SET place = ?", (other,))
    file.close()
    forge_file(path)
    assert opened(path).spent() == 0.5


def test_a_copy_without_its_journal(path, directory):
    """Pages of an unfinished transaction are in it: it is refused, and cannot be adopted."""
    store = opened(path)
    for _ in range(40):
        store.reserve(lambda spent: (2.0**-10, {"text": "x" * 200}))
    pages = path.read_bytes()
    for _ in range(40):
        store.reserve(lambda spent: (2.0**-10, {"text": "x" * 200}))
    store.close()
    newer = path.read_bytes()
    # Half of the pages that the last transactions wrote, the row of the budget not among them.
    torn = pages[: len(pages) // 2] + newer[len(pages) // 2 :]
    copy = directory / "copy.db"
    copy.write_bytes(torn)
    for use in (opened, adopt):
        with pytest.raises(LedgerError, match=r"damaged|may be a copy|cannot be used"):
            use(copy)
    with pytest.raises(LedgerError, match=r"damaged|cannot be used"):
        adopt(copy)


def test_what_cannot_be_adopted(tmp_path, capsys):
    """Only files that exist and are ledgers."""
    (tmp_path / "empty.db").touch()
    for wrong in (tmp_path / "none.db", tmp_path / "empty.db", "postgresql://u:pw@h/base"):
        with pytest.raises(InvalidParameter, match="ledger must be"):
            adopt(wrong)
        assert main(["ledger", "adopt", str(wrong)]) == 2
    assert "pw" not in capsys.readouterr().err
    assert not (tmp_path / "none.db").exists()


def test_a_new_ledger_is_whole_or_not_there(tmp_path, monkeypatch):
    """An error while it is made leaves nothing behind."""
    monkeypatch.setattr("hockeystick.ledger.tables.metadata.create_all", _failing)
    with pytest.raises(LedgerError, match="cannot be made") as error:
        opened(tmp_path / "ledger.db")
    assert one_sentence(error)
    assert not list(tmp_path.iterdir())


def _failing(connection):
    raise OSError(28, "No space left on device")


@pytest.mark.parametrize("suffix", ["-journal", "-wal"])
def test_what_is_left_of_a_ledger_that_is_gone(path, directory, suffix):
    """A new one in its place would get the old pages."""
    path.unlink()
    path.with_name(path.name + suffix).write_bytes(b"pages of the old file")
    refuses(lambda: opened(path), "is left of a ledger that is no longer at")
    assert [file.name for file in directory.iterdir()] == [path.name + suffix]


def test_an_empty_file_is_no_new_ledger(tmp_path):
    """It may be one that was cut off."""
    (tmp_path / "ledger.db").touch()
    with pytest.raises(InvalidParameter, match="which is empty"):
        open_store(tmp_path / "ledger.db", name="x", budget=1.0, description={})
