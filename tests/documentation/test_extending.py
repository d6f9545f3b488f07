"""The extensions on the page about extending work: as files, in Python and on the command line."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest

from documentation.pages import DOCS, ROOT, blocks

PAGE = DOCS / "extending.md"
FILES = {
    match[1]: block.text
    for block in blocks(PAGE)
    if (match := re.fullmatch(r'python title="(\w+\.py)"', block.info))
}
SNIPPETS = [block.text for block in blocks(PAGE) if block.info == "python"]
SHOWN = [block.text for block in blocks(PAGE) if block.info == "text"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with the files of the page."""
    found = tmp_path_factory.mktemp("extensions")
    for name, text in FILES.items():
        (found / name).write_text(text)
    return found


def run(folder, *words):
    """What a new process prints; registrations stay in it."""
    path = os.pathsep.join([str(folder), str(ROOT / "src")])
    finished = subprocess.run(
        [sys.executable, *words],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": path, "COLUMNS": "200"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert finished.returncode == 0, finished.stderr
    return finished.stdout


@pytest.mark.slow
def test_the_lines_of_the_page(folder):
    """All snippets in order in one process; below each is what it prints."""
    (folder / "lines.py").write_text("\n".join(SNIPPETS))
    expected = [text for text in SHOWN if not text.startswith("$")]
    assert len(expected) == len(SNIPPETS)
    assert run(folder, "lines.py") == "".join(expected)


@pytest.mark.slow
def test_the_command_lines_of_the_page(folder):
    """New schemes, strategies, analyses and commands have their options and answers."""
    lines = SHOWN[-1].splitlines()
    assert len(lines) == 4
    for command, expected in zip(lines[::2], lines[1::2], strict=True):
        words = command.removeprefix("$ python ").split()
        assert expected in run(folder, *words)


def test_one_registration_line_each():
    """Every file but the last, which puts them together, registers once."""
    *extensions, program = FILES
    assert program == "extended.py"
    assert len(extensions) == 5
    for name in extensions:
        text = FILES[name]
        assert len(re.findall(r"^@register$|= register\(", text, re.MULTILINE)) == 1
        assert len(text.splitlines()) < 80
