"""Small runs for the tests of hockeystick.torch."""

from __future__ import annotations

from types import ModuleType

import pytest
import torch

from pytorch import small_runs


@pytest.fixture(scope="session", autouse=True)
def _one_thread() -> None:
    """Tests run side by side; more threads would wait for each other."""
    torch.set_num_threads(1)


@pytest.fixture(scope="session")
def runs() -> ModuleType:
    """The file beside this one."""
    return small_runs
