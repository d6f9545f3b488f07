"""Every example runs in its small mode, ends with a statement and draws a picture."""

from __future__ import annotations

import os
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

import hockeystick as hs

EXAMPLES = Path(__file__).parents[2] / "examples"
# In one process, and each of the others in processes of its own.
ALONE = ("story", "digits", "lora", "tabular", "jax_digits", "verified_noise", "filtered_run")
STARTED = {
    "two_processes": ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"],
    "shared_ledger": [],
}


def test_all_examples_are_known_and_short():
    """One file each, at most 150 lines."""
    files = sorted(EXAMPLES.glob("*.py"))
    assert {file.stem for file in files} == {*ALONE, *STARTED}
    assert {file.stem: n for file in files if (n := len(file.read_text().splitlines())) > 150} == {}


def test_the_gallery_shows_all():
    """The page has the file, the command and the stored picture of every example."""
    page = (EXAMPLES.parent / "docs/gallery.md").read_text()
    for file in EXAMPLES.glob("*.py"):
        assert f"examples/{file.name}" in page
        assert f"images/examples/{file.stem}.png" in page
        assert (EXAMPLES.parent / f"docs/images/examples/{file.stem}.png").stat().st_size > 5000


def check_output(name, folder, printed):
    """A picture, a sentence with epsilon, and a statement that holds, one for each service."""
    assert (folder / f"{name}.png").stat().st_size > 5000
    assert "differentially private" in printed
    files = [folder / (f"{name}.json" if name != "lora" else "lora/privacy_statement.json")]
    if name == "shared_ledger":
        files = list(folder.glob("shared_ledger_*.json"))
        assert len(files) == 3
    for file in files:
        assert hs.training.check_statement(hs.training.load_statement(file)).holds


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
@pytest.mark.parametrize("name", ALONE)
def test_an_example(name, tmp_path, monkeypatch, capsys):
    """In this process."""
    monkeypatch.setattr(sys, "argv", [name, "--small", "--output", str(tmp_path)])
    runpy.run_path(str(EXAMPLES / f"{name}.py"), run_name="__main__")
    check_output(name, tmp_path, capsys.readouterr().out)


@pytest.mark.parametrize("name", STARTED)
def test_an_example_with_several_processes(name, tmp_path):
    """As its first lines say."""
    command = [sys.executable, *STARTED[name], str(EXAMPLES / f"{name}.py")]
    done = subprocess.run(
        [*command, "--small", "--output", str(tmp_path)],
        env={**os.environ, "OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "lo"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    check_output(name, tmp_path, done.stdout)
