"""--attribution: the file that says whose an example is."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hockeystick as hs
from cli.conftest import Command

# Forty examples; two in a row share a user, and each has a user of its own.
PAIRS: dict[str, Any] = {
    "examples": np.repeat(np.arange(40), 2),
    "users": np.stack([np.arange(40), 40 + np.arange(40) // 2], axis=1).ravel(),
}
GRAPH = hs.Attribution.from_pairs(**PAIRS, number_of_examples=40, number_of_users=60)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """The graph in a file."""
    np.savez(tmp_path / "graph.npz", **PAIRS)
    return tmp_path / "graph.npz"


def draw(command: Command, file: Path, *more: object, scheme: str = "user-min-sep") -> Any:
    """Run `hockeystick batches` for 15 steps, into a file beside the graph."""
    words = ["batches", "--sampling", scheme, "--steps", "15", "--separation", "3", "--seed", "7"]
    return command(*words, "--attribution", file, "--output", file.parent / "b.npz", *more)


@pytest.mark.slow
@pytest.mark.parametrize(
    "cls", [hs.UserMinSep, pytest.param(hs.ConjecturedUserMinSep, marks=pytest.mark.slow)]
)
def test_batches_are_drawn_from_the_graph(command: Command, file: Path, cls: Any) -> None:
    """The rate for the batch size and the batches are those of the library."""
    outcome = draw(command, file, "--batch-size", "3", "--json", scheme=cls.name)
    assert (outcome.status, outcome.stderr) == (0, "")
    scheme = cls.for_batch_size(3.0, examples=GRAPH, separation=3)
    plan = json.loads(outcome.stdout)["plan"]
    assert plan["sampling"] == scheme.describe()
    assert plan["sampling"]["examples_per_user"] == 2
    assert plan["examples"] == 40
    assert plan["expected_batch_size"] == scheme.expected_batch_size(GRAPH)
    with np.load(file.parent / "b.npz") as written:
        drawn = np.split(written["indices"], written["offsets"][1:-1])
    expected = list(scheme.batches(examples=GRAPH, steps=15, rng=7))
    assert [b.tolist() for b in drawn] == [b.tolist() for b in expected]


def test_without_a_file_every_example_is_a_user(command: Command, tmp_path: Path) -> None:
    """Then the number of examples is needed."""
    words = ["batches", "--sampling", "user-min-sep", "--steps", "5", "--separation", "3"]
    words += ["--rate", "0.2", "--examples-per-user", "1", "--seed", "7"]
    assert command(*words, "--output", tmp_path / "b.npz").status == 2
    assert command(*words, "--output", tmp_path / "b.npz", "--examples", "40").status == 0
    with np.load(tmp_path / "b.npz") as written:
        indices = written["indices"].tolist()
    scheme = hs.UserMinSep(rate=0.2, separation=3, examples_per_user=1)
    batches = scheme.batches(examples=40, steps=5, rng=7)
    assert indices == np.concatenate(list(batches)).tolist()


BAD: dict[str, tuple[list[str], str]] = {
    "other number": (["--batch-size", "3", "--examples", "41"], "none for example 40"),
    "fewer": (["--batch-size", "3", "--examples", "39"], "--examples must be integers in [0, 38]"),
    "busy users": (["--rate", "0.1", "--examples-per-user", "1"], "bound_contributions"),
    "too large": (["--batch-size", "30"], "(a smaller separation gives more), got 30.0"),
    "not users'": (
        ["--sampling", "min-sep", "--rate", "0.1"],
        "--attribution must be left out for min-sep sampling",
    ),
}


@pytest.mark.parametrize(("words", "text"), BAD.values(), ids=BAD.keys())
def test_bad_input_is_one_line(command: Command, file: Path, words: list[str], text: str) -> None:
    """Status 2, the reason, and no file."""
    outcome = draw(command, file, *words)
    assert (outcome.status, outcome.stdout) == (2, "")
    assert text in outcome.stderr
    assert outcome.stderr.count("\n") == 1
    assert not (file.parent / "b.npz").exists()


CONTENTS: dict[str, dict[str, Any]] = {
    "an array is missing": {"examples": np.arange(3)},
    "floats": {"examples": np.arange(3.0), "users": np.arange(3)},
    "tables": {"examples": np.zeros((2, 2), int), "users": np.zeros((2, 2), int)},
    "nothing": {"examples": np.zeros(0, int), "users": np.zeros(0, int)},
    "objects": {"examples": np.array([None]), "users": np.arange(1)},
}


@pytest.mark.parametrize("content", CONTENTS.values(), ids=CONTENTS.keys())
def test_bad_files_are_refused(command: Command, tmp_path: Path, content: dict[str, Any]) -> None:
    """The error says what the file must hold."""
    np.savez(tmp_path / "graph.npz", **content)
    outcome = draw(command, tmp_path / "graph.npz", "--batch-size", "1")
    assert outcome.status == 2
    assert "--attribution must be an .npz file with the integer arrays" in outcome.stderr


@pytest.mark.parametrize("content", [None, b"", b"example,user\n0,0\n", b"PK\x03\x04broken"])
def test_other_files_are_refused(command: Command, tmp_path: Path, content: bytes | None) -> None:
    """A file that is missing or something else gets the same sentence."""
    path = tmp_path / "graph.npz"
    if content is not None:
        path.write_bytes(content)
    outcome = draw(command, path, "--batch-size", "1")
    assert outcome.status == 2
    assert "--attribution must be an .npz file" in outcome.stderr
