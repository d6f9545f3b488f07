"""Flipped bits, cut files and edited rows: one sentence, or nothing happens; never less spent."""

from __future__ import annotations

import random
import shutil
import sqlite3

import pytest

from hockeystick.cli.main import main
from hockeystick.errors import HockeystickError
from hockeystick.ledger import audit, open_store, read_ledger
from ledger.server import quick_directory

pytestmark = pytest.mark.slow

BUDGETS = {"first": 1.0, "second": 3.0}
DESCRIPTION = {"filter": "renyi", "kind": "proven"}
CHARGE = 2.0**-7
CUTS, EDITS = 20, 50
# Bits that are flipped, one after the other; the long run flips more of them.
FLIPS = [60, pytest.param(600, marks=pytest.mark.long)]
# One in so many also goes through the command line.
COMMANDS = 6


def opened(path, name):
    """One of the two stores."""
    return open_store(path, name=name, budget=BUDGETS[name], description=DESCRIPTION)


@pytest.fixture(scope="module")
def path():
    """A ledger with committed, open and cancelled entries in two budgets."""
    directory = quick_directory()
    file = directory / "ledger.db"
    for name in BUDGETS:
        store = opened(file, name)
        for turn in range(30):
            number = store.reserve(lambda spent: (CHARGE, {"rate": 0.1, "steps": 3})).number
            if turn % 3:
                store.commit(number)
            elif turn % 2:
                store.cancel(number)
        store.close()
    yield file
    shutil.rmtree(directory)


@pytest.fixture(scope="module")
def whole(path):
    """Its bytes."""
    return path.read_bytes()


SPENT = 25 * CHARGE


def refused(use, *arguments):
    """Whether it ended with one sentence; other errors come through."""
    try:
        use(*arguments)
    except HockeystickError as error:
        text = str(error)
        return 0 < len(text.splitlines()) <= 1 and "Traceback" not in text
    return False


def spends_no_more(path, name):
    """What was left can be spent at most once, and not a place more."""
    store = opened(path, name)
    assert store.spent() >= SPENT
    too_much = BUDGETS[name] - SPENT + 2.0**-40
    assert refused(store.reserve, lambda spent: (too_much, {}))
    store.reserve(lambda spent: (BUDGETS[name] - SPENT, {}))
    assert store.spent() == BUDGETS[name]
    assert refused(store.reserve, lambda spent: (CHARGE, {}))
    store.close()


def shows_no_less(path):
    """Every budget is there with at least what was spent."""
    found = {record.name: record.spent for record in read_ledger(path)}
    assert found.keys() == BUDGETS.keys()
    assert all(spent >= SPENT for spent in found.values())


def check(path, capsys, turn=0):
    """Reports, stores and commands on a file that may be damaged; whether it was refused."""
    untouched = path.read_bytes()
    outcomes = [refused(shows_no_less, path), refused(audit, path)]
    if turn % COMMANDS == 0:
        check_commands(path, capsys, damaged=outcomes[0])
    assert path.read_bytes() == untouched
    outcomes += [refused(spends_no_more, path, name) for name in BUDGETS]
    return any(outcomes)


def check_commands(path, capsys, *, damaged):
    """Exit status 2 and one line for what cannot be shown; an audit may also list problems."""
    for command in ("show", "audit"):
        status = main(["ledger", command, str(path)])
        printed = capsys.readouterr()
        assert status in (0, 1, 2)
        assert "Traceback" not in printed.out + printed.err
        assert printed.err.count("\n") == (status == 2)
        assert command == "audit" or (status == 2) == damaged


def restore(path, content):
    """Put the content back into the same file."""
    for suffix in ("-journal", "-wal", "-shm"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)
    path.write_bytes(content)


def test_nothing_is_wrong_without_a_mutation(path, whole, capsys):
    """The checks pass on the file as it is."""
    restore(path, whole)
    assert not check(path, capsys)


@pytest.mark.parametrize("flips", FLIPS)
def test_flipped_bits(path, whole, capsys, flips):
    """Anywhere in the file, some of them aimed at the header and at amounts."""
    rng = random.Random(21)
    amounts = [at for at in range(len(whole)) if whole[at : at + 2] == b"\x3f\x80"]
    found = 0
    for turn in range(flips):
        damaged = bytearray(whole)
        place = rng.choice(
            [rng.randrange(len(whole)), rng.randrange(200), rng.choice(amounts) + rng.randrange(8)]
        )
        damaged[place] = rng.randrange(256) if turn % 5 == 0 else damaged[place] ^ 1 << turn % 8
        restore(path, damaged)
        found += check(path, capsys, turn)
    assert found > flips / 4


def test_names_that_are_no_text(path, whole, capsys):
    """Messages of the database quote what is in the schema."""
    for name in (b"hockeystick_budgets", b"hockeystick_entries", b"spent <= budget"):
        at = whole.index(name) + 3
        restore(path, whole[:at] + b"\xe7" + whole[at + 1 :])
        assert check(path, capsys)


def test_cut_files(path, whole, capsys):
    """At every length, none included; longer files are as they were."""
    rng = random.Random(22)
    for turn in range(CUTS):
        length = 0 if turn == 0 else rng.randrange(len(whole))
        restore(path, whole[:length])
        assert check(path, capsys, turn)
    restore(path, whole + bytes(4096))
    check(path, capsys)


COLUMNS = {
    "hockeystick_budgets": [
        "name",
        "description",
        "budget",
        "spent",
        "reservations",
        "created",
        "checksum",
    ],
    "hockeystick_entries": [
        "budget",
        "number",
        "charge",
        "request",
        "status",
        "reserved_at",
        "committed_at",
        "host",
        "pid",
        "checksum",
    ],
    "hockeystick_ledger": ["format", "place"],
}
VALUES = ["0", "0.0", "0.001", "-1", "1e300", "9e999", "NULL", "'x'", "x'00'", "''", "'cancelled'"]


def test_edited_rows(path, whole, capsys):
    """Values of every column, and deleted rows: what is read is compared with its checksum."""
    rng = random.Random(23)
    edits = 0
    while edits < EDITS:
        table = rng.choice(list(COLUMNS))
        rows = f"rowid = (SELECT rowid FROM {table} ORDER BY random() LIMIT 1)"
        change = f"UPDATE {table} SET {rng.choice(COLUMNS[table])} = {rng.choice(VALUES)}"
        if rng.random() < 0.1:
            change = f"DELETE FROM {table}"
        restore(path, whole)
        with sqlite3.connect(path) as file:
            file.execute("PRAGMA ignore_check_constraints = ON")
            try:
                changed = file.execute(f"{change} WHERE {rows}").rowcount
            except sqlite3.IntegrityError:
                changed = 0
        file.close()
        if changed and path.read_bytes()[100:] != whole[100:]:
            edits += 1
            assert check(path, capsys, edits)
