"""`hockeystick docs`: every page and section that errors name can be opened, from a wheel too."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from hockeystick.cli.main import main
from hockeystick.cli.resources import page_names, page_text
from hockeystick.errors import InvalidParameter, reference
from in_one_test import in_one_test

ROOT = Path(__file__).parents[2]
SOURCE = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "src").rglob("*.py"))
# Pages as arguments of errors, and where a message itself has the command.
NAMED = sorted(
    {*re.findall(r'"(docs/[\w-]+\.md(?:#[\w-]+)?)"', SOURCE)}
    | {*re.findall(r"`hockeystick docs ([\w-]+(?:#[\w-]+)?)`", SOURCE)}
)


@in_one_test
@pytest.mark.parametrize("name", NAMED)
def test_every_page_that_is_named_exists(name):
    """With its section; the wheel has the page."""
    assert page_text(name).startswith("#")
    page = name.removeprefix("docs/").partition("#")[0].removesuffix(".md")
    with (ROOT / "pyproject.toml").open("rb") as file:
        wheel = tomllib.load(file)["tool"]["hatch"]["build"]["targets"]["wheel"]
    assert wheel["force-include"][f"docs/{page}.md"] == f"hockeystick/_docs/{page}.md"


def test_no_message_names_a_file():
    """Only comments and docstrings for developers do; what is printed names the command."""
    printed = re.findall(r'^\s+f?"[^"\n]*\bdocs/[\w-]+\.md[^"\n]*",?$', SOURCE, re.MULTILINE)
    assert all(re.fullmatch(r'\s*"docs/[\w-]+\.md(#[\w-]+)?",?', line) for line in printed)


def test_a_reference_is_the_command():
    """With the section of the page."""
    assert reference("docs/stopping.md#two-phases") == "`hockeystick docs stopping#two-phases`"


def test_a_section_ends_where_the_next_begins():
    """What is below it belongs to it; code that looks like a heading does not end it."""
    part = page_text("stopping#two-phases")
    assert part.startswith("## Two phases")
    assert len(re.findall(r"^## ", part, re.MULTILINE)) == 1
    assert part in page_text("stopping")


def test_on_the_command_line(capsys):
    """A list, a page, a section, and a sentence for what there is not."""
    assert main(["docs"]) == 0
    contents = capsys.readouterr().out
    assert "users" in contents
    assert "stopping" in contents
    assert main(["docs", "users"]) == 0
    assert capsys.readouterr().out == (ROOT / "docs/users.md").read_text(encoding="utf-8")
    assert main(["docs", "nowhere"]) == 2
    assert "page must be one of" in capsys.readouterr().err
    with pytest.raises(InvalidParameter, match="two-phases"):
        page_text("stopping#nowhere")
    assert "quick-start" in page_names()
