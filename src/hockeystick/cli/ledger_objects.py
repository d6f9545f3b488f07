"""Budgets, entries and audits as JSON objects."""

from __future__ import annotations

from typing import Any

from hockeystick.ledger import Audit, BudgetRecord, EntryRecord

__all__ = ["audit_object", "budget_object", "entry_object"]

# What a realised price is called wherever it appears.
DIAGNOSTIC = "diagnostic: valid only if the steps had been fixed beforehand"
STATUSES = ("reserved", "committed", "cancelled")


def budget_object(record: BudgetRecord, *, last: int | None = None) -> dict[str, Any]:
    """A budget with its latest entries, or with all of them."""
    first = 0 if last is None else max(len(record.entries) - last, 0)
    return {
        "name": record.name,
        "description": dict(record.description),
        "budget": record.budget,
        "spent": record.spent,
        "remaining": record.budget - record.spent,
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
    }


def audit_object(audit: Audit) -> dict[str, Any]:
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
