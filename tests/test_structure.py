"""The shape of the source: sizes, names that occur once, words, and where an answer is computed."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from functools import cache
from pathlib import Path

import pytest

import hockeystick as hs
from in_one_test import in_one_test

PACKAGE = Path(hs.__file__).parent
FILES = sorted(PACKAGE.rglob("*.py"))
MOST_LINES, MOST_LINES_OF_A_FUNCTION = 300, 60
# Words of our own that readers of the papers do not know; docs/notation.md has the field's.
PRIVATE_WORDS = re.compile(
    r"\b(race|races|promise[sd]?|hope[sd]?|doubt(?:s|ed)?|dear|loud|twins?|yardsticks?"
    r"|pric(?:e[sd]?|ing)|coins?)\b",
    re.IGNORECASE,
)


@cache
def trees():
    """The syntax of each file."""
    return {path: ast.parse(path.read_text()) for path in FILES}


def name_of(path):
    """The path within the package."""
    return path.relative_to(PACKAGE).as_posix()


def test_files_are_short():
    """One idea a file."""
    lengths = {name_of(path): len(path.read_text().splitlines()) for path in FILES}
    assert {name: lines for name, lines in lengths.items() if lines > MOST_LINES} == {}


def test_functions_are_short():
    """Of code: the docstring does not count."""
    long = {}
    for path, tree in trees().items():
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                first = node.body[1] if ast.get_docstring(node) and node.body[1:] else node.body[0]
                lines = (node.end_lineno or 0) - first.lineno + 1
                if lines > MOST_LINES_OF_A_FUNCTION:
                    long[f"{name_of(path)}::{node.name}"] = lines
    assert long == {}


def test_class_names_occur_once():
    """A name stands for one thing; private helpers of a module are its own matter."""
    places = defaultdict(list)
    for path, tree in trees().items():
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places[node.name].append(name_of(path))
    assert {name: where for name, where in places.items() if len(where) > 1} == {}


@in_one_test
@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_words_of_the_field(path):
    """No private metaphors in names, comments and docstrings."""
    # `priced_for` is a field of statements that were written by earlier versions.
    text = path.read_text().replace("priced_for", "").replace("_", " ")
    lines = enumerate(text.splitlines(), 1)
    assert [f"{number}: {line}" for number, line in lines if PRIVATE_WORDS.search(line)] == []


def test_folders_of_tests_hide_no_package():
    """They are on the path: Hugging Face takes any folder `datasets` for its own package."""
    packages = {"accelerate", "datasets", "evaluate", "jax", "opacus", "peft", "torch", "trl"}
    folders = {path.name for path in Path(__file__).parent.iterdir() if path.is_dir()}
    assert folders & packages == set()
