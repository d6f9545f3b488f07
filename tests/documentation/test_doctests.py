"""Examples in docstrings run, and public docstrings say what goes in and what comes out."""

from __future__ import annotations

import doctest
import inspect
import re
import time
from enum import Enum

import pytest

import hockeystick as hs
from documentation.public import public_objects
from in_one_test import in_one_test

OBJECTS = public_objects()
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
# Examples are read by people and run by everybody: each docstring's together, in seconds.
LONGEST = 3.0


def examples_of(name, entry):
    """The doctests of a function, or of a class and its methods."""
    finder = doctest.DocTestFinder(exclude_empty=True)
    found = finder.find(entry, name, globs={"hs": hs})
    return [test for test in found if test.examples]


def arguments(entry):
    """What a caller of a function or class has to know: names of its parameters."""
    if inspect.isclass(entry) and issubclass(entry, BaseException | Enum):
        return []
    try:
        signature = inspect.signature(entry)
    except (TypeError, ValueError):
        return []
    kinds = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return [n for n, p in signature.parameters.items() if p.kind not in kinds and n != "self"]


def section(entry, title):
    """The text below a heading of a numpy docstring; nothing without it."""
    text = inspect.cleandoc(entry.__doc__ or "")
    match = re.search(rf"^{title}\n-+\n(.*?)(?=^\w[\w ]*\n-+\n|\Z)", text, re.DOTALL | re.MULTILINE)
    return match[1] if match else ""


@pytest.mark.parametrize("name", sorted(OBJECTS))
def test_examples_run(name, tmp_path, monkeypatch):
    """What the docstring shows is what is printed; quickly, once kernels are compiled."""
    monkeypatch.chdir(tmp_path)
    if run_examples(name) > LONGEST:
        assert run_examples(name) < LONGEST


def run_examples(name):
    """Run the examples of a public thing; the processor time they took."""
    runner = doctest.DocTestRunner(optionflags=FLAGS, verbose=False)
    start = time.process_time()
    for test in examples_of(name, OBJECTS[name]):
        printed = []
        runner.run(test, out=printed.append)
        assert not runner.failures, "".join(printed)
    return time.process_time() - start


def is_error(entry):
    """Whether this is an exception class: its message is its documentation."""
    return inspect.isclass(entry) and issubclass(entry, BaseException)


def is_result(entry):
    """A class that the library makes and users read: its docstring lists `Attributes`."""
    return inspect.isclass(entry) and bool(section(entry, "Attributes"))


def is_choice(entry):
    """Whether this is an enumeration, whose members are its documentation."""
    return inspect.isclass(entry) and issubclass(entry, Enum)


def gives_something(entry):
    """Whether a function returns a value."""
    return inspect.isfunction(entry) and inspect.signature(entry).return_annotation not in (
        "None",
        None,
    )


def gaps(name):
    """What the docstring of a public function or class does not say."""
    entry = OBJECTS[name]
    if is_error(entry):
        return []
    explained = section(entry, "Attributes" if is_result(entry) else "Parameters")
    found = [
        f"parameter {argument}"
        for argument in ([] if is_result(entry) else arguments(entry))
        if not re.search(rf"^(\*{{0,2}}\w+, )*\*{{0,2}}{argument}\b", explained, re.MULTILINE)
    ]
    if gives_something(entry) and not (section(entry, "Returns") or section(entry, "Yields")):
        found.append("returns")
    shown = is_result(entry) or inspect.isabstract(entry) or is_choice(entry)
    if not shown and not examples_of(name, entry):
        found.append("example")
    return found


@in_one_test
@pytest.mark.parametrize("name", sorted(OBJECTS))
def test_docstrings_are_complete(name):
    """Parameters, what is returned, and an example; of results, their attributes."""
    assert not gaps(name)


def test_gaps_are_noticed():
    """An argument that is not explained, a value that is not, and a missing example."""

    def half(first: int, second: int) -> int:
        """Half.

        Parameters
        ----------
        first
            Explained.
        """
        return first + second

    OBJECTS["half"] = half
    try:
        assert gaps("half") == ["parameter second", "returns", "example"]
    finally:
        del OBJECTS["half"]
