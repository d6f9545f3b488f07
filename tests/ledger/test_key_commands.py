"""Keys and heads on the command line; what open stores, and other budgets, see of an edit."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import hockeystick as hs
from hockeystick.cli.main import main
from hockeystick.errors import InvalidParameter
from hockeystick.ledger import LedgerError, open_store
from ledger.test_audit import tamper


@pytest.fixture
def path(directory: Path) -> str:
    """A ledger with an entry in each of two budgets."""
    for name in ("first", "second"):
        f = hs.filters.Gaussian(mu=1.0, ledger=directory / "ledger.db", name=name)
        f.request(noise_multiplier=4.0).commit()
    return str(directory / "ledger.db")


def called(capsys, *words):
    """Exit status and what was printed."""
    status = main([str(word) for word in words])
    printed = capsys.readouterr()
    return status, printed.out + printed.err


def test_a_noted_head(path, capsys):
    """Printed in one line; `audit --head` accepts it while the ledger goes on from there."""
    status, noted = called(capsys, "ledger", "head", path)
    assert status == 0
    assert re.fullmatch(r"\d+:[0-9a-f]{64}\n", noted)
    before = Path(path).read_bytes()
    hs.filters.join(ledger=path, name="first").request(noise_multiplier=4.0).commit()
    assert called(capsys, "ledger", "audit", path, "--head", noted.strip())[0] == 0
    _, newer = called(capsys, "ledger", "head", path)
    # A complete older state is put back.
    Path(path).write_bytes(before)
    assert called(capsys, "ledger", "audit", path)[0] == 0
    status, printed = called(capsys, "ledger", "audit", path, "--head", newer.strip())
    assert status == 1
    assert "the head that was noted is not in its chain" in " ".join(printed.split())


def test_a_key_is_made_given_and_needed(path, directory, capsys):
    """By all commands that read; another one is refused, and so is a file that others can read."""
    key, other = directory / "ledger.key", directory / "other.key"
    for file in (key, other):
        assert called(capsys, "keygen", "--ledger", file)[0] == 0
        assert file.stat().st_mode & 0o777 == 0o600
    assert called(capsys, "keygen", "--ledger", key)[0] == 2
    assert called(capsys, "ledger", "authenticate", path, "--new-key-file", key)[0] == 0
    for command in ("show", "audit", "head"):
        assert called(capsys, "ledger", command, path)[0] == 2
        assert called(capsys, "ledger", command, path, "--key-file", other)[0] == 2
        assert called(capsys, "ledger", command, path, "--key-file", key)[0] == 0
    given = ("--key-file", key, "--new-key-file", other)
    assert called(capsys, "ledger", "authenticate", path, *given)[0] == 0
    assert called(capsys, "ledger", "audit", path, "--key-file", key)[0] == 2
    other.chmod(0o640)
    status, printed = called(capsys, "ledger", "audit", path, "--key-file", other)
    assert (status, printed.count("\n")) == (2, 1)
    with pytest.raises(InvalidParameter, match="can read"):
        hs.ledger.Ledger(path, key=other)


def test_an_open_store_sees_its_own_rows_only(path):
    """An edit of another entry or budget is noticed by the next that opens, for any budget."""
    store = open_store(path, name="units", budget=4.0, description={"unit": "one"})
    tamper(path, "UPDATE hockeystick_entries SET host = 'x' WHERE budget = 'second'")
    store.reserve(lambda spent: (1.0, {}))
    for name in ("first", "second"):
        with pytest.raises(LedgerError, match="damaged"):
            hs.filters.join(ledger=path, name=name)
    tamper(path, "UPDATE hockeystick_budgets SET spent = 0.5 WHERE name = 'units'")
    with pytest.raises(LedgerError, match="does not match its checksum"):
        store.reserve(lambda spent: (1.0, {}))


def test_notes_are_kept_and_exported(path, directory, capsys):
    """With the entry, in the chain; tables of entries leave them out."""
    note = {"run": "ab" * 16, "step": 7, "before": [12345]}
    f = hs.filters.join(ledger=path, name="first")
    f.request(noise_multiplier=4.0, note=note).commit()
    assert f.history[-1].request["note"] == note
    status, shown = called(capsys, "ledger", "show", path, "--name", "first")
    assert status == 0
    assert "12345" not in shown
    written = directory / "entries.json"
    assert called(capsys, "ledger", "export", path, "--output", written)[0] == 0
    assert "12345" in written.read_text()
    tamper(path, "UPDATE hockeystick_entries SET request = replace(request, '12345', '12346')")
    with pytest.raises(LedgerError, match="damaged"):
        hs.filters.join(ledger=path, name="first")
