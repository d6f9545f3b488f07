"""The table of residual filters shows what was measured."""

from __future__ import annotations

from environments import ROOT
from residual_filter import cases, missing, read, row, table

PAGE = ROOT / "docs" / "residual.md"
HEADER = "| announced | requested | ε |"


def test_the_page_has_the_numbers_of_the_results() -> None:
    """`python benchmarks/residual_filter.py table` prints the rows, all of them and no others."""
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    first = next(i for i, line in enumerate(lines) if line.startswith(HEADER)) + 2
    end = next(i for i in range(first, len(lines)) if not lines[i].startswith("|"))
    assert lines[first:end] == table()


def test_what_was_not_measured_is_listed() -> None:
    """Every case has a row or a line in the list, and there is no result without a case."""
    assert set(read()) <= {case.name for case in cases()}
    listed = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if line[:2] == "- "]
    assert listed == missing()


def test_what_is_missed_is_said() -> None:
    """The smallest share of all sequences is the one that counts."""
    case = next(cases())
    numbers = {name: [1, 2] for name in ("Renyi", "RenyiOrders", "Levy")}
    assert "missed" in row(case, {**numbers, "Residual": [84, 99], "fixed": [100, 100]})
    assert "missed" not in row(case, {**numbers, "Residual": [85, 99], "fixed": [100, 100]})
