"""Audits find what does not add up, and account for what was run."""

from __future__ import annotations

import math
import sqlite3
from datetime import timedelta

import pytest

import hockeystick as hs
from hockeystick.errors import InvalidParameter
from hockeystick.ledger import LedgerError, audit, open_store, read_ledger

DELTA = 1e-5


@pytest.fixture
def path(directory):
    """Where the ledger is."""
    return directory / "ledger.db"


def store_with(path, requests, **description):
    """A ledger of committed requests, each with the charge 1/1024."""
    store = open_store(path, name="default", budget=1.0, description=description)
    for request in requests:
        store.commit(store.reserve(lambda spent, request=request: (2.0**-10, request)).number)
    return store


def tamper(path, statement):
    """Change the file behind the library's back, its checks switched off."""
    with sqlite3.connect(path) as file:
        file.execute("PRAGMA ignore_check_constraints = ON")
        file.execute(statement)
    file.close()


def problems(path):
    """What the audit says, in one text."""
    (found,) = audit(path)
    return " ".join(found.problems)


def test_a_sound_ledger(where, name):
    """Cancelled entries are not counted, open ones are listed with their age."""
    store = open_store(where, name=name, budget=1.0, description={"kind": "proven"})
    numbers = [store.reserve(lambda spent: (0.1, {})).number for _ in range(4)]
    store.commit(numbers[0])
    store.cancel(numbers[1])
    (found,) = audit(where, name=name)
    assert not found.problems
    assert not found.warnings
    assert found.realised is None
    assert found.spent == store.spent() == pytest.approx(0.3)
    assert [entry.number for entry in found.open_entries] == [3, 4]
    assert all(timedelta(0) <= entry.age < timedelta(minutes=1) for entry in found.open_entries)


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("UPDATE hockeystick_budgets SET spent = 0.001", "but the running total is 0.001"),
        ("UPDATE hockeystick_entries SET charge = 0 WHERE number = 2", "The entries sum to"),
        ("UPDATE hockeystick_entries SET charge = 3 WHERE number = 2", "spent of a budget of 1.0"),
        ("UPDATE hockeystick_budgets SET spent = 1.25", "1.25 was spent of a budget of 1.0"),
        ("UPDATE hockeystick_entries SET charge = -1 WHERE number = 2", "Entry 2 has the charge"),
        ("UPDATE hockeystick_entries SET number = 9 WHERE number = 2", "are not 1 to 3"),
        ("DELETE FROM hockeystick_entries WHERE number = 3", "The numbers of the 2 entries"),
        ("UPDATE hockeystick_entries SET status = 'reserved' WHERE number = 1", "Entry 1 is"),
    ],
)
def test_what_does_not_add_up(path, statement, message):
    """Every invariant is checked."""
    store_with(path, [{}] * 3).close()
    assert not problems(path)
    tamper(path, statement)
    assert message in problems(path)


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE hockeystick_entries SET request = '{' WHERE number = 2",
        "UPDATE hockeystick_entries SET request = '[]' WHERE number = 2",
        "UPDATE hockeystick_entries SET reserved_at = 'noon' WHERE number = 2",
        "UPDATE hockeystick_entries SET charge = 'much' WHERE number = 2",
        "UPDATE hockeystick_entries SET reserved_at = '2026-01-01T00:00:00', status = 'reserved'",
    ],
)
def test_what_cannot_be_read(path, statement):
    """A damaged row is one sentence, not a traceback from deep inside."""
    store_with(path, [{}] * 3).close()
    tamper(path, statement)
    with pytest.raises(LedgerError, match="damaged"):
        audit(path)


def test_an_asymptotic_budget_is_marked(path):
    """Its numbers are not proven for finitely many steps."""
    store_with(path, [], kind="asymptotic")
    assert "not a proven guarantee" in audit(path)[0].warnings[0]


def test_reading_creates_nothing(tmp_path):
    """Neither a file nor tables in a file of somebody else."""
    with pytest.raises(InvalidParameter, match="a file that exists"):
        read_ledger(tmp_path / "ledger.db")
    assert not list(tmp_path.iterdir())
    tamper(tmp_path / "other.db", "CREATE TABLE other (x)")
    with pytest.raises(InvalidParameter, match="a ledger written by this library"):
        read_ledger(tmp_path / "other.db")


def test_unknown_names(path):
    """The message has the names that exist."""
    store_with(path, [])
    with pytest.raises(InvalidParameter, match=r"name must be a budget .*'default'.*'other'"):
        audit(path, name="other")


@pytest.mark.parametrize("delta", [0.0, 1.0, math.nan])
def test_deltas_that_are_none(path, delta):
    """As everywhere."""
    store_with(path, [])
    with pytest.raises(InvalidParameter, match="delta must be"):
        audit(path, delta=delta)


def realised(path):
    """Epsilon of the steps in the ledger."""
    return audit(path, delta=DELTA)[0].realised


def test_realised_epsilon_of_full_batches(path):
    """Gaussians with clip scales compose to one Gaussian: mu^2 is the sum of (c/s)^2."""
    store_with(
        path,
        [{"rate": 1.0, "noise_multiplier": 8.0}] * 9
        + [{"rate": 1, "noise_multiplier": 4.0, "clip_scale": 0.5}] * 6
        + [{"rate": 1, "noise_multiplier": 16.0, "sensitivity": 2.0, "steps": 10}],
    )
    found = realised(path)
    expected = hs.Profile.gaussian(noise_multiplier=8 / math.sqrt(25)).epsilon(DELTA)
    assert found.epsilon == pytest.approx(expected, rel=2e-2)
    assert found.epsilon >= expected * (1 - 1e-9)
    assert found.steps == 25


@pytest.mark.slow
def test_realised_epsilon_of_poisson_steps(path):
    """The same as that of the plan, if the plan was followed."""
    store_with(path, [{"rate": 0.05, "noise_multiplier": 1.5}] * 40)
    plan = hs.Plan(sampling=hs.Poisson(rate=0.05), steps=40)
    expected = hs.account(plan, noise_multiplier=1.5).epsilon(delta=DELTA)
    assert realised(path).epsilon == pytest.approx(expected, rel=2e-2)


def test_many_different_steps_are_merged_upwards(path):
    """Epsilon is above the exact one, by what rounding the parameters can do."""
    noises = [8 + step / 100 for step in range(200)]
    store_with(path, [{"rate": 1.0, "noise_multiplier": noise} for noise in noises])
    found = realised(path)
    total = math.fsum(noise**-2 for noise in noises)
    exact = hs.Profile.gaussian(noise_multiplier=total**-0.5).epsilon(DELTA)
    assert "rounded on the safe side" in found.note
    assert exact <= found.epsilon <= 1.05 * exact


def test_cancelled_steps_do_not_count_and_open_ones_do(path):
    """What may have been run counts."""
    store = store_with(path, [])
    request = {"rate": 1.0, "noise_multiplier": 4.0}
    numbers = [store.reserve(lambda spent: (0.1, request)).number for _ in range(3)]
    store.cancel(numbers[0])
    store.commit(numbers[1])
    assert realised(path).steps == 2


@pytest.mark.parametrize(
    "request_",
    [{}, {"rate": 0.5}, {"rate": "x", "noise_multiplier": 1}, {"rate": 2, "noise_multiplier": 1}],
)
def test_steps_that_are_not_known(path, request_):
    """Other mechanisms have no epsilon here, and the entry is named."""
    store_with(path, [{"rate": 1.0, "noise_multiplier": 4.0}, request_])
    found = realised(path)
    assert found.epsilon is None
    assert "entry 2" in found.note


def test_nothing_costs_nothing(path):
    """An empty budget has epsilon zero."""
    store_with(path, [])
    assert realised(path).epsilon == 0.0
