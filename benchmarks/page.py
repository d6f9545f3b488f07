"""The page of the documentation: every number on it comes from the kept results."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from string import Template

import fine_tuning_table
import monte_carlo
import training_table
from cases import CASES
from environments import HERE, ROOT
from sweeps import SWEEPS
from verdicts import Verdict, verdicts
from wording import CASE_COLUMNS, case_row, number, promised, sweep_row

PAGE = ROOT / "docs" / "benchmarks.md"
TEMPLATE = HERE / "page_template.md"


def write_page(found: dict) -> None:
    """Replace the page."""
    PAGE.write_text(rendered(found))


def rendered(found: dict) -> str:
    """The whole page as Markdown."""
    judged = verdicts(found["cases"])
    return Template(TEMPLATE.read_text()).substitute(
        summary=_summary(judged),
        promises=_promises(judged),
        machine=_machine(found),
        cases="\n\n".join(_case(name, answers) for name, answers in found["cases"].items()),
        training=_table(training_table.COLUMNS, training_table.rows()),
        training_conditions=training_table.conditions(),
        monte_carlo=monte_carlo.table(json.loads((HERE / "monte_carlo.json").read_text())),
        fine_tuning=_table(fine_tuning_table.COLUMNS, fine_tuning_table.rows()),
        fine_tuning_conditions=fine_tuning_table.conditions(),
        sweeps="\n\n".join(_sweep(name, answers) for name, answers in found["sweeps"].items()),
    )


def _summary(judged: list[Verdict]) -> str:
    missed = [v for v in judged if v.measured is not None and not v.held]
    unknown = [v for v in judged if v.measured is None]
    held = len(judged) - len(missed) - len(unknown)
    sentences = [f"{held} of {len(judged)} promises held."]
    if missed:
        named = "; ".join(f"{v.promise.case}, {v.promise.what} ({v.text})" for v in missed)
        sentences.append(f"Missed: {named}.")
    if unknown:
        named = "; ".join(f"{v.promise.case}, {v.promise.what} ({v.reason})" for v in unknown)
        sentences.append(f"Not measured: {named}.")
    return " ".join(sentences)


def _promises(judged: list[Verdict]) -> str:
    rows = (
        (
            str(v.promise.issue),
            v.promise.case,
            v.promise.what,
            promised(v.promise),
            number(v.measured, 5),
            v.text if v.held else f"**{v.text}**",
        )
        for v in judged
    )
    return _table(("issue", "case", "quantity", "promised", "measured", "verdict"), rows)


def _machine(found: dict) -> str:
    m = found["machine"]
    ours = ", ".join(f"{name} {version}" for name, version in m["packages"].items())
    lines = [
        f"{m['date']}: {m['processor']}, {m['cores']} cores, {m['memory_gb']} GB, {m['system']}, "
        f"Python {m['python']}; {ours}; load {m['load_before']} before the run, which took "
        f"{found['minutes']} minutes, environments included.",
    ]
    again = found.get("again", {})
    lines += [
        f"Asked again on {date}, all participants of each: {', '.join(_of(again, date))}."
        for date in sorted(set(again.values()))
    ]
    rows = [
        (
            name,
            ", ".join(f"{k} {v}" for k, v in described.get("packages", {}).items()),
            described.get("error") or _making(described["seconds"]),
        )
        for name, described in found["environments"].items()
    ]
    return "\n\n".join([*lines, _table(("environment", "what it contains", "set up in"), rows)])


def _of(again: dict[str, str], date: str) -> list[str]:
    return [name for name, asked in again.items() if asked == date]


def _making(seconds: float | None) -> str:
    return "was there" if seconds is None else f"{seconds:.0f} s"


def _case(name: str, answers: dict) -> str:
    case = CASES[name]
    rows = (case_row(name, who, answers) for who in answers)
    heading = f"**{name}**: {case.title} (answer: {case.answer})."
    return f"{heading}\n\n{_table(CASE_COLUMNS, rows)}"


def _sweep(name: str, answers: dict) -> str:
    sweep = SWEEPS[name]
    rows = (sweep_row(sweep, point, answers) for point in sweep.points)
    heading = f"**{name}**: {sweep.title} (answer: {sweep.answer})."
    return f"{heading}\n\n{_table((sweep.axis, *answers), rows)}"


def _table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table; bars inside of cells would end them."""
    lines = [_line(columns), _line(["---"] * len(columns)), *(_line(row) for row in rows)]
    return "\n".join(lines)


def _line(cells: Sequence[str]) -> str:
    safe = (cell.replace("|", "\\|").replace("<", "&lt;") for cell in cells)
    return f"| {' | '.join(safe)} |"
