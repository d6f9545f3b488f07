"""Budgets of single examples in a ledger: durable, for one process at a time, and secret."""

from __future__ import annotations

import numpy as np
import pytest

import hockeystick as hs
from hockeystick.errors import InvalidParameter
from hockeystick.filters import Individual
from hockeystick.ledger import Ledger, LedgerError, open_store
from ledger.test_audit import tamper
from ledger.workers import processes

NORMS = [0.5, 1.0, 20.0]


def opened(where, name="people", **changes):
    """Budgets of three examples."""
    return Individual.gaussian(
        **{"examples": 3, "mu": 1.0, "ledger": where, "name": name} | changes
    )


def charge_and_die(path):
    """One step in a process of its own, which ends without a word."""
    import os

    opened(path).step(NORMS, noise_multiplier=4.0)
    os._exit(1)


def test_they_go_on_where_they_were(where, name):
    """The same name again has what is left, to the last bit, and its number of steps."""
    first, plain = opened(where, name), Individual.gaussian(examples=3, mu=1.0)
    for _ in range(3):
        step, wanted = (one.step(NORMS, noise_multiplier=4.0) for one in (first, plain))
        assert np.array_equal(step.factors, wanted.factors)
    again = opened(where, name)
    assert np.array_equal(again.remaining, plain.remaining)
    assert again.steps == 3
    again.step(NORMS, noise_multiplier=4.0)
    with pytest.raises(LedgerError, match="somebody else has charged"):
        first.step(NORMS, noise_multiplier=4.0)
    assert np.array_equal(first.remaining, plain.remaining)


def test_a_step_is_on_the_disk_before_it_returns(directory):
    """A process that dies right after it has spent."""
    path = directory / "ledger.db"
    opened(path)
    for steps in (1, 2):
        process = processes.Process(target=charge_and_die, args=(path,))
        process.start()
        process.join()
        assert process.exitcode == 1
        assert opened(path).steps == steps


def test_the_file_is_for_its_owner(directory):
    """What examples have spent depends on the data: a file that others can read is refused."""
    path = directory / "ledger.db"
    people = opened(path)
    assert path.stat().st_mode & 0o777 == 0o600
    path.chmod(0o640)
    for use in (lambda: opened(path), lambda: people.step(NORMS, noise_multiplier=4.0)):
        with pytest.raises(LedgerError, match="can be read by others"):
            use()
    path.chmod(0o600)
    people.step(NORMS, noise_multiplier=4.0)


def test_a_saved_state_is_for_its_owner(tmp_path):
    """Also one that takes the place of a file that others could read."""
    people = Individual.gaussian(examples=3, mu=1.0)
    path = tmp_path / "state.npz"
    path.touch(mode=0o644)
    people.save(path)
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_saved_state_is_on_the_disk(tmp_path, monkeypatch):
    """The file and its name are, before `save` returns."""
    synced = []
    monkeypatch.setattr("os.fsync", synced.append)
    Individual.gaussian(examples=3, mu=1.0).save(tmp_path / "state.npz")
    assert len(synced) == 2


@pytest.mark.parametrize(
    "sql",
    [
        "UPDATE hockeystick_individual SET steps = steps - 1",
        "UPDATE hockeystick_individual SET remaining = zeroblob(24)",
        "UPDATE hockeystick_individual SET description = replace(description, '1.0', '9.0')",
        "DELETE FROM hockeystick_individual",
    ],
)
def test_tampering_is_noticed(directory, sql):
    """The rows are in the chain, like those of other budgets."""
    path = directory / "ledger.db"
    opened(path).step(NORMS, noise_multiplier=4.0)
    tamper(path, sql)
    with pytest.raises(LedgerError, match="damaged"):
        opened(path)


def test_other_budgets_and_names(directory):
    """Another rule, another number of examples, a typo, a name that is missing."""
    path = directory / "ledger.db"
    opened(path)
    for changes in ({"mu": 2.0}, {"examples": 4}):
        with pytest.raises(InvalidParameter, match="as when"):
            opened(path, **changes)
    with pytest.raises(InvalidParameter, match="further from 'people'"):
        opened(path, "poeple")
    with pytest.raises(InvalidParameter, match="which has 'people'"):
        opened(path, "animals", must_exist=True)
    opened(path, "poeple", must_exist=False)
    with pytest.raises(InvalidParameter, match="left out without a ledger"):
        Individual.gaussian(examples=3, mu=1.0, must_exist=True)


def test_load_is_refused_with_a_ledger(directory):
    """The ledger is what counts."""
    people = opened(directory / "ledger.db")
    people.save(directory / "state.npz")
    with pytest.raises(InvalidParameter, match="the ledger keeps"):
        people.load(directory / "state.npz")


def test_beside_other_budgets_and_with_a_key(directory):
    """One ledger, one chain, one key."""
    ledger = Ledger(directory / "ledger.db", key=b"0123456789abcdef" * 2)
    people = Individual.renyi(examples=3, epsilon=2.0, delta=1e-5, ledger=ledger, name="people")
    store = open_store(ledger, name="people", budget=1.0, description={})
    store.reserve(lambda spent: (0.5, {}))
    people.step(NORMS, noise_multiplier=2.0)
    store.reserve(lambda spent: (0.5, {}))
    (found,) = hs.ledger.audit(ledger)
    assert found.problems == []
    again = Individual.renyi(examples=3, epsilon=2.0, delta=1e-5, ledger=ledger, name="people")
    assert np.array_equal(again.remaining, people.remaining)
