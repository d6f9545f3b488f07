"""`hockeystick reproduce`."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path

import pytest

from cli.conftest import Command
from hockeystick.cli import reproduce as command_module
from hockeystick.cli.reproduce import FOLDERS, all_papers, all_scripts

REPOSITORY = Path(__file__).parents[2] / "reproductions"
SCRIPT = '''"""A drawing of nothing.

Usage: python tiny.py [--small] [--output DIR]
"""
import tiny_shared


def main(arguments):
    """Say what was asked for."""
    print("ran with", arguments, tiny_shared.NUMBER)
    return 3 if "--small" in arguments else 0
'''


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with one script and what it shares, in place of the repository's."""
    folder = tmp_path / "scripts"
    folder.mkdir()
    (folder / "curves.py").write_text('"""Shared."""\n')
    (folder / "tiny_shared.py").write_text('"""Shared too."""\nNUMBER = 7\n')
    (folder / "tiny_drawing.py").write_text(SCRIPT)
    monkeypatch.setattr(command_module, "all_scripts", lambda: all_scripts([folder]))
    yield folder
    for name in ("tiny_shared", "tiny_drawing"):
        sys.modules.pop(name, None)


def test_every_script_is_listed(command: Command) -> None:
    """By name with its first line; files that others share are not."""
    outcome = command("reproduce")
    assert (outcome.status, outcome.stderr) == (0, "")
    names = {path.stem for path in REPOSITORY.glob("*.py") if "\ndef main(" in path.read_text()}
    assert {"digits", "cifar", "gram_noise"} < names
    listed = {line.split()[0] for line in outcome.stdout.splitlines() if line.split()}
    assert names <= listed
    assert "curves" not in listed
    assert "Handwritten digits, trained privately" in outcome.stdout


def test_every_figure_has_its_status(command: Command) -> None:
    """A line for each figure of each paper, those without a script too."""
    lines = command("reproduce").stdout.splitlines()
    papers = all_papers(REPOSITORY)
    assert [paper.figures for paper in papers] == [4, 6, 7, 9]
    for paper in papers:
        start = lines.index(paper.title) + 1
        told = [line.split(maxsplit=1) for line in lines[start : lines.index("", start)]]
        told = [words for words, line in zip(told, lines[start:], strict=False) if line[0] != " "]
        for words, figure in zip(told, paper.entries, strict=True):
            assert words[0] == (figure.script or "-")
            assert words[1].split() == [*figure.label.split(), *figure.status.split()]


def test_without_a_catalogue(command: Command, folder: Path) -> None:
    """Scripts that it does not know are listed with their first line."""
    outcome = command("reproduce")
    assert outcome.status == 0
    assert outcome.stdout.startswith("tiny_drawing\n    A drawing of nothing.\n")


def test_names_and_summaries() -> None:
    """All scripts have a sentence and a usage line with the options that every script has."""
    scripts = all_scripts()
    assert set(scripts) == {
        path.stem for path in REPOSITORY.glob("*.py") if "\ndef main(" in path.read_text()
    }
    for script in scripts.values():
        assert len(script.summary) > 20
        assert "[--small]" in script.usage
        assert "[--output DIR]" in script.usage


def test_a_script_runs_with_the_options(command: Command, folder: Path, tmp_path: Path) -> None:
    """In this process, also by its name with hyphens; the path is as before."""
    before = list(sys.path)
    outcome = command("reproduce", "tiny-drawing", "--output", tmp_path / "new")
    words = ["--output", str(tmp_path / "new")]
    assert outcome == (0, f"ran with {words} 7\n", "")
    assert sys.path == before


def test_the_status_is_that_of_the_script(command: Command, folder: Path) -> None:
    """Whatever it is."""
    outcome = command("reproduce", "tiny_drawing", "--small")
    assert outcome == (3, "ran with ['--small'] 7\n", "")


def test_an_unknown_name(command: Command, folder: Path) -> None:
    """Exit status 2 and one line that names those that exist; shared files are none."""
    for name in ("nothing", "curves", "../tiny_drawing"):
        outcome = command("reproduce", name)
        assert (outcome.status, outcome.stdout) == (2, "")
        assert outcome.stderr == f"error: NAME must be one of tiny_drawing; got {name!r}.\n"


@pytest.mark.parametrize("words", [["--small"], ["--output", "x"], ["--data", "x"]])
def test_options_need_a_name(command: Command, words: list[str]) -> None:
    """They would do nothing."""
    outcome = command("reproduce", *words)
    assert (outcome.status, outcome.stdout, outcome.stderr.count("\n")) == (2, "", 1)
    assert f"{words[0]} must be left out without a NAME" in outcome.stderr


def test_refused_before_the_work(command: Command, folder: Path, tmp_path: Path) -> None:
    """Data for a script that reads none, and a file where a directory should be."""
    outcome = command("reproduce", "tiny_drawing", "--data", tmp_path)
    assert outcome.status == 2
    assert "--data must be left out for tiny_drawing" in outcome.stderr
    (tmp_path / "file").write_text("")
    outcome = command("reproduce", "tiny_drawing", "--output", tmp_path / "file")
    assert (outcome.status, outcome.stdout) == (2, "")
    assert "--output must be a directory" in outcome.stderr


@pytest.mark.parametrize("missing", ["torch", "sklearn"])
def test_a_missing_extra_is_named(
    command: Command, folder: Path, monkeypatch: pytest.MonkeyPatch, missing: str
) -> None:
    """One line with what to install."""
    monkeypatch.setitem(sys.modules, missing, None)
    (folder / "tiny_shared.py").write_text(f"import {missing}.something\n")
    outcome = command("reproduce", "tiny_drawing")
    assert (outcome.status, outcome.stdout, outcome.stderr.count("\n")) == (1, "", 1)
    assert f"tiny_drawing needs {missing}" in outcome.stderr
    assert "hockeystick[train]" in outcome.stderr


@pytest.mark.slow
def test_numbers_are_written_without_matplotlib(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The JSON file, and a line that says why there is no picture."""
    found = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util,
        "find_spec",
        lambda name, *a: None if name == "matplotlib" else found(name, *a),
    )
    arguments = "random_allocation_figure_1", "--small", "--output", str(tmp_path)
    outcome = command("reproduce", *arguments)
    assert outcome.status == 0
    assert "hockeystick[plot]" in outcome.stdout
    assert [one.suffix for one in tmp_path.iterdir()] == [".json"]


def test_a_mistake_in_a_script_is_no_missing_extra(command: Command, folder: Path) -> None:
    """Other imports that fail are told as they are."""
    (folder / "tiny_shared.py").write_text("import no_such_module\n")
    outcome = command("reproduce", "tiny_drawing")
    assert outcome.status == 1
    assert "No module named 'no_such_module'" in outcome.stderr


def test_without_any_scripts(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    """An installation may lack them."""
    monkeypatch.setattr(command_module, "all_scripts", lambda: all_scripts([]))
    outcome = command("reproduce")
    assert outcome.status == 1
    assert outcome.stderr.count("\n") == 1


def test_a_wheel_comes_first() -> None:
    """The folder inside the package, then that of a clone."""
    assert [folder.name for folder in FOLDERS] == ["_reproductions", "reproductions"]
    assert (FOLDERS[0].parent / "cli").is_dir()


@pytest.mark.slow
def test_a_real_one(command: Command, tmp_path: Path) -> None:
    """It prints, and writes picture and numbers."""
    words = ["sampling_free_figure_1", "--small", "--output", tmp_path]
    outcome = command("reproduce", *words)
    assert (outcome.status, outcome.stderr) == (0, "")
    content = json.loads((tmp_path / "sampling_free_figure_1.json").read_text())
    assert content["title"] in outcome.stdout
    assert (tmp_path / "sampling_free_figure_1.png").stat().st_size > 10_000
