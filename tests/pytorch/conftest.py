"""Small runs for the tests of hockeystick.torch; everything is imported where it is used."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest


@pytest.fixture(scope="session", autouse=True)
def _one_thread() -> None:
    """Tests run side by side; more threads would wait for each other."""
    if importlib.util.find_spec("torch"):
        import torch

        torch.set_num_threads(1)


@pytest.fixture(scope="session")
def runs() -> ModuleType:
    """The file beside this one; its folder is called like a package and cannot be imported from."""
    path = Path(__file__).with_name("small_runs.py")
    spec = importlib.util.spec_from_file_location("small_runs", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
