"""`hockeystick ledger`."""

from __future__ import annotations

import csv
import json
import sqlite3

import pytest
import sqlalchemy as sa

from hockeystick.cli.main import main
from hockeystick.ledger import open_store, read_ledger
from hockeystick.ledger.schema import budgets, entries
from hockeystick.ledger.seals import with_checksum
from ledger.forging import forge
from ledger.test_audit import tamper
from ledger.workers import engine_of

PROVEN = {"filter": "renyi", "kind": "proven", "epsilon": 2.0, "delta": 1e-5, "order": 8}
ASYMPTOTIC = {"filter": "approximate-gaussian", "kind": "asymptotic", "mu": 1.0}


@pytest.fixture
def run(capsys, monkeypatch):
    """Run the command in a pipe of 80 columns: exit status, standard output, standard error."""
    monkeypatch.setenv("COLUMNS", "80")
    for name in ("FORCE_COLOR", "PY_COLORS", "GITHUB_ACTIONS", "TTY_COMPATIBLE"):
        monkeypatch.delenv(name, raising=False)
    return lambda *words: (main(["ledger", *map(str, words)]), *capsys.readouterr())


@pytest.fixture
def path(directory):
    """A ledger with two budgets: one with 3 committed, 1 open, 1 cancelled entry, one empty."""
    file = directory / "ledger.db"
    store = open_store(file, name="run-1", budget=0.5, description=PROVEN)
    request = {"rate": 1.0, "noise_multiplier": 8.0}
    numbers = [store.reserve(lambda spent: (0.1, request)).number for _ in range(4)]
    for number in numbers[:3]:
        store.commit(number)
    store.cancel(store.reserve(lambda spent: (0.05, {"note": 'a "quoted", text'})).number)
    open_store(file, name="run-2", budget=1.0, description=ASYMPTOTIC)
    return file


def test_show(run, path):
    """A table that fits, with a warning for what is not proven."""
    status, output, _ = run("show", path)
    assert status == 0
    row = next(line for line in output.splitlines() if "run-1" in line).split()
    assert row == ["run-1", "renyi", "proven", "0.50000", "0.40001", "0.099999", "3", "1", "1"]
    assert "run-2: warning: This filter is asymptotic" in output
    assert "run-1: the budget is epsilon 2 at delta 1e-05; 80 % of it is spent" in output
    table = [line for line in output.splitlines() if ": " not in line]
    assert max(map(len, table)) <= 80


def test_show_one(run, path):
    """With a name, the latest entries follow."""
    status, output, _ = run("show", path, "--name", "run-1", "--last", 2)
    assert status == 0
    assert "run-2" not in output
    assert "the last 2 of 5 entries" in output
    assert [line.split()[0] for line in output.splitlines() if "0.1" in line or "0.05" in line][
        -2:
    ] == ["4", "5"]


def test_show_json(run, path):
    """The numbers are those of the ledger, not rounded."""
    status, output, _ = run("show", path, "--json", "--name", "run-1")
    (budget,) = json.loads(output)["ledger"]
    assert status == 0
    assert budget["description"] == PROVEN
    assert (budget["committed"], budget["reserved"], budget["cancelled"]) == (3, 1, 1)
    assert budget["spent"] == read_ledger(path, name="run-1")[0].spent
    assert [entry["number"] for entry in budget["entries"]] == [1, 2, 3, 4, 5]


def test_audit(run, path):
    """Sound; the open entry, the epsilon and the warning are there."""
    status, output, _ = run("audit", path, "--delta", "1e-5")
    assert status == 0
    assert "run-1: sound" in output
    assert "entry 4: charge 0.1" in output
    assert "realised steps: 4, epsilon" in output
    assert "diagnostic" in output
    assert "warning: This filter is asymptotic" in output


def test_audit_of_many_open_entries(run, directory):
    """They are counted, and the first ones listed."""
    store = open_store(directory / "ledger.db", name="x", budget=1.0, description={})
    for _ in range(25):
        store.reserve(lambda spent: (0.01, {}))
    output = run("audit", directory / "ledger.db")[1]
    assert "25 reserved and never committed" in output
    assert output.count("    entry ") == 20
    assert "and 5 more" in output


@pytest.mark.parametrize("form", [(), ("--json",)])
def test_audit_fails(run, path, form):
    """A ledger that does not add up gives exit status 1, and says why."""
    tamper(path, "UPDATE hockeystick_budgets SET spent = 0.3 WHERE name = 'run-1'")
    status, output, _ = run("audit", path, *form)
    assert status == 1
    assert "the running total is 0.3" in output


def test_audit_json(run, path):
    """One object for programs."""
    output = run("audit", path, "--delta", "1e-5", "--json")[1]
    first, second = json.loads(output)["audits"]
    assert first["sound"]
    assert first["open_entries"][0]["number"] == 4
    assert first["realised"]["kind"].startswith("diagnostic")
    assert first["realised"]["steps"] == 4
    assert second["warnings"]


def test_export_csv(run, path, tmp_path):
    """Every number reads back exactly."""
    status, output, _ = run("export", path, "--output", tmp_path / "all.csv")
    with (tmp_path / "all.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert status == 0
    assert "5 entries of 2 budgets" in output
    for row, entry in zip(rows, read_ledger(path, name="run-1")[0].entries, strict=True):
        assert row["budget"] == "run-1"
        assert float(row["charge"]) == entry.charge
        assert json.loads(row["request"]) == entry.request
        assert (int(row["number"]), row["status"]) == (entry.number, entry.status)


def test_export_json(run, path, tmp_path):
    """The same as a tree; an older file is replaced."""
    (tmp_path / "all.json").write_text("old")
    assert run("export", path, "--output", tmp_path / "all.json")[0] == 0
    first, second = json.loads((tmp_path / "all.json").read_text())["ledger"]
    assert len(first["entries"]) == 5
    assert second["entries"] == []
    assert [file.name for file in tmp_path.iterdir()] == ["all.json"]


def test_bad_input(run, path, tmp_path):
    """Exit status 2 with one line."""
    for words in (
        ["show", tmp_path / "none.db"],
        ["show", path, "--name", "none"],
        ["audit", path, "--delta", "2"],
        ["export", path, "--output", tmp_path / "all.txt"],
        ["export", path, "--output", tmp_path / "none" / "all.csv"],
        ["show", "mysql://host/base"],
        ["show"],
        [],
    ):
        status, output, error = run(*words)
        assert (status, output) == (2, "")
        assert error.startswith("error: ")
        assert error.count("\n") == 1


def test_broken_file(run, tmp_path):
    """Exit status 2 with one line."""
    (tmp_path / "ledger.db").write_text("something else" * 100)
    status, _, error = run("audit", tmp_path / "ledger.db")
    assert status == 2
    assert "cannot be used: file is not a database." in error
    assert error.count("\n") == 1


def test_nothing_in_a_file_steers_the_terminal(run, directory):
    """Whoever wrote the ledger: names, kinds and hosts are printed without control characters."""
    path, escape = directory / "ledger.db", "\x1b[2J"
    store = open_store(path, name="x", budget=1.0, description={"kind": "proven"})
    store.reserve(lambda spent: (0.5, {"note": "text"}))
    with engine_of(store).begin() as connection:
        for table in (budgets, entries):
            for row in connection.execute(sa.select(table)).all():
                renamed = {"name": f"a{escape}"} if table is budgets else {"budget": f"a{escape}"}
                host = {} if table is budgets else {"host": f"h{escape}"}
                new = with_checksum(table, {**row._mapping, **renamed, **host})
                connection.execute(table.insert(), new)
        connection.execute(entries.delete().where(entries.c.budget == "x"))
        connection.execute(budgets.delete().where(budgets.c.name == "x"))
        forge(connection, path)
    store.close()
    for words in (["show", path], ["audit", path], ["adopt", path], ["show", path, "--json"]):
        status, output, error = run(*words)
        assert status == 0
        assert "\x1b" not in output + error
    with engine_of(store).begin() as connection:
        for row in connection.execute(sa.select(entries)).all():
            new = with_checksum(entries, {**row._mapping, "request": json.dumps({"note": escape})})
            connection.execute(entries.update(), new)
        forge(connection, path)
    store.close()
    for words in (["show", path], ["audit", path], ["show", path, "--json"]):
        status, output, error = run(*words)
        assert (status, error.count("\n")) == (2, 1)
        assert "is not a JSON object" in error
        assert "\x1b" not in output + error
    with sqlite3.connect(path) as file:
        file.execute(f"UPDATE hockeystick_ledger SET place = replace(place, '/dev', '{escape}')")
        file.execute("UPDATE hockeystick_ledger SET place = replace(place, 'ledger', 'other')")
    file.close()
    for command in ("show", "audit"):
        assert "\x1b" not in "".join(run(command, path)[1:])
