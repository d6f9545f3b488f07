"""`hockeystick reproduce`."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from textwrap import fill
from typing import Annotated

import typer
from rich.console import Console

from hockeystick.cli.figures import Figure, all_papers
from hockeystick.cli.options import OUTPUT
from hockeystick.cli.scripts import Script, all_scripts
from hockeystick.cli.table import stdout
from hockeystick.errors import HockeystickError, InvalidParameter, MissingExtra

__all__ = ["reproduce"]

NO_SCRIPT, NAME_WIDTH, MARGIN, MOST_COLUMNS = "-", 30, 4, 100

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
    """Compute a figure, a table or an experiment anew; without a name, list all of them."""
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
    console = stdout()
    known = set()
    for paper in all_papers(next(iter(scripts.values())).path.parent):
        console.print(paper.title, style="bold")
        for figure in paper.entries:
            known.add(figure.script)
            _entry(console, figure.script, f"{figure.label:<11}{figure.status}", _about(figure))
        console.print()
    for script in scripts.values():
        if script.name not in known:
            _entry(console, script.name, "", script.summary)
    console.print("hockeystick reproduce NAME [--small] [--output DIR] runs one of them.")


def _entry(console: Console, name: str | None, what: str, text: str) -> None:
    """The name and what it is, then the text, with a margin."""
    console.print(f"{name or NO_SCRIPT:<{NAME_WIDTH}}{what}".rstrip())
    margin = " " * MARGIN
    width = min(console.width, MOST_COLUMNS)
    console.print(fill(text, width, initial_indent=margin, subsequent_indent=margin))


def _about(figure: Figure) -> str:
    return figure.shows if figure.remark is None else f"{figure.shows} ({figure.remark})"
