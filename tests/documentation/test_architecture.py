"""The page about the architecture describes the code that is there."""

from __future__ import annotations

import re
import tomllib

from documentation.pages import DOCS, ROOT

PAGE = (DOCS / "architecture.md").read_text()
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
    assert described == packages | {"plan", "guarantee"}
