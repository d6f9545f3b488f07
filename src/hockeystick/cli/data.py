"""`hockeystick data`: data sets for the experiments, fetched by the machine's own clients."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hockeystick._validate import choice
from hockeystick.cli.options import OUTPUT
from hockeystick.cli.output import stdout
from hockeystick.datasets import DATASETS, fetch
from hockeystick.errors import InvalidParameter
from hockeystick.report.progress import progress

__all__ = ["data"]

# Where experiments find data if no folder is named.
FOLDER = Path("data")


def data(
    name: Annotated[
        str | None,
        typer.Argument(
            help="A data set, or 'all'; they are listed without.",
            metavar="NAME",
            show_default=False,
        ),
    ] = None,
    *,
    output: Annotated[
        Path | None,
        typer.Option(
            help="The folder to write, by default data/NAME.", metavar="DIR", rich_help_panel=OUTPUT
        ),
    ] = None,
) -> None:
    """Fetch a data set by the name of its package, check it, and write it as plain arrays."""
    if name is None:
        if output is not None:
            raise InvalidParameter("output", "left out without a NAME", str(output))
        for dataset in DATASETS.values():
            stdout().print(
                f"{dataset.name:<9} {dataset.about} ({dataset.client}: {dataset.package})"
            )
        return
    if name == "all" and output is not None:
        raise InvalidParameter("output", "left out for all data sets", str(output))
    wanted = tuple(DATASETS) if name == "all" else (choice("NAME", name, (*DATASETS, "all")),)
    for one in wanted:
        with progress(f"Fetching {one} ..."):
            folder = fetch(one, FOLDER / one if output is None else output)
        typer.echo(f"{folder}: {DATASETS[one].about}")
