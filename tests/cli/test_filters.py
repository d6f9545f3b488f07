"""`hockeystick filters`: a table and an object."""

from __future__ import annotations

import json

import pytest

from cli.conftest import Command

WORDS = ["filters", "--epsilon", "1", "--delta", "1e-5", "--expected", "1,20,1"]


def test_table(command: Command) -> None:
    """A row for each filter with its kind, and a warning about the asymptotic one."""
    outcome = command(*WORDS)
    rows = [line.split() for line in outcome.stdout.splitlines()]
    assert ["Renyi", "proven", "24"] in rows
    assert ["Levy", "proven", "28"] in rows
    assert "no guarantee" in outcome.stdout
    assert "counted in whole rounds" in outcome.stdout
    assert outcome.status == 0


def test_object(command: Command) -> None:
    """The same as JSON."""
    found = json.loads(command(*WORDS, "--json").stdout)["filters"]
    assert {one["filter"]: one["steps"] for one in found}["Gaussian"] == 28
    assert {one["kind"] for one in found} == {"proven", "asymptotic"}


@pytest.mark.parametrize("wrong", ["0,20,1", "1,20", "1,20,1.5", "1,20,1,1", "nan,20,1"])
def test_bad_input(command: Command, wrong: str) -> None:
    """Exit status 2 and one line."""
    outcome = command(*WORDS[:-1], wrong)
    assert outcome.status == 2
    assert len(outcome.stderr.splitlines()) == 1
