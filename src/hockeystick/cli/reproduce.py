"""`hockeystick reproduce`."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Annotated

import typer
from rich import box
from rich.table import Table

from hockeystick.cli.options import OUTPUT
from hockeystick.cli.scripts import Script, all_scripts
from hockeystick.cli.table import stdout
from hockeystick.errors import HockeystickError, InvalidParameter, MissingExtra

__all__ = ["reproduce"]

Name = Annotated[
    str | None,
    typer.Argument(help="A figure, table or experiment.", metavar="NAME", show_default=False),
]
Small = Annotated[bool, typer.Option("--small", help="Few points and small sizes: seconds.")]
Data = Annotated[
    Path | None,
    typer.Option(help="A folder with data, for experiments that need one.", metavar="DIR"),
]
Output = Annotated[
    Path | None,
    typer.Option(help="Where to write picture and numbers.", metavar="DIR", rich_help_panel=OUTPUT),
]


def reproduce(
    name: Name = None, *, small: Small = False, data: Data = None, output: Output = None
) -> None:
    """Compute a figure, a table or an experiment anew; without a name, list them."""
    scripts = all_scripts()
    if not scripts:
        raise HockeystickError("This installation comes without the scripts of reproductions/.")
    if name is None:
        _list(scripts, {"small": small or None, "data": data, "output": output})
        return
    script = scripts.get(name.removesuffix(".py").replace("-", "_"))
    if script is None:
        known = ", ".join(scripts)
        raise typer.BadParameter.__mro__[1](f"NAME must be one of {known}; got {name!r}.")
    status = script.run(_arguments(script, small=small, data=data, output=output))
    if status:
        raise typer.Exit(status)


def _arguments(script: Script, *, small: bool, data: Path | None, output: Path | None) -> list[str]:
    """The script's own words; what would only fail at the end is refused now."""
    words = ["--small"] if small else []
    if data is not None:
        if "--data" not in script.usage:
            raise InvalidParameter("data", f"left out for {script.name}", str(data))
        words += ["--data", str(data)]
    if output is not None:
        if output.exists() and not output.is_dir():
            raise InvalidParameter("output", "a directory", str(output))
        if importlib.util.find_spec("matplotlib") is None:
            raise MissingExtra(
                "Pictures need Matplotlib; install it with the extra `plot`: hockeystick[plot]."
            )
        words += ["--output", str(output)]
    return words


def _list(scripts: dict[str, Script], options: dict[str, object]) -> None:
    for option, value in options.items():
        if value is not None:
            raise InvalidParameter(option, "left out without a NAME", value)
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, collapse_padding=True)
    table.add_column("name", no_wrap=True)
    table.add_column("what it makes")
    for script in scripts.values():
        table.add_row(script.name, script.summary)
    stdout().print(table, soft_wrap=False)
