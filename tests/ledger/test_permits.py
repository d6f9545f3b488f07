"""A reservation is given back by who made it, and by nobody else."""

from __future__ import annotations

import os
import threading

import pytest

from hockeystick import filters
from hockeystick.errors import HockeystickError, InvalidParameter, LedgerError
from hockeystick.ledger import audit
from ledger.workers import CHARGE, Place, decide, exit_code_of

REFUSED = "an entry that this store reserved in this process"


@pytest.fixture
def place(where, name):
    """A budget for four requests."""
    return Place(where, name, 4 * CHARGE)


def cancel_all(place: Place) -> None:
    """In another process: every entry that can be given back."""
    store = place.open()
    for entry in store.history():
        try:
            store.cancel(entry.number)
        except InvalidParameter:
            continue


@pytest.mark.slow
def test_another_process_cannot_cancel(place):
    """The step runs, commits, and is counted."""
    store = place.open()
    number = store.reserve(decide).number
    assert exit_code_of(cancel_all, place) == 0
    assert store.spent() == CHARGE
    store.commit(number)
    assert store.history()[0].status == "committed"
    assert not audit(place.where, name=place.name)[0].problems


def test_another_store_cannot_cancel(place):
    """Neither can one of the same process, which has the same number and host."""
    first, second = place.open(), place.open()
    number = first.reserve(decide).number
    with pytest.raises(InvalidParameter, match=REFUSED):
        second.cancel(number)
    assert second.spent() == CHARGE
    first.cancel(number)
    second.cancel(number)  # harmless: it is given back already
    assert first.spent() == second.spent() == 0.0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_child_cannot_cancel(directory, name):
    """It has a copy of the permit, which the parent may be running."""
    f = filters.Gaussian(mu=1.0, ledger=directory / "ledger.db", name=name)
    in_memory = filters.Gaussian(mu=1.0)
    permits = [one.request(noise_multiplier=4.0) for one in (f, in_memory)]
    child = os.fork()
    if child == 0:
        for permit, error in zip(permits, (InvalidParameter, LedgerError), strict=True):
            try:
                permit.cancel()
            except error:
                continue
            os._exit(1)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    for one, permit in zip((f, in_memory), permits, strict=True):
        permit.commit()
        assert one.spent == one.history[0].charge > 0


def test_a_permit_is_cancelled_by_another_thread(place):
    """Threads share the store."""
    store = place.open()
    number = store.reserve(decide).number
    thread = threading.Thread(target=store.cancel, args=(number,))
    thread.start()
    thread.join()
    assert store.spent() == 0.0


@pytest.mark.parametrize("how", ["left", "failed", "committed", "cancelled"])
def test_a_permit_is_for_one_step(how):
    """However the first use ended."""
    f = filters.Gaussian(mu=1.0)
    permit = f.request(noise_multiplier=4.0)
    if how == "left":
        with permit:
            pass
    if how == "failed":
        with pytest.raises(ZeroDivisionError), permit:
            raise ZeroDivisionError
    if how == "committed":
        permit.commit()
    if how == "cancelled":
        permit.cancel()
    with pytest.raises(HockeystickError, match="The permit 1 was used, and is for one step"):
        permit.__enter__()
