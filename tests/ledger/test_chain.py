"""Edited, removed, added and exchanged rows of a ledger are noticed."""

from __future__ import annotations

import random
import shutil
from itertools import pairwise

import pytest
import sqlalchemy as sa

from hockeystick.ledger import adopt
from hockeystick.ledger.locations import location
from hockeystick.ledger.schema import TABLES
from ledger.chained import Copy, another, columns_of, fill, rows_in
from ledger.server import quick_directory

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


# Tables with two rows or more, and what says which row it is.
KEYS = {
    "hockeystick_entries": ("budget", "number"),
    "hockeystick_chain": ("position",),
    "hockeystick_budgets": ("name",),
}
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
@pytest.mark.parametrize("table", KEYS)
def test_every_exchange_of_two_rows(large, table):
    """Neighbours, and rows far apart: all that they hold changes places, but for their numbers."""
    file = large.file
    rows = rows_in(file, table)
    names = [name for name in columns_of(file, table) if name not in KEYS[table]]
    assignments = ", ".join(f"{name} = ?" for name in names)
    rng = random.Random(5)
    pairs = [*pairwise(rows), *(rng.sample(rows, 2) for _ in range(100 if len(rows) > 2 else 0))]
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
