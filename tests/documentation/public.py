"""What users reach from `hs.`: public functions and classes, and the public parts of classes."""

from __future__ import annotations

import ast
import importlib
import inspect
from pathlib import Path

import hockeystick as hs
from hockeystick.errors import MissingExtra

SOURCE = Path(hs.__file__).parent
# One for each package whose names users import.
MODULES = ["hockeystick"] + [
    f"hockeystick.{name}"
    for name in ("torch", *(n for n in hs.__all__ if n[0].islower()))
    if (SOURCE / name).is_dir() or name == "errors"
]


def public_names(module):
    """`__all__`, read from the source."""
    path = SOURCE / module.removeprefix("hockeystick").lstrip(".").replace(".", "/")
    file = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    for node in ast.parse(file.read_text()).body:
        if isinstance(node, ast.Assign) and node.targets[0].id == "__all__":
            return ast.literal_eval(node.value)
    raise AssertionError(f"{module} has no __all__")


def public_objects():
    """Functions and classes by their shortest public name, each once."""
    found = {}
    for module in MODULES:
        try:
            package = importlib.import_module(module)
        except MissingExtra:  # where PyTorch is, its names are there
            continue
        for name in public_names(module):
            entry = getattr(package, name)
            if (inspect.isfunction(entry) or inspect.isclass(entry)) and entry not in (
                found.values()
            ):
                found[f"{module.replace('hockeystick', 'hs', 1)}.{name}"] = entry
    return found


def public_methods(cls):
    """Functions and class methods that a class defines itself and that have a public name."""
    for name, member in vars(cls).items():
        function = getattr(member, "__func__", member)
        if not name.startswith("_") and inspect.isfunction(function):
            yield name, function
