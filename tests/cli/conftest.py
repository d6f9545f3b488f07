"""Running the command in this process."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import pytest

from hockeystick.cli.main import main

FULL_BATCH = ["--sampling", "full-batch", "--steps", "10"]
POISSON = ["--sampling", "poisson", "--rate", "0.1", "--steps", "20"]


class Outcome(NamedTuple):
    """What a command did."""

    status: int
    stdout: str
    stderr: str


Command = Callable[..., Outcome]


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Command:
    """A function that runs `hockeystick` with the given words, as in a pipe of 80 columns."""
    monkeypatch.setenv("COLUMNS", "80")
    for name in ("FORCE_COLOR", "PY_COLORS", "GITHUB_ACTIONS", "TTY_COMPATIBLE"):
        monkeypatch.delenv(name, raising=False)

    def run(*words: object) -> Outcome:
        status = main([str(word) for word in words])
        return Outcome(status, *capsys.readouterr())

    return run
