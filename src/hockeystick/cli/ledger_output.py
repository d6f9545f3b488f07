"""Budgets, entries and audits as JSON objects."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table

from hockeystick._text import printable
from hockeystick.cli.output import stdout
from hockeystick.filters.registry import registered_class
from hockeystick.ledger import BudgetAudit, BudgetRecord, EntryRecord, Spending, spending_of
from hockeystick.ledger.records import guarantee_text
from hockeystick.report import count_text, lower_text, upper_text

__all__ = [
    "audit_object",
    "budget_object",
    "entry_object",
    "print_audits",
    "print_budgets",
    "print_entries",
]

# What the privacy cost of realised steps is called wherever it appears.
DIAGNOSTIC = "diagnostic: valid only if the steps had been fixed beforehand"
STATUSES = ("reserved", "committed", "cancelled")


def budget_object(
    record: BudgetRecord, *, last: int | None = None, delta: float | None = None
) -> dict[str, Any]:
    """A budget with its latest entries, or with all of them."""
    spending = spending_of(record, delta=delta)
    first = 0 if last is None else max(len(record.entries) - last, 0)
    return {
        "name": record.name,
        "description": dict(record.description),
        "budget": record.budget,
        "spent": record.spent,
        "remaining": record.budget - record.spent,
        "guarantee": record.guarantee,
        "spending": None if spending is None else {**spending._asdict(), "kind": DIAGNOSTIC},
        "spent_by": record.spent_by,
        **{status: record.count(status) for status in STATUSES},
        "created": record.created.isoformat(),
        "warnings": record.warnings,
        "entries": [entry_object(entry) for entry in record.entries[first:]],
    }


def entry_object(entry: EntryRecord) -> dict[str, Any]:
    """An entry with its times as text."""
    committed = entry.committed_at
    return {
        **entry._asdict(),
        "reserved_at": entry.reserved_at.isoformat(),
        "committed_at": None if committed is None else committed.isoformat(),
        "label": entry.label,
    }


def audit_object(audit: BudgetAudit) -> dict[str, Any]:
    """An audit with ages in seconds."""
    return {
        **audit._asdict(),
        "sound": not audit.problems,
        "open_entries": [
            {**entry._asdict(), "age": entry.age.total_seconds()} for entry in audit.open_entries
        ],
        "realised": None
        if audit.realised is None
        else {**audit.realised._asdict(), "kind": DIAGNOSTIC},
    }


# Open reservations that are listed; the others are counted.
LISTED = 20
WHOLE = ("name", "kind", "budget", "spent", "left", "run", "open", "cancelled")
LEFT = ("name", "filter", "kind", "status", "label", "reserved at (UTC)", "request")


def print_budgets(records: Sequence[BudgetRecord], *, delta: float | None = None) -> None:
    """A row for each budget."""
    some_cancelled = any(record.count("cancelled") for record in records)
    counted = {"run": "committed", "open": "reserved"}
    if some_cancelled:
        counted["cancelled"] = "cancelled"
    table = _table("name", "filter", "kind", "budget", "spent", "left", *counted)
    for record in records:
        table.add_row(
            printable(record.name),
            printable(record.description.get("filter", "")),
            printable(record.kind),
            upper_text(record.budget),
            upper_text(record.spent),
            lower_text(record.budget - record.spent),
            *(count_text(record.count(status)) for status in counted.values()),
        )
    console = stdout()
    console.print(table, soft_wrap=False)
    for record in records:
        _print_meaning(console, record, delta)
        for warning in record.warnings:
            console.print(f"{printable(record.name)}: warning: {warning}", style="bold yellow")


def _print_meaning(console: Console, record: BudgetRecord, delta: float | None) -> None:
    """What the numbers of the table stand for: epsilon, and who spent them."""
    whole, name = guarantee_text(record.guarantee), printable(record.name)
    if whole:
        share = f"{100 * record.spent / record.budget:.3g} % of it is spent"
        console.print(f"{name}: the budget{_unit(record)} is {whole}; {share}")
        console.print(f"{name}: {_in_epsilon(spending_of(record, delta=delta))}")
    _print_labels(console, record.spent_by, before=f"{printable(record.name)}: ")


def _in_epsilon(found: Spending | None) -> str:
    """What is spent and left as epsilons, and what they mean."""
    if found is None:
        return "with --delta also what is spent and left as epsilons"
    if found.spent is None or found.left is None:
        return "what is spent is no epsilon: some requests were profiles, which no ledger keeps"
    at = f"at delta {found.delta:g}"
    if found.steps_left is None:
        return f"nothing is spent; epsilon {upper_text(found.epsilon)} {at} is left"
    spent = f"spent: epsilon {upper_text(found.spent)} of {upper_text(found.epsilon)} {at}"
    if not found.steps_left:
        return f"{spent}, had the steps been fixed before; left: not one more step like the latest"
    return (
        f"{spent}; left: {upper_text(found.left)} more, if the rest goes into "
        f"{count_text(found.steps_left)} steps like the latest (both as if the steps had been "
        f"fixed before; the guarantee is epsilon {upper_text(found.epsilon)} for whatever comes; "
        "what the two lack of it is what adaptivity costs, and less than a step)"
    )


def _unit(record: BudgetRecord) -> str:
    found = getattr(registered_class(str(record.description.get("filter", ""))), "unit", "")
    return f", in {found}," if found else ""


def _print_labels(console: Console, spent_by: Mapping[str, float], *, before: str) -> None:
    if any(spent_by):
        shown = ", ".join(
            f"{printable(label) or 'without a label'} {upper_text(spent)}"
            for label, spent in spent_by.items()
        )
        console.print(f"{before}spent by {shown}")


def print_entries(record: BudgetRecord, *, last: int) -> None:
    """The latest entries of a budget."""
    shown = record.entries[max(len(record.entries) - last, 0) :]
    labels = ["label"] if any(entry.label for entry in shown) else []
    table = _table("number", "charge", "status", *labels, "reserved at (UTC)", "request")
    for entry in shown:
        request = {k: v for k, v in entry.request.items() if k not in ("label", "note")}
        table.add_row(
            str(entry.number),
            upper_text(entry.charge),
            printable(entry.status),
            *([printable(entry.label)] if labels else []),
            f"{entry.reserved_at:%Y-%m-%d %H:%M:%S}",
            json.dumps(request).strip("{}").replace('"', ""),
        )
    console = stdout()
    console.print(
        f"the last {count_text(len(shown))} of {count_text(len(record.entries))} entries",
        style="bold",
    )
    console.print(table, soft_wrap=False)


def print_audits(audits: Sequence[BudgetAudit]) -> None:
    """A paragraph for each budget."""
    console = stdout()
    for audit in audits:
        _print_audit(console, audit)


def _print_audit(console: Console, audit: BudgetAudit) -> None:
    verdict, style = ("NOT SOUND", "bold red") if audit.problems else ("sound", "bold green")
    spent = f"{upper_text(audit.spent)} of {upper_text(audit.budget)} spent"
    whole = guarantee_text(audit.guarantee)
    meaning = f" (the budget is {whole})" if whole else ""
    console.print(f"{printable(audit.name)}: {verdict}, {spent}{meaning}", style=style)
    _print_labels(console, audit.spent_by, before="  ")
    for warning in audit.warnings:
        console.print(f"  warning: {warning}", style="bold yellow")
    for problem in audit.problems:
        console.print(f"  problem: {problem}", style="red")
    if audit.open_entries:
        number = count_text(len(audit.open_entries))
        console.print(f"  {number} reserved and never committed; they stay counted:")
    for entry in audit.open_entries[:LISTED]:
        console.print(
            f"    entry {entry.number}: charge {upper_text(entry.charge)}, "
            f"{_age(entry.age)} old, process {entry.pid} on {printable(entry.host)}"
            f"{f', {printable(entry.label)}' if entry.label else ''}"
        )
    if len(audit.open_entries) > LISTED:
        console.print(f"    and {count_text(len(audit.open_entries) - LISTED)} more")
    if audit.realised is not None:
        found = audit.realised
        shown = "not accounted" if found.epsilon is None else f"epsilon {upper_text(found.epsilon)}"
        note = f" ({found.note})" if found.note else ""
        console.print(
            f"  realised steps: {count_text(found.steps)}, {shown} at delta {found.delta:g}{note}"
        )
        console.print(f"    {DIAGNOSTIC}", style="dim")


def _age(age: timedelta) -> str:
    return str(timedelta(seconds=int(age.total_seconds())))


def _table(*titles: str) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    for title in titles:
        table.add_column(
            title,
            justify="left" if title in LEFT else "right",
            overflow="fold",
            no_wrap=title in WHOLE,
        )
    return table
