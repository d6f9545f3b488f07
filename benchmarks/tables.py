"""The measurements as tables in the terminal."""

from __future__ import annotations

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from cases import CASES
from sweeps import SWEEPS
from verdicts import Verdict
from wording import CASE_COLUMNS, case_row, number, promised, sweep_row

# Longer lists of values are compared, not printed.
MOST_VALUES_SHOWN = 6


def show_machine(found: dict, console: Console) -> None:
    """One line, and one for each environment that could not be made."""
    m = found["machine"]
    console.print(f"{m['processor']}, {m['cores']} cores, {m['memory_gb']} GB, {m['system']}")
    for name, described in found.get("environments", {}).items():
        if "error" in described:
            console.print(f"{name}: {described['error']}")


def show_case(name: str, answers: dict, console: Console) -> None:
    """A row for each answer, and a line for each short list of values."""
    table = _table(f"{name}: {CASES[name].title} [{CASES[name].answer}]", CASE_COLUMNS)
    for who in answers:
        table.add_row(*case_row(name, who, answers))
    console.print(table)
    for who, answer in answers.items():
        values = answer.get("values", [])
        if 1 < len(values) <= MOST_VALUES_SHOWN:
            console.print(f"{who}: {', '.join(number(value, 5) for value in values)}")


def show_sweep(name: str, answers: dict, console: Console) -> None:
    """A row for each point."""
    sweep = SWEEPS[name]
    table = _table(f"{name}: {sweep.title} [{sweep.answer}]", (sweep.axis, *answers))
    for point in sweep.points:
        table.add_row(*sweep_row(sweep, point, answers))
    console.print(table)


def show_verdicts(judged: list[Verdict], console: Console) -> None:
    """A row for each promise."""
    table = _table("What was promised", ("issue", "case", "quantity", "promised", "measured", ""))
    for v in judged:
        p = v.promise
        cells = (str(p.issue), p.case, p.what, promised(p), number(v.measured, 5), v.text)
        table.add_row(*cells, style=None if v.held else "bold")
    console.print(table)
    console.print(f"{sum(v.held for v in judged)} of {len(judged)} held")


def _table(title: str, columns: tuple[str, ...]) -> Table:
    table = Table(title=escape(title), title_justify="left")
    for column in columns:
        table.add_column(column)
    return table
