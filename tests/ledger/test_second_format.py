"""Ledgers of the second version, which had checksums and no chain; and keys on a server."""

from __future__ import annotations

import secrets
import sqlite3

import psycopg
import pytest

import hockeystick as hs
from hockeystick.errors import BudgetExceeded, InvalidParameter
from hockeystick.ledger import Ledger, LedgerError, audit, authenticate, head, read_ledger
from ledger.earlier import write_second
from ledger.test_opening import DESCRIPTION, opened

KEY, OTHER = secrets.token_bytes(32), secrets.token_bytes(32)
STATUSES = ["committed", "reserved", "cancelled"]
# What is done to a ledger of the second version, and what it is refused for.
DAMAGE = {
    "UPDATE hockeystick_entries SET charge = 0.125 WHERE number = 3": "does not match its checksum",
    "UPDATE hockeystick_budgets SET spent = 0.25": "does not match its checksum",
    "DELETE FROM hockeystick_entries WHERE number = 1": "sum to 0.25 and not to 0.5",
    "DELETE FROM hockeystick_entries": "sum to 0.0 and not to 0.5",
}


def change(where, *commands):
    """By somebody with access to the file or the server."""
    server = str(where).startswith("postgresql")
    connection = psycopg.connect(where) if server else sqlite3.connect(where)
    for command in commands:
        connection.execute(command)
    connection.commit()
    connection.close()


def test_it_goes_on_with_a_chain(where):
    """What was there is read as it is, and bound from the first opening on."""
    write_second(where, DESCRIPTION)
    assert [entry.status for entry in read_ledger(where)[0].entries] == STATUSES
    assert audit(where)[0].problems == []
    with pytest.raises(InvalidParameter, match="earlier ones have no chain"):
        head(where)
    store = opened(where)
    assert (store.spent(), [one.status for one in store.history()]) == (0.5, STATUSES)
    store.commit(2)
    assert store.reserve(lambda spent: (0.5, {})).number == 4
    with pytest.raises(BudgetExceeded):
        store.reserve(lambda spent: (0.25, {}))
    store.close()
    # Its place, the budget, three reservations and what became of two of them; then two more.
    assert head(where).records == 1 + 1 + 3 + 2 + 2
    assert audit(where)[0].problems == []
    change(where, "UPDATE hockeystick_entries SET host = 'other' WHERE number = 1")
    with pytest.raises(LedgerError, match="damaged"):
        opened(where)


@pytest.mark.parametrize("command", DAMAGE)
def test_damage_is_not_given_a_chain(where, command):
    """Everything is checked as the second version did; nothing is changed."""
    write_second(where, DESCRIPTION)
    change(where, command)
    for use in (opened, read_ledger):
        with pytest.raises(LedgerError, match=DAMAGE[command]):
            use(where)
    with pytest.raises(LedgerError, match="damaged"):
        authenticate(where, key=KEY)


def test_a_budget_that_was_lost(tmp_path):
    """A file of the second version counts its budgets."""
    path = str(tmp_path / "ledger.db")
    write_second(path, DESCRIPTION)
    change(path, "DELETE FROM hockeystick_entries", "DELETE FROM hockeystick_budgets")
    with pytest.raises(LedgerError, match="it has 0 budgets and not 1"):
        opened(path)


def test_a_chain_that_was_taken_away_is_no_second_version(where):
    """Its tables cut down to those of an earlier version are damage."""
    opened(where).close()
    change(where, "DROP TABLE hockeystick_chain", "DROP TABLE hockeystick_individual")
    with pytest.raises(LedgerError, match="it has lost its chain"):
        opened(where)


def test_it_can_be_given_a_key(where):
    """Converted and authenticated at once."""
    write_second(where, DESCRIPTION)
    authenticate(where, key=KEY)
    (record,) = read_ledger(Ledger(where, key=KEY))
    assert (record.spent, record.reservations) == (0.5, 3)
    with pytest.raises(LedgerError, match="authenticated with a key"):
        opened(where)


@pytest.mark.postgres
@pytest.mark.slow
def test_keys_on_a_server(postgres_url):
    """A first key, then another; stores that were open are refused, and so are forgeries."""
    url = postgres_url
    before = opened(url)
    before.commit(before.reserve(lambda spent: (0.25, {"who": "first"})).number)
    people = hs.filters.Individual.gaussian(examples=3, mu=1.0, ledger=url, name="people")
    people.step([0.1, 0.2, 0.3], noise_multiplier=2.0)
    noted = head(url)
    authenticate(url, key=KEY)
    with pytest.raises(LedgerError, match="does not match its checksum"):
        before.reserve(lambda spent: (0.25, {}))
    with pytest.raises(LedgerError, match="authenticated with a key: give it"):
        opened(url)
    secured = Ledger(url, key=KEY)
    store = opened(secured)
    assert store.spent() == 0.25
    store.reserve(lambda spent: (0.25, {}))
    assert head(secured).records == noted.records + 1
    assert any("was noted" in line for line in audit(secured, head=noted)[0].problems)
    authenticate(secured, key=OTHER)
    with pytest.raises(LedgerError, match="authenticated with another key"):
        opened(secured)
    latest = Ledger(url, key=OTHER)
    assert audit(latest)[0].problems == []
    assert opened(latest).spent() == 0.5
    change(url, "UPDATE hockeystick_entries SET request = '{}' WHERE number = 1")
    for use in (opened, read_ledger, lambda where: authenticate(where, key=KEY)):
        with pytest.raises(LedgerError, match="damaged"):
            use(latest)
