"""Names in the text are real: of the library, of files, of extras."""

from __future__ import annotations

import ast
import re
import tomllib
from functools import reduce

import pytest

import hockeystick as hs
from documentation.pages import PAGES, ROOT, SPAN, blocks, name_of, prose
from hockeystick.errors import MissingExtra
from in_one_test import in_one_test

SCHEMES = [
    name
    for name, found in vars(hs.schemes).items()
    if isinstance(found, type) and issubclass(found, hs.schemes.Sampling)
]
FILES = {
    path.relative_to(folder).as_posix()
    for folder in (ROOT, ROOT / "src" / "hockeystick", ROOT / "src" / "hockeystick" / "_numerics")
    for part in ("src", "tests", "reproductions", "benchmarks", "examples")
    for path in (ROOT / part).rglob("*.py")
    if path.is_relative_to(folder)
}


def found_in_code(page, pattern):
    """What matches in code spans of the text."""
    return {found for span in SPAN.findall(prose(page)) for found in re.findall(pattern, span)}


@in_one_test
@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_names_of_the_library_exist(page):
    """`hs.filters.Levy` and `hockeystick.fdp.gdp`, down to attributes of classes."""
    for name in found_in_code(page, r"(?<![\w./])(?:hs|hockeystick)((?:\.[A-Za-z_]\w*)+)"):
        parts = name[1:].split(".")
        try:
            reduce(getattr, parts, hs)
        except MissingExtra:
            # Of a package that is not installed here the list of public names is read.
            module = ROOT / "src" / "hockeystick" / parts[0] / "__init__.py"
            assert len(parts) == 1 or f'"{parts[1]}"' in module.read_text()


@in_one_test
@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_spelled_schemes_can_be_typed(page):
    """`BallsInBins(bins=100)`, not `BallsInBins(bins)`: what a reader copies runs."""
    for call in found_in_code(page, rf"^`(?:hs\.)?((?:{'|'.join(SCHEMES)})\(.*\))`$"):
        assert isinstance(eval(call, dict(vars(hs.schemes))), hs.schemes.Sampling)


@in_one_test
@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_files_exist(page):
    """`analyses/gram/__init__.py` in the package, `reproductions/curves.py` in the repository.

    Or the reader saves it.
    """
    named = found_in_code(page, r"(?<![\w/])(?:\w+/)*\w*[a-z]\w*\.py\b")
    saved = set(re.findall(r"Save this as `(\w+\.py)`", page.read_text()))
    assert named - saved <= FILES


@in_one_test
@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_places_exist(page):
    """`profile/__init__.py::Profile.allocate`: a function, class, method or constant of a file."""
    for file, name in found_in_code(page, r"((?:\w+/)*\w+\.py)::(\w+(?:\.\w+)?)"):
        assert name in names_in(file), f"{file}::{name}"


def test_wrong_places_are_noticed():
    """A name that the file does not define, although it imports it."""
    assert {"Profile", "Profile.allocate"} <= names_in("profile/__init__.py")
    assert "LARGEST_NOISE" in names_in("_validate.py")
    assert not {"Expression", "allocate"} & names_in("profile/__init__.py")


def names_in(file):
    """What a source file defines at its top level and in its classes."""
    folder = next(f for f in (ROOT / "src" / "hockeystick", ROOT) if (f / file).is_file())
    found = set()
    for node in ast.parse((folder / file).read_text()).body:
        found |= set(defined(node))
        if isinstance(node, ast.ClassDef):
            found |= {f"{node.name}.{name}" for part in node.body for name in defined(part)}
    return found


def defined(node):
    """The names that a statement gives to something."""
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return [node.name]
    targets = getattr(node, "targets", [getattr(node, "target", None)])
    return [
        part.id
        for one in targets
        if one is not None
        for part in ast.walk(one)
        if isinstance(part, ast.Name)
    ]


def test_extras_exist():
    """Those that are to be installed, and those that are named beside a feature."""
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"][
        "optional-dependencies"
    ]
    shown = " ".join(block.text for page in PAGES for block in blocks(page))
    text = shown + " ".join(page.read_text() for page in PAGES)
    named = set(re.findall(r"\.\[(\w+)\]\"", text)) | set(re.findall(r"extras? `(\w+)`", text))
    assert named >= {"plot", "train", "torch", "dask", "crypto", "postgres"}
    assert named <= set(extras)
