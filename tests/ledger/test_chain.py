"""Edited, removed, added and exchanged rows of a ledger are noticed; with a key, every forgery."""

from __future__ import annotations

import random
import secrets
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from itertools import pairwise
from pathlib import Path

import pytest
import sqlalchemy as sa

import hockeystick as hs
from hockeystick.errors import InvalidParameter
from hockeystick.ledger import Ledger, LedgerError, adopt, audit, authenticate, open_store
from hockeystick.ledger import head as head_of
from hockeystick.ledger.chain import broken_links
from hockeystick.ledger.locations import Location, location
from hockeystick.ledger.schema import TABLES
from hockeystick.ledger.tables import damage_of
from ledger.forging import forge
from ledger.server import quick_directory
from ledger.test_audit import tamper

KEY = secrets.token_bytes(32)
OTHER = secrets.token_bytes(32)


def fill(where: Ledger | Path, *, entries: int) -> None:
    """Two budgets with entries of every status, and budgets of single examples."""
    stores = [
        open_store(where, name=name, budget=1e6, description={"unit": "one"})
        for name in ("first", "second")
    ]
    for turn in range(entries):
        store = stores[turn % 2]
        number = store.reserve(lambda spent: (1.0, {"turn": turn})).number  # noqa: B023
        if turn % 8 < 6:
            store.commit(number)
        elif turn % 8 == 6:
            store.cancel(number)
    people = hs.filters.Individual.gaussian(examples=3, mu=1.0, ledger=where, name="people")
    for _ in range(3):
        people.step([0.1, 0.2, 0.3], noise_multiplier=2.0)
    for store in stores:
        store.close()


def rows_in(file: sqlite3.Connection, table: str) -> list[int]:
    """The rows of a table."""
    return [row for (row,) in file.execute(f"SELECT rowid FROM {table} ORDER BY rowid")]


def columns_of(file: sqlite3.Connection, table: str) -> list[str]:
    """All columns of a table."""
    return [line[1] for line in file.execute(f"PRAGMA table_info({table})")]


class Copy:
    """A ledger in memory, in which one change at a time is tried.

    Its tables have no keys and no constraints: whoever attacks a file takes them away.
    """

    def __init__(self, path: Path, where: Location) -> None:
        self.file = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
        with closing(sqlite3.connect(path)) as original:
            original.backup(self.file)
        for table in TABLES:
            self.file.execute(f"CREATE TABLE loose AS SELECT * FROM {table} ORDER BY rowid")
            self.file.execute(f"DROP TABLE {table}")
            self.file.execute(f"ALTER TABLE loose RENAME TO {table}")
        # Held open: giving it back would end the change that is tried.
        engine = sa.create_engine("sqlite://", creator=lambda: self.file, poolclass=sa.StaticPool)
        self.connection = engine.connect()
        self.where = where

    @contextmanager
    def changed(self) -> Iterator[sqlite3.Connection]:
        """What is done to the file is undone at the end."""
        self.file.execute("SAVEPOINT before")
        yield self.file
        self.file.execute("ROLLBACK TO before")
        self.file.execute("RELEASE before")

    def noticed(self) -> bool:
        """Whether the chain and the rows disagree."""
        return next(broken_links(self.connection, self.where), None) is not None

    def whole_check(self) -> list[str]:
        """Everything that opening and auditing look at, but for the pages."""
        return list(damage_of(self.connection, self.where))


# Every change is looked for in all rows, so that a ledger of a thousand takes minutes.
SIZES = [
    pytest.param((80, 230), id="230 rows"),
    pytest.param((350, 1000), marks=pytest.mark.long, id="1000 rows"),
]


@pytest.fixture(scope="module", params=SIZES)
def large(request) -> Copy:
    """A ledger with rows of every kind."""
    entries, rows = request.param
    folder = quick_directory()
    path = folder / "ledger.db"
    fill(path, entries=entries)
    adopt(path)
    adopt(path)
    copy = Copy(path, location(path))
    copy.last = entries // 2
    shutil.rmtree(folder)
    assert sum(len(rows_in(copy.file, table)) for table in TABLES) >= rows
    assert copy.whole_check() == []
    return copy


def another(value: object) -> object:
    """A value of the same type that is another one."""
    if value is None:
        return "2026-01-01T00:00:00.000000+00:00"
    if isinstance(value, bytes):
        return bytes([value[0] ^ 1]) + value[1:]
    if isinstance(value, str):
        return f"{value[:-1]}{'x' if value[-1:] != 'x' else 'y'}"
    return value + 1


EVERY = [
    pytest.param(False, marks=pytest.mark.slow, id="a column of each row"),
    pytest.param(True, marks=pytest.mark.long, id="all columns of each row"),
]


@pytest.mark.parametrize("every_column", EVERY)
@pytest.mark.parametrize("table", TABLES)
def test_every_edit_of_one_row(large, table, every_column):
    """Any column of any row of any table, its checksum and its link among them.

    In the quick form every row of the large tables is edited once, in one column after another.
    """
    file, missed, tried = large.file, [], 0
    columns, rows = columns_of(file, table), rows_in(file, table)
    for row in rows:
        values = file.execute(f"SELECT * FROM {table} WHERE rowid = ?", (row,)).fetchone()
        chosen = list(zip(columns, values, strict=True))
        if len(rows) > 10 and not every_column:
            chosen = [chosen[row % len(columns)]]
        for name, value in chosen:
            with large.changed():
                sql = f"UPDATE {table} SET {name} = ? WHERE rowid = ?"
                file.execute(sql, (another(value), row))
                tried += 1
                if not large.noticed():
                    missed.append((row, name))
    assert missed == []
    assert tried >= len(rows) > 0


@pytest.mark.slow
@pytest.mark.parametrize("table", TABLES)
def test_every_removal_and_every_second_copy_of_one_row(large, table):
    """The first, the last and all between."""
    file = large.file
    rows = rows_in(file, table)
    for row in rows:
        with large.changed():
            file.execute(f"DELETE FROM {table} WHERE rowid = ?", (row,))
            if table == "hockeystick_ledger":
                with pytest.raises(sa.exc.NoResultFound):
                    large.noticed()
            else:
                assert large.noticed(), row
    for row in rows[:: max(len(rows) // 50, 1)]:
        with large.changed():
            file.execute(f"INSERT INTO {table} SELECT * FROM {table} WHERE rowid = ?", (row,))
            if table == "hockeystick_ledger":
                with pytest.raises(sa.exc.MultipleResultsFound):
                    large.noticed()
            else:
                assert large.noticed(), row


@pytest.mark.slow
@pytest.mark.parametrize("table", ["hockeystick_entries", "hockeystick_chain"])
def test_every_exchange_of_two_rows(large, table):
    """Neighbours, and rows far apart: all that they hold changes places, but for their numbers."""
    file = large.file
    rows = rows_in(file, table)
    keys = ("position",) if table == "hockeystick_chain" else ("budget", "number")
    names = [name for name in columns_of(file, table) if name not in keys]
    assignments = ", ".join(f"{name} = ?" for name in names)
    rng = random.Random(5)
    pairs = [*pairwise(rows), *(rng.sample(rows, 2) for _ in range(100))]
    for pair in pairs:
        select = f"SELECT {', '.join(names)} FROM {table} WHERE rowid = ?"
        first, second = (file.execute(select, (row,)).fetchone() for row in pair)
        with large.changed():
            for row, values in zip(pair, (second, first), strict=True):
                file.execute(f"UPDATE {table} SET {assignments} WHERE rowid = ?", (*values, row))
            assert large.noticed(), pair


@pytest.mark.slow
def test_the_last_records_with_their_rows(large):
    """Also if an entry, its records and the sums of its budget are removed or put back together."""
    file = large.file
    for last in range(1, 6):
        with large.changed():
            sql = "DELETE FROM hockeystick_chain WHERE position > (SELECT max(position) FROM "
            file.execute(f"{sql}hockeystick_chain) - ?", (last,))
            assert large.noticed()
    with large.changed():
        where = f"budget = 'first' AND number = {large.last}"
        assert file.execute(f"DELETE FROM hockeystick_entries WHERE {where}").rowcount == 1
        assert file.execute(f"DELETE FROM hockeystick_chain WHERE {where}").rowcount == 2
        set_back = f"SET reservations = {large.last - 1} WHERE name = 'first'"
        file.execute(f"UPDATE hockeystick_budgets {set_back}")
        assert large.noticed()


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
