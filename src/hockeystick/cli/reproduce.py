"""`hockeystick reproduce`: the scripts of `reproductions/` and the papers' figures they make."""

from __future__ import annotations

import ast
import importlib
import importlib.util
import sys
import tomllib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from textwrap import fill
from typing import Annotated

import typer
from rich.console import Console

from hockeystick.cli import OUTPUT
from hockeystick.cli.output import stdout
from hockeystick.errors import HockeystickError, InvalidParameter, MissingExtra

__all__ = [
    "CATALOGUE",
    "STATUSES",
    "Figure",
    "Paper",
    "Script",
    "all_papers",
    "all_scripts",
    "reproduce",
]

CATALOGUE = "figures.toml"
STATUSES = ("reproduced", "in part", "needs data", "not here", "own")


@dataclass(frozen=True, kw_only=True)
class Figure:
    """A figure of a paper, or one of our own beside them, which has no number."""

    shows: str
    status: str
    number: int | None = None
    script: str | None = None
    remark: str | None = None

    @property
    def label(self) -> str:
        """How the paper calls it."""
        return "" if self.number is None else f"Figure {self.number}"


@dataclass(frozen=True)
class Paper:
    """A paper, how many figures it has, and what is known about them."""

    key: str
    title: str
    figures: int
    entries: tuple[Figure, ...]


def all_papers(folder: Path) -> tuple[Paper, ...]:
    """The papers in the order of the file; none if the folder has no such file."""
    path = folder / CATALOGUE
    if not path.is_file():
        return ()
    content = tomllib.loads(path.read_text(encoding="utf-8"))
    entries: dict[str, list[Figure]] = {paper["key"]: [] for paper in content["paper"]}
    for found in content["figure"]:
        entries[found.pop("paper")].append(Figure(**found))
    return tuple(
        Paper(paper["key"], paper["title"], paper["figures"], tuple(entries[paper["key"]]))
        for paper in content["paper"]
    )


PACKAGE = Path(__file__).resolve().parents[1]
# In a wheel they are inside the package, in a clone beside `src`.
FOLDERS = (PACKAGE / "_reproductions", PACKAGE.parents[1] / "reproductions")
# Files without a usage line are shared by others and make nothing alone.
USAGE = "Usage: "
EXTRAS = {"matplotlib": "plot", "opacus": "train", "sklearn": "train", "torch": "train"}


@dataclass(frozen=True)
class Script:
    """A file that makes one picture or table."""

    path: Path
    summary: str
    usage: str

    @property
    def name(self) -> str:
        """What it is called on the command line."""
        return self.path.stem

    def run(self, arguments: Sequence[str]) -> int:
        """Run it in this process; its exit status.

        `MissingExtra` if it imports something that is not installed.
        """
        with _importable(self.path.parent):
            try:
                status: int = importlib.import_module(self.name).main(arguments)
            except ModuleNotFoundError as error:
                missing = (error.name or "").partition(".")[0]
                if missing not in EXTRAS:
                    raise
                needs = f"{self.name} needs {missing}, which is not installed"
                raise MissingExtra(needs, extra=EXTRAS[missing]) from None
        return status


def all_scripts(folders: Sequence[Path] = FOLDERS) -> dict[str, Script]:
    """The scripts of the first folder that exists, by name and in its order; perhaps none."""
    folder = next((folder for folder in folders if (folder / "curves.py").is_file()), None)
    if folder is None:
        return {}
    found = (_described(path) for path in sorted(folder.glob("*.py")))
    return {script.name: script for script in found if script is not None}


def _described(path: Path) -> Script | None:
    """From the docstring, without running anything; None if it is no script."""
    text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    lines = text.splitlines()
    usage = next((line for line in lines if line.startswith(USAGE)), None)
    return None if usage is None else Script(path, lines[0], usage.removeprefix(USAGE))


@contextmanager
def _importable(folder: Path) -> Iterator[None]:
    """Scripts import what they share by name."""
    sys.path.insert(0, str(folder))
    try:
        yield
    finally:
        sys.path.remove(str(folder))


# How wide the table is: the longest name fits, and lines stay short enough to be read.
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
