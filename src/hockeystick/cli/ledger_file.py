"""The files that `hockeystick ledger export` writes."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Sequence
from pathlib import Path

from hockeystick._files import check_target, replacing
from hockeystick._version import __version__
from hockeystick.cli.json_output import json_text
from hockeystick.cli.ledger_objects import budget_object, entry_object
from hockeystick.errors import InvalidParameter
from hockeystick.ledger import BudgetRecord, EntryRecord

__all__ = ["check_export_file", "write_export"]

Records = Sequence[BudgetRecord]


def check_export_file(name: str, path: Path) -> None:
    """Refuse a path of unknown format or to which nothing can be written."""
    if path.suffix.lower() not in _FORMATS:
        raise InvalidParameter(name, f"a {' or '.join(_FORMATS)} file", str(path))
    check_target(name, path)


def write_export(records: Records, path: Path) -> None:
    """Write all entries; the file appears complete or not at all."""
    text = _FORMATS[path.suffix.lower()](records)
    with replacing(path) as file:
        file.write(text.encode())


def _json(records: Records) -> str:
    ledger = [budget_object(record) for record in records]
    return json_text({"ledger": ledger, "version": __version__}) + "\n"


def _csv(records: Records) -> str:
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(["budget", *EntryRecord._fields])
    for record in records:
        for entry in record.entries:
            values = {**entry_object(entry), "request": json.dumps(entry.request, sort_keys=True)}
            # The shortest text that reads back as the same number.
            values["charge"] = repr(entry.charge)
            writer.writerow([record.name, *values.values()])
    return text.getvalue()


_FORMATS: dict[str, Callable[[Records], str]] = {".json": _json, ".csv": _csv}
