"""The table of audits shows what was measured, and what was measured is what is promised."""

from __future__ import annotations

from audit_runs import CASES, RUNS, kept, rows_of_table
from environments import ROOT

PAGE = ROOT / "docs" / "audit.md"


def test_the_page_has_the_rows() -> None:
    """`python benchmarks/audit_runs.py table` prints them."""
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    rows = list(rows_of_table())
    first = lines.index(rows[0])
    assert lines[first : first + len(rows)] == rows


def test_correct_runs_are_consistent_and_wrong_ones_are_not() -> None:
    """Each in 99 % of 300 runs; epsilon from below is within a quarter of the proven one."""
    found = kept()
    assert set(found) <= {case.name for case in CASES}
    for case in CASES:
        if case.name not in found:
            continue
        one = found[case.name]
        assert one["runs"] == RUNS == 300
        right = one["consistent"] if case.correct else RUNS - one["consistent"]
        assert right >= 0.99 * RUNS, case
        if case.correct:
            low, high = one["epsilon_lower"]
            assert 0.75 * one["epsilon"][1] <= low <= high
