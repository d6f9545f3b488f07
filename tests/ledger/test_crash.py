"""Processes are killed at every point, and what is left is counted."""

from __future__ import annotations

import os
import shutil
import signal
from pathlib import Path

import pytest

from hockeystick.errors import InvalidParameter
from hockeystick.ledger import LedgerError, adopt, audit
from ledger.workers import (
    CHARGE,
    Place,
    cancel_until_written,
    decide,
    die_in_the_middle_of_writing,
    exit_code_of,
    reserve_in_a_fork,
    run_until,
)

pytestmark = pytest.mark.slow

LEFT = {
    "before reserve": [],
    "inside reserve": [],
    "before the reservation is written": [],
    "after reserve": ["reserved"],
    "after run": ["reserved"],
    "before the commitment is written": ["reserved"],
    "after commit": ["committed"],
}


@pytest.fixture
def place(where, name):
    """A budget for four requests."""
    return Place(where, name, 4 * CHARGE)


def check_sound(place):
    """The audit finds nothing."""
    (found,) = audit(place.where, name=place.name)
    assert not found.problems
    return found


@pytest.mark.parametrize("point", LEFT)
def test_kill(place, point):
    """What may have been run is counted, what was not reserved is not, and others go on."""
    assert exit_code_of(run_until, place, point) == -signal.SIGKILL
    store = place.open()
    assert [entry.status for entry in store.history()] == LEFT[point]
    assert store.spent() == CHARGE * len(LEFT[point])
    check_sound(place)
    entry = store.reserve(decide)
    assert entry.number == 1 + len(LEFT[point])
    store.commit(entry.number)
    assert check_sound(place).spent == CHARGE * (1 + len(LEFT[point]))


def test_kill_before_a_cancellation_is_written(place):
    """The charge is not given back."""
    store = place.open()
    assert exit_code_of(cancel_until_written, place) == -signal.SIGKILL
    assert store.spent() == CHARGE
    assert store.history()[0].status == "reserved"
    check_sound(place)


def test_an_entry_of_a_dead_process_stays_counted(place):
    """Another process commits it; none can give it back. The audit lists it until then."""
    exit_code_of(run_until, place, "after reserve")
    exit_code_of(run_until, place, "after run")
    assert [entry.number for entry in check_sound(place).open_entries] == [1, 2]
    store = place.open()
    with pytest.raises(InvalidParameter, match="an entry that this store reserved"):
        store.cancel(1)
    store.commit(2)
    found = check_sound(place)
    assert [entry.number for entry in found.open_entries] == [1]
    assert found.spent == 2 * CHARGE


def test_forked_processes_do_not_share_connections(place):
    """Parent and child go on with the same store, and all four requests are counted."""
    assert exit_code_of(reserve_in_a_fork, place) == 0
    assert [entry.status for entry in place.open().history()] == ["committed"] * 4
    assert check_sound(place).spent == 4 * CHARGE


@pytest.fixture
def torn(directory, name):
    """A ledger with half a transaction of a process that died, and its budget."""
    place = Place(str(directory / "ledger.db"), name, 4 * CHARGE)
    store = place.open()
    for _ in range(2):
        store.commit(store.reserve(decide).number)
    store.close()
    path = Path(place.where)
    before = path.read_bytes()
    assert exit_code_of(die_in_the_middle_of_writing, path) == -signal.SIGKILL
    assert path.read_bytes() != before
    assert path.with_name("ledger.db-journal").exists()
    return place


def test_half_a_transaction_is_undone(torn):
    """By whoever comes next, reading or writing."""
    assert check_sound(torn).spent == 2 * CHARGE
    assert not Path(torn.where).with_name("ledger.db-journal").exists()
    assert torn.open().reserve(decide).number == 3


@pytest.mark.parametrize("how", ["copied", "moved", "linked"])
def test_half_a_transaction_without_its_journal(torn, directory, how):
    """Under another name nobody knows of the journal: refused, and not to be adopted either."""
    path, other = Path(torn.where), directory / "other.db"
    {"copied": shutil.copy, "moved": shutil.move, "linked": os.link}[how](path, other)
    for use in (torn._replace(where=str(other)).open, lambda: adopt(other)):
        with pytest.raises(
            LedgerError, match=r"may be a copy|2 names|is left of a transac|damaged|be used"
        ):
            use()
    with pytest.raises(LedgerError, match=r"2 names|is left of a transaction"):
        adopt(other)
    if how == "moved":
        with pytest.raises(LedgerError, match="is left of a ledger"):
            torn.open()
    else:
        other.unlink()
        assert check_sound(torn).spent == 2 * CHARGE
