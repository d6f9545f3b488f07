"""Every public name has a docstring and a place on the page of the API."""

from __future__ import annotations

import ast
import importlib
import re
import types
from itertools import pairwise

import pytest

from documentation.pages import DOCS
from documentation.public import MODULES, SOURCE, public_names
from in_one_test import in_one_test

PAGE = (DOCS / "api.md").read_text()
ENTRIES = re.findall(r"^::: (\S+)$", PAGE, re.MULTILINE)


def resolved(entry):
    """The object of an entry."""
    try:
        return importlib.import_module(entry)
    except ModuleNotFoundError:
        module, _, name = entry.rpartition(".")
        return getattr(importlib.import_module(module), name)


def on_the_page(module, name, documented):
    """Under this name, under another one, or as part of a module that is shown as a whole."""
    if f"{module}.{name}" in ENTRIES:
        return True
    found = getattr(importlib.import_module(module), name)
    if isinstance(found, types.ModuleType) or name == "__version__":
        return f"`hs.{name}`" in PAGE
    return any(found is other for other in documented) or found.__module__ in ENTRIES


def test_the_modules():
    """Those that users import; the walk below is not over nothing."""
    assert set(MODULES) >= {
        f"hockeystick{name}"
        for name in (
            "",
            ".strategies",
            ".filters",
            ".fdp",
            ".ledger",
            ".torch",
            ".training",
            ".errors",
            ".schemes",
        )
    }


@in_one_test
@pytest.mark.parametrize("module", MODULES)
def test_every_public_name_is_documented(module):
    """On the page, and the module itself in its first table."""
    documented = [resolved(entry) for entry in ENTRIES]
    missing = [name for name in public_names(module) if not on_the_page(module, name, documented)]
    assert not missing
    assert f"| `{module.replace('hockeystick', 'hs', 1)}` |" in PAGE


@in_one_test
@pytest.mark.parametrize("module", MODULES)
def test_every_public_name_has_a_docstring(module):
    """Functions, classes and modules their own; for constants a text below them in the source."""
    package = importlib.import_module(module)
    for name in public_names(module):
        found = getattr(package, name)
        if name == "__version__":
            continue
        if isinstance(found, types.FunctionType | types.ModuleType | type):
            assert (found.__doc__ or "").strip(), name
            # What dataclasses write by themselves is no explanation.
            assert not found.__doc__.startswith(f"{name}("), name
        else:
            assert constant_is_explained(name), name


def constant_is_explained(name):
    """Somewhere in the package the assignment is followed by a text."""
    for path in SOURCE.rglob("*.py"):
        text = path.read_text()
        if f"\n{name}: " not in text:
            continue
        body = ast.parse(text).body
        for node, following in pairwise(body):
            named = isinstance(node, ast.AnnAssign) and getattr(node.target, "id", "") == name
            if named and isinstance(following, ast.Expr):
                return isinstance(following.value, ast.Constant)
    return False


@in_one_test
@pytest.mark.parametrize("entry", ENTRIES)
def test_entries_exist(entry):
    """A name that was renamed or removed."""
    assert resolved(entry) is not None


def test_no_entry_twice():
    """Each name has one place."""
    assert len(ENTRIES) == len(set(ENTRIES))
