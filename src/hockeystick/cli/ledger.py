"""`hockeystick ledger`: what a ledger holds, in text, JSON and files."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated

import typer

from hockeystick import _validate as check
from hockeystick._files import check_target, replacing
from hockeystick._text import printable
from hockeystick._version import __version__
from hockeystick.cli import OUTPUT
from hockeystick.cli.ledger_output import (
    audit_object,
    budget_object,
    entry_object,
    print_audits,
    print_budgets,
    print_entries,
)
from hockeystick.cli.options import Json
from hockeystick.cli.output import json_text, print_json
from hockeystick.errors import InvalidParameter
from hockeystick.ledger import BudgetRecord, EntryRecord, Ledger, read_ledger
from hockeystick.ledger import adopt as adopt_ledger
from hockeystick.ledger import audit as audit_ledger
from hockeystick.ledger import authenticate as authenticate_ledger
from hockeystick.ledger import head as head_of_ledger
from hockeystick.report import upper_text

__all__ = ["check_export_file", "ledger", "write_export"]

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
    writer.writerow(["budget", *EntryRecord._fields, "label"])
    for record in records:
        for entry in record.entries:
            values = {**entry_object(entry), "request": json.dumps(entry.request, sort_keys=True)}
            # The shortest text that reads back as the same number.
            values["charge"] = repr(entry.charge)
            writer.writerow([record.name, *values.values()])
    return text.getvalue()


_FORMATS: dict[str, Callable[[Records], str]] = {".json": _json, ".csv": _csv}


ledger = typer.Typer()

Where = Annotated[
    str,
    typer.Argument(help="A file, or a postgresql:// URL.", metavar="LEDGER", show_default=False),
]
Name = Annotated[str | None, typer.Option(help="One budget only; all by default.")]
KeyFile = Annotated[
    Path | None,
    typer.Option(
        help="The key that authenticates the rows, as `hockeystick keygen --ledger FILE` makes it.",
        metavar="FILE",
        show_default=False,
    ),
]


def _with_key(where: str, key_file: Path | None) -> str | Ledger:
    return where if key_file is None else Ledger(where, key=key_file)


@ledger.callback()
def about() -> None:
    """What privacy filters have spent: show, audit, head, export, adopt, authenticate."""


@ledger.command()
def show(
    where: Where,
    *,
    name: Name = None,
    last: Annotated[
        int, typer.Option(min=0, help="With --name, how many of the latest entries are shown.")
    ] = 20,
    delta: Annotated[
        float | None,
        typer.Option(help="For epsilons of budgets that have no delta of their own (mu)."),
    ] = None,
    key_file: KeyFile = None,
    json: Json = False,
) -> None:
    """Budgets with what is spent and left; with --name also the latest entries."""
    records = read_ledger(_with_key(where, key_file), name=name)
    shown = 0 if name is None else last
    if delta is not None:
        delta = check.small_probability("delta", delta)
    if json:
        found = [budget_object(record, last=shown, delta=delta) for record in records]
        print_json({"ledger": found})
        return
    print_budgets(records, delta=delta)
    if name is None:
        _print_individual(where, key_file)
    for record in records[: min(shown, 1)]:
        print_entries(record, last=last)


@ledger.command()
def audit(
    where: Where,
    *,
    name: Name = None,
    delta: Annotated[
        float | None,
        typer.Option(help="Also account for the steps that were run, at this delta: a diagnostic."),
    ] = None,
    head: Annotated[
        str | None,
        typer.Option(
            help="What `ledger head` printed earlier: the ledger must have gone on from there.",
            metavar="RECORDS:LINK",
        ),
    ] = None,
    key_file: KeyFile = None,
    json: Json = False,
) -> None:
    """Check the chain, that entries add up and stay within budgets; exit status 1 if not."""
    audits = audit_ledger(_with_key(where, key_file), name=name, delta=delta, head=head)
    if json:
        print_json({"audits": [audit_object(one) for one in audits]})
    else:
        print_audits(audits)
        _print_individual(where, key_file)
    _fail_if([problem for one in audits for problem in one.problems])


@ledger.command()
def export(
    where: Where,
    *,
    output: Annotated[
        Path,
        typer.Option(
            help="The .json or .csv file to write.", metavar="FILE", rich_help_panel=OUTPUT
        ),
    ],
    name: Name = None,
    key_file: KeyFile = None,
) -> None:
    """Write all entries to a JSON or CSV file."""
    check_export_file("output", output)
    records = read_ledger(_with_key(where, key_file), name=name)
    write_export(records, output)
    entries = sum(len(record.entries) for record in records)
    counted = f"{entries:,} {'entry' if entries == 1 else 'entries'}"
    plural = "" if len(records) == 1 else "s"
    typer.echo(f"{counted} of {len(records):,} budget{plural} written to {output}")


@ledger.command()
def head(where: Where, *, key_file: KeyFile = None) -> None:
    """Print the head of the chain: note it elsewhere, and `ledger audit --head` compares."""
    typer.echo(str(head_of_ledger(_with_key(where, key_file))))


@ledger.command()
def authenticate(
    where: Where,
    *,
    new_key_file: Annotated[
        Path,
        typer.Option(
            help="The key to authenticate the rows with from now on.",
            metavar="FILE",
            show_default=False,
        ),
    ],
    key_file: KeyFile = None,
) -> None:
    """Authenticate all rows with a key from now on; --key-file is the one that they have now.

    Everything is checked first, but without a key so far nobody can know who wrote it.
    """
    authenticate_ledger(_with_key(where, key_file), key=new_key_file)
    noted = head_of_ledger(Ledger(where, key=new_key_file))
    typer.echo(f"{where} is authenticated with {new_key_file}; its head is {noted}")


@ledger.command()
def adopt(where: Where, *, key_file: KeyFile = None) -> None:
    """Declare a moved or restored file to be the one that is in use from now on.

    What was spent with another copy of it is not in this one, and no command can find that out.
    """
    adopt_ledger(_with_key(where, key_file))
    spent = ", ".join(
        f"{printable(record.name)}: {upper_text(record.spent)} of {upper_text(record.budget)} spent"
        for record in read_ledger(_with_key(where, key_file))
    )
    typer.echo(f"{where} is the ledger in use now ({spent or 'no budgets'})")


def _print_individual(where: str, key_file: Path | None) -> None:
    """Which budgets of single examples there are; what they have spent is not shown."""
    from hockeystick.ledger.individual import charged_steps

    for name, steps in charged_steps(_with_key(where, key_file)):
        typer.echo(f"{printable(name)}: budgets of single examples, {steps:,} steps charged")


def _fail_if(problems: Sequence[str]) -> None:
    if problems:
        raise typer.Exit(1)
