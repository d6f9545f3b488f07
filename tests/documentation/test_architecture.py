"""The page about the architecture describes the code that is there."""

from __future__ import annotations

import json
import math
import re
import runpy
import subprocess
import sys
import tomllib

import pytest

from documentation.pages import DOCS, ROOT, blocks

PAGE = (DOCS / "architecture.md").read_text()
# What one call may enter, so that it can be read from top to bottom.
MOST_FILES = 60
SOURCE = ROOT / "src" / "hockeystick"


def rows(heading):
    """The rows of the first table below a heading, as lists of cells."""
    table = PAGE.partition(f"## {heading}\n")[2].partition("\n## ")[0]
    lines = [line for line in table.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[1:]]


def test_layers_are_those_that_are_enforced():
    """The same rooms in the same order; modules for input checks, files and text in words."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
    layers = [re.findall(r"\w+", layer) for layer in contracts["contracts"][0]["layers"]]
    shown = [set(re.findall(r"`(\w+)`", cells[1])) for cells in rows("Nine layers")]
    assert len(layers) == len(shown) == 9
    for enforced, named in zip(layers, shown, strict=True):
        assert named <= set(enforced)
        others = set(enforced) - named
        assert all(one.startswith("_") for one in others)


def test_every_room_is_described():
    """Every package, and the modules that are rooms of their own."""
    described = set(re.findall(r"`(\w+)(?:/|\.py)`", " ".join(c[0] for c in rows("Rooms"))))
    packages = {path.parent.name for path in SOURCE.glob("*/__init__.py")}
    assert described == packages | {"plan", "sequence", "guarantee"}


def journey():
    """The part of the page that follows one call."""
    return PAGE.partition("## One call's journey\n")[2].partition("### 7")[0]


def named_files():
    """The files that the journey names, in its order."""
    return list(dict.fromkeys(re.findall(r"`((?:\w+/)*\w+\.py)(?:::[\w.]+)?`", journey())))


TRACED = """
import json, sys, threading
import hockeystick
entered = set()
def trace(frame, event, argument):
    entered.add(frame.f_code.co_filename)
threading.settrace(trace)
sys.settrace(trace)
exec(compile(sys.argv[1], "architecture.md", "exec"), {})
sys.settrace(None)
print(json.dumps(sorted(entered)))
"""


@pytest.mark.slow
def test_the_journey_names_the_files_that_the_call_enters():
    """No more and no fewer: the lines on the page are run and traced; their comment is true.

    In a process of its own, so that it does not depend on what has been imported before.
    """
    (code,) = (block.text for block in blocks(DOCS / "architecture.md") if block.info == "python")
    command = [sys.executable, "-c", TRACED, code]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    printed, entered = done.stdout.splitlines()
    root = f"{SOURCE}/"
    files = {name.removeprefix(root) for name in json.loads(entered) if name.startswith(root)}
    # An upper bound is rounded up.
    found = math.ceil(float(printed) * 1e5) / 1e5
    assert f"{found:.5f}" == re.search(r"# (0\.\d+)", code)[1]
    assert files == set(named_files())
    assert len(files) <= MOST_FILES


def test_the_picture_says_the_same(tmp_path):
    """It can be drawn, and the files and folders in it are those of the page."""
    picture = runpy.run_path(str(DOCS / "architecture_picture.py"))
    picture["draw"](tmp_path / "picture.png")
    assert (tmp_path / "picture.png").stat().st_size > 10_000
    boxes = [picture[name] for name in ("PLAN", "ACCOUNT", "REQUEST", "ANSWER", "SHARED_ROOMS")]
    text = " ".join(box.lines for box in (*boxes, *picture["BOUNDS"], *picture["GRAM"]))
    for path in re.findall(r"[a-z_]+(?:/[a-z_]*)*(?:/|\.py)", text):
        assert path in journey(), path
    for number in ("4.198", "1.192", "0.896"):
        assert number in text
        assert number in journey()
