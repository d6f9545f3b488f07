"""The command as a process: help, version, pipes and imports."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

import hockeystick as hs
from cli.conftest import FULL_BATCH, Command

ASK = ["--noise-multiplier", "2", "--delta", "1e-5"]
COMMANDS = ["epsilon", "delta", "calibrate", "batches"]


def process(*words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """`python -m hockeystick` with its output in pipes."""
    kept = {n: v for n, v in os.environ.items() if n not in ("FORCE_COLOR", "PY_COLORS", "COLUMNS")}
    return subprocess.run(
        [sys.executable, "-m", "hockeystick", *words],
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
        env={**kept, **environment},
    )


def test_without_a_command_the_help_is_shown(command: Command) -> None:
    """Help, not an error, and all commands are in it."""
    outcome = command()
    assert (outcome.status, outcome.stderr) == (0, "")
    assert all(name in outcome.stdout for name in COMMANDS)
    assert command("--help").stdout == outcome.stdout


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_explains_its_options(command: Command, name: str) -> None:
    """Each has the options of the run, with all schemes named."""
    outcome = command(name, "--help")
    assert (outcome.status, outcome.stderr) == (0, "")
    options = ["--sampling", "--rate", "--groups", "--picks", "--out-of", "--truncate", "--steps"]
    for text in [*options, "--batch-size", "--examples", "--json", "cyclic-poisson"]:
        assert text in outcome.stdout


def test_the_version_is_printed(command: Command) -> None:
    """--version needs no command."""
    assert command("--version") == (0, f"hockeystick {hs.__version__}\n", "")


def test_a_process_prints_plain_text_in_a_pipe() -> None:
    """As a user's script sees it: status 0, no escape sequences, nothing on standard error."""
    done = process("epsilon", *FULL_BATCH, *ASK, TERM="xterm-256color")
    assert (done.returncode, done.stderr) == (0, "")
    assert "gaussian" in done.stdout
    assert "\x1b" not in done.stdout


def test_a_process_prints_json_in_ascii() -> None:
    """The object survives the poorest encoding."""
    done = process("epsilon", *FULL_BATCH, *ASK, "--json", PYTHONIOENCODING="ascii")
    assert done.returncode == 0
    assert json.loads(done.stdout)["best"]["method"] == "gaussian"


def test_a_process_fails_with_one_line() -> None:
    """Bad input: status 2, one line, no traceback."""
    done = process("epsilon", *FULL_BATCH, "--noise-multiplier", "nan", "--delta", "1e-5")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "error: --noise-multiplier must be a finite number > 0, got nan.\n"


def test_the_library_does_not_import_the_terminal() -> None:
    """`import hockeystick` brings in neither the command line nor plots."""
    code = "import sys, hockeystick; print(*{'typer', 'rich', 'matplotlib'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""


def test_the_command_imports_no_plots() -> None:
    """Matplotlib is only loaded for --plot."""
    code = "import sys, hockeystick.cli.main; print('matplotlib' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
