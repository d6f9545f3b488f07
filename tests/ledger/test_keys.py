"""Forgeries of a ledger: without a key noted heads find them, with one every use does."""

from __future__ import annotations

import random
import secrets
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
import sqlalchemy as sa

from hockeystick.errors import InvalidParameter
from hockeystick.ledger import Ledger, LedgerError, adopt, audit, authenticate, open_store
from hockeystick.ledger import head as head_of
from hockeystick.ledger.locations import location
from hockeystick.ledger.schema import TABLES
from ledger.chained import Copy, another, columns_of, fill, rows_in
from ledger.forging import forge
from ledger.test_audit import tamper

KEY = secrets.token_bytes(32)
OTHER = secrets.token_bytes(32)


@pytest.fixture
def path(directory) -> Path:
    """A small ledger without a key."""
    fill(directory / "plain.db", entries=20)
    return directory / "plain.db"


@pytest.fixture
def keyed(directory) -> Ledger:
    """A small ledger with one."""
    found = Ledger(directory / "keyed.db", key=KEY)
    fill(found, entries=20)
    return found


def test_without_a_key_a_complete_forgery_is_not_noticed(path):
    """Digests need no secret: as the page says, and why there are keys and noted heads."""
    noted = str(head_of(path))
    tamper(path, "UPDATE hockeystick_entries SET charge = 0.5 WHERE budget = 'first'")
    spent = "(SELECT sum(charge) FROM hockeystick_entries WHERE budget = 'first'"
    spent += " AND status <> 'cancelled')"
    tamper(path, f"UPDATE hockeystick_budgets SET spent = {spent} WHERE name = 'first'")
    assert audit(path, name="first")[0].problems
    tamper(path, "DELETE FROM hockeystick_individual")
    engine = sa.create_engine(f"sqlite:///{path}")
    with engine.begin() as connection:
        forge(connection, path)
    engine.dispose()
    assert audit(path, name="first")[0].problems == []
    problems = audit(path, name="first", head=noted)[0].problems
    assert any("the head that was noted is not in its chain" in line for line in problems)


@pytest.mark.parametrize("with_key", [None, OTHER], ids=["no key", "another key"])
def test_with_a_key_the_same_forgery_is_noticed(keyed, with_key):
    """By every use, whether the forger leaves the mark of the key, takes it away or has another."""
    path = keyed._where
    mark = sqlite3.connect(path).execute("SELECT key FROM hockeystick_ledger").fetchone()[0]
    tamper(path, "DELETE FROM hockeystick_individual")
    engine = sa.create_engine(f"sqlite:///{path}")
    with engine.begin() as connection:
        forge(connection, path, key=with_key)
    engine.dispose()
    for kept in (False, True):
        if kept:
            tamper(path, f"UPDATE hockeystick_ledger SET key = '{mark}'")
            assert audit(keyed)[0].problems
        else:
            with pytest.raises(LedgerError, match=r"is (not )?authenticated with"):
                audit(keyed)
        with pytest.raises(LedgerError):
            open_store(keyed, name="first", budget=1e6, description={"unit": "one"})
        with pytest.raises(LedgerError):
            adopt(keyed)


def test_rows_of_another_moment_with_a_key(keyed, directory):
    """One budget put back to an older state, with its old checksums, is noticed; all of them not.

    What the page says: a whole older state is a state that the owner of the key wrote.
    """
    path, older = keyed._where, directory / "older.db"
    noted = head_of(keyed)
    shutil.copy(path, older)
    store = open_store(keyed, name="first", budget=1e6, description={"unit": "one"})
    store.commit(store.reserve(lambda spent: (1.0, {})).number)
    store.close()
    newer = head_of(keyed)
    whole = path.read_bytes()
    tables = ("budgets", "entries", "chain", "individual", "ledger")
    for put_back in (("budgets",), ("budgets", "entries"), ("chain",), ("entries", "chain")):
        with closing(sqlite3.connect(path, isolation_level=None)) as file:
            file.execute("ATTACH ? AS older", (str(older),))
            for table in put_back:
                file.execute(f"DELETE FROM main.hockeystick_{table}")
                sql = (
                    f"INSERT INTO main.hockeystick_{table} SELECT * FROM older.hockeystick_{table}"
                )
                file.execute(sql)
        assert audit(keyed, name="first")[0].problems, put_back
        path.write_bytes(whole)
    with closing(sqlite3.connect(path, isolation_level=None)) as file:
        file.execute("ATTACH ? AS older", (str(older),))
        for table in tables:
            file.execute(f"DELETE FROM main.hockeystick_{table}")
            sql = f"INSERT INTO main.hockeystick_{table} SELECT * FROM older.hockeystick_{table}"
            file.execute(sql)
    assert audit(keyed, name="first")[0].problems == []
    assert audit(keyed, name="first", head=noted)[0].problems == []
    assert audit(keyed, name="first", head=str(newer))[0].problems
    with pytest.raises(LedgerError, match="forgotten"):
        store.reserve(lambda spent: (1.0, {}))


def test_records_of_two_pasts_with_a_key(keyed, directory):
    """A record and its row, both sealed with the key, do not fit into another past.

    After an older state was put back the ledger goes on in another way; an entry of the first way,
    of the same number and charge, is put in the place of that of the second.
    """
    path, first = keyed._where, directory / "first.db"
    before = path.read_bytes()

    def reserved(who: str) -> int:
        store = open_store(keyed, name="first", budget=1e6, description={"unit": "one"})
        number = store.reserve(lambda spent: (1.0, {"who": who})).number
        store.close()
        return number

    number = reserved("one")
    shutil.copy(path, first)
    position = head_of(keyed).records
    path.write_bytes(before)
    assert reserved("other") == number
    reserved("later")
    assert audit(keyed)[0].problems == []
    with closing(sqlite3.connect(path, isolation_level=None)) as file:
        file.execute("ATTACH ? AS first", (str(first),))
        for table, where in (
            ("hockeystick_entries", f"budget = 'first' AND number = {number}"),
            ("hockeystick_chain", f"position = {position}"),
        ):
            file.execute(f"DELETE FROM main.{table} WHERE {where}")
            file.execute(f"INSERT INTO main.{table} SELECT * FROM first.{table} WHERE {where}")
    problems = audit(keyed)[0].problems
    assert f"its chain is broken at record {position + 1}" in problems[0]


def test_single_values_with_a_key(keyed):
    """Edits that were noticed by digests are noticed by keyed ones; 200 at random."""
    copy, rng = Copy(keyed._where, location(keyed)), random.Random(6)
    assert copy.whole_check() == []
    for _ in range(200):
        table = rng.choice(TABLES)
        row = rng.choice(rows_in(copy.file, table))
        name = rng.choice(columns_of(copy.file, table))
        sql = f"SELECT {name} FROM {table} WHERE rowid = ?"
        (value,) = copy.file.execute(sql, (row,)).fetchone()
        with copy.changed() as file:
            change = f"UPDATE {table} SET {name} = ? WHERE rowid = ?"
            file.execute(change, (another(value), row))
            assert copy.noticed(), (table, name)


def test_keys_have_to_fit(path, keyed, tmp_path):
    """A key that is missing, another one, or one for a ledger that has none."""
    with pytest.raises(LedgerError, match="is authenticated with a key: give it"):
        audit(keyed._where)
    with pytest.raises(LedgerError, match="is authenticated with another key"):
        audit(Ledger(keyed._where, key=OTHER))
    for use in (audit, adopt, head_of):
        with pytest.raises(LedgerError, match="is not authenticated with a key"):
            use(Ledger(path, key=KEY))
    for wrong in (b"short", bytes(32), "no such file", 5, tmp_path):
        with pytest.raises(InvalidParameter, match=r"^key must be"):
            Ledger(path, key=wrong)
    assert KEY.hex() not in repr(keyed)
    with pytest.raises(InvalidParameter) as error:
        Ledger(path, key=KEY.hex())
    assert KEY.hex() not in str(error.value)
    readable = tmp_path / "readable.key"
    readable.write_text(KEY.hex())
    readable.chmod(0o644)
    with pytest.raises(InvalidParameter, match="others own, or can read"):
        Ledger(path, key=readable)
    readable.chmod(0o600)
    assert audit(Ledger(keyed._where, key=readable))[0].problems == []


def test_a_ledger_gets_a_key_and_another_one(path):
    """What was there is bound from then on; earlier heads are not in the chain any more."""
    noted, before = head_of(path), audit(path)
    authenticate(path, key=KEY)
    secured = Ledger(path, key=KEY)
    assert [one.spent for one in audit(secured)] == [one.spent for one in before]
    assert audit(secured, head=noted)[0].problems
    assert head_of(secured).records == noted.records
    authenticate(secured, key=OTHER)
    assert audit(Ledger(path, key=OTHER))[0].problems == []
    with pytest.raises(LedgerError, match="another key"):
        audit(secured)
    tamper(path, "UPDATE hockeystick_entries SET pid = pid + 1 WHERE number = 3")
    with pytest.raises(LedgerError, match="damaged"):
        authenticate(Ledger(path, key=OTHER), key=KEY)


def test_heads(path):
    """A head is in the chain for as long as the ledger goes on from it."""
    first = head_of(path)
    store = open_store(path, name="first", budget=1e6, description={"unit": "one"})
    store.commit(store.reserve(lambda spent: (1.0, {})).number)
    assert head_of(path).records == first.records + 2
    assert audit(path, head=first)[0].problems == audit(path, head=str(first))[0].problems == []
    assert audit(path, head=f"0:{'0' * 64}")[0].problems == []
    wrong = f"{first.records}:{'0' * 64}"
    assert "was noted" in audit(path, head=wrong)[0].problems[0]
    for text in ("", "5", "x:y", f"-1:{'0' * 64}"):
        with pytest.raises(InvalidParameter, match="head must be"):
            audit(path, head=text)
    tamper(path, "UPDATE hockeystick_entries SET host = 'x' WHERE number = 2")
    with pytest.raises(LedgerError, match="damaged"):
        head_of(path)


@pytest.mark.parametrize(
    "sql",
    [
        "CREATE TRIGGER t AFTER INSERT ON hockeystick_entries BEGIN "
        "UPDATE hockeystick_budgets SET spent = 0; END",
        "CREATE VIEW v AS SELECT 1",
    ],
)
def test_triggers_and_views_are_refused(path, sql):
    """They would change rows behind the back of a store, or show others."""
    tamper(path, sql)
    with pytest.raises(LedgerError, match="trigger or view"):
        open_store(path, name="first", budget=1e6, description={"unit": "one"})


def test_a_new_file_is_its_owners(path):
    """Nobody else can read or write it."""
    assert path.stat().st_mode & 0o777 == 0o600
