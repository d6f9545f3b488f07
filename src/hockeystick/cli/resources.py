"""`hockeystick docs` and `hockeystick data`: the pages that errors refer to, and data sets."""

from __future__ import annotations

import re
import unicodedata
from pathlib import Path
from typing import Annotated

import typer

from hockeystick._validate import choice
from hockeystick.cli import OUTPUT
from hockeystick.cli.output import stdout
from hockeystick.datasets import DATASETS, fetch
from hockeystick.errors import InvalidParameter
from hockeystick.report import progress

__all__ = ["data", "docs", "page_names", "page_text"]


PACKAGE = Path(__file__).resolve().parents[1]
# In a wheel they are inside the package, in a clone beside `src`.
FOLDERS = (PACKAGE / "_docs", PACKAGE.parents[1] / "docs")
# Pages that are made of something else when the documentation is built.
MADE = ("api", "changelog", "index")
HEADING = re.compile(r"(#+) +(.*?)(?: *\{ *#([\w-]+) *\})? *")


def docs(
    page: Annotated[
        str,
        typer.Argument(
            help="A page, or a section of it such as stopping#two-phases; all are listed without.",
            show_default=False,
        ),
    ] = "",
) -> None:
    """The documentation: a page or a section of it, as errors name them."""
    try:
        text = page_text(page) if page else _contents()
    except InvalidParameter as error:
        raise typer.BadParameter(str(error)) from None  # an argument, and no option
    typer.echo(text, nl=False)


def page_names() -> list[str]:
    """The pages that there are."""
    return sorted(one.stem for one in _folder().glob("*.md") if one.stem not in MADE)


def page_text(reference: str) -> str:
    """The text of a page; of a section alone, with all that is below it, if one is named."""
    name, _, section = reference.removeprefix("docs/").partition("#")
    name = name.removesuffix(".md")
    if name not in page_names():
        raise InvalidParameter("page", f"one of {', '.join(page_names())}", reference)
    text = (_folder() / f"{name}.md").read_text(encoding="utf-8")
    return _section(text, section, reference) if section else text


def _folder() -> Path:
    for folder in FOLDERS:
        if folder.is_dir():
            return folder
    raise FileNotFoundError("this installation has no documentation; a clone has it in docs/")


def _contents() -> str:
    titles = {name: page_text(name).partition("\n")[0].lstrip("# ") for name in page_names()}
    width = max(map(len, titles))
    lines = [f"{name:<{width}}  {title}" for name, title in titles.items()]
    return "\n".join([*lines, "", "hockeystick docs PAGE prints one of them.", ""])


def _section(text: str, section: str, reference: str) -> str:
    """From the heading with this name to the next one that is not below it."""
    kept: list[str] = []
    depth, fenced, names = 0, False, []
    for line in text.splitlines(keepends=True):
        fenced ^= line.startswith("```")
        heading = None if fenced else HEADING.fullmatch(line.rstrip("\n"))
        if heading is not None:
            level, name = len(heading[1]), heading[3] or _slug(heading[2])
            names.append(name)
            if kept and level <= depth:
                break
            if name == section:
                depth = level
        if depth:
            kept.append(line)
    if not kept:
        raise InvalidParameter("page", f"with one of the sections {', '.join(names)}", reference)
    return "".join(kept)


def _slug(title: str) -> str:
    """The name of a section, as the built documentation has it."""
    plain = unicodedata.normalize("NFKD", title).encode("ascii", "ignore").decode()
    return re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", plain).strip().lower())


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
