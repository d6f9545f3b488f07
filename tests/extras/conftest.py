"""One thread for PyTorch; JAX on the CPU in double precision is chosen by the tests themselves."""

from __future__ import annotations

import os

import pytest
import torch

os.environ.setdefault("HF_HUB_OFFLINE", "1")


def pytest_configure(config: pytest.Config) -> None:
    """What peft and transformers say to each other about names that they change."""
    config.addinivalue_line("filterwarnings", "ignore:.*gradient_checkpointing:FutureWarning")


@pytest.fixture(scope="session", autouse=True)
def _one_thread() -> None:
    """The same order of sums everywhere."""
    torch.set_num_threads(1)
