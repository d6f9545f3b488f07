"""`hockeystick batches` and the file it writes."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hockeystick as hs
from cli.conftest import Command
from hockeystick.cli.files import write_batches
from hockeystick.schemes import Indices, Sampling

SCHEMES: dict[str, tuple[list[str], Sampling]] = {
    "full-batch": ([], hs.FullBatch()),
    "poisson": (["--rate", "0.2"], hs.Poisson(rate=0.2)),
    "cyclic-poisson": (
        ["--rate", "0.5", "--groups", "4"],
        hs.CyclicPoisson(rate=0.5, groups=4),
    ),
    "random-allocation": (
        ["--picks", "2", "--out-of", "5", "--truncate"],
        hs.RandomAllocation(picks=2, out_of=5, truncate=True),
    ),
}


def draw(command: Command, output: Path, *more: str, scheme: str = "poisson") -> Any:
    """Run the command for 60 examples and 12 steps."""
    words = ["batches", "--sampling", scheme, *SCHEMES[scheme][0], "--steps", "12"]
    return command(*words, "--examples", "60", "--output", output, *more)


def load(path: Path) -> dict[str, Any]:
    """The arrays of the file; nothing in it needs pickle."""
    with np.load(path, allow_pickle=False) as file:
        return dict(file)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_the_file_holds_the_batches_of_the_plan(
    command: Command, tmp_path: Path, scheme: str
) -> None:
    """Cut at the offsets, the indices are what the library draws with the same seed."""
    outcome = draw(command, tmp_path / "b.npz", "--seed", "7", scheme=scheme)
    assert (outcome.status, outcome.stderr) == (0, "")
    file = load(tmp_path / "b.npz")
    assert file.keys() == {"indices", "offsets", "plan"}
    assert (file["indices"].dtype, file["offsets"].dtype) == (np.int64, np.int64)
    assert file["offsets"].shape == (13,)
    sampling = SCHEMES[scheme][1]
    expected = list(hs.Plan(sampling=sampling, steps=12).batches(examples=60, rng=7))
    drawn = np.split(file["indices"], file["offsets"][1:-1])
    assert [batch.tolist() for batch in drawn] == [batch.tolist() for batch in expected]
    plan = json.loads(str(file["plan"]))
    assert plan["sampling"] == sampling.describe()
    assert (plan["steps"], plan["examples"], plan["seed"]) == (12, 60, 7)


def test_the_seed_decides_every_byte(command: Command, tmp_path: Path) -> None:
    """The same seed gives the same file at any time, another one different batches."""
    paths = [tmp_path / name for name in ("first.npz", "again.npz", "other.npz")]
    for path, seed in zip(paths, ("7", "7", "8"), strict=True):
        draw(command, path, "--seed", seed)
    assert paths[0].read_bytes() == paths[1].read_bytes()
    with zipfile.ZipFile(paths[0]) as archive:
        dates = {entry.date_time for entry in archive.infolist()}
    assert dates == {(1980, 1, 1, 0, 0, 0)}
    assert load(paths[0])["indices"].tolist() != load(paths[2])["indices"].tolist()


def test_without_a_seed_batches_differ(command: Command, tmp_path: Path) -> None:
    """The default is fresh randomness, and no seed is recorded."""
    draw(command, tmp_path / "a.npz")
    draw(command, tmp_path / "b.npz")
    first, second = load(tmp_path / "a.npz"), load(tmp_path / "b.npz")
    assert first["indices"].tolist() != second["indices"].tolist()
    assert json.loads(str(first["plan"]))["seed"] is None


def test_the_summary_describes_the_file(command: Command, tmp_path: Path) -> None:
    """Number and sizes of the batches, as text and as one JSON object."""
    path = tmp_path / "b.npz"
    text = draw(command, path, "--seed", "7").stdout
    sizes = np.diff(load(path)["offsets"])
    assert text.splitlines() == [
        "poisson (rate 0.2), 12 steps, expected batch size 12",
        f"12 batches from 60 examples: smallest {sizes.min()}, mean {sizes.mean():.6g}, "
        f"largest {sizes.max()}",
        f"written to {path}",
    ]
    content = json.loads(draw(command, path, "--seed", "7", "--json").stdout)
    assert content["batches"] == 12
    assert (content["smallest"], content["largest"]) == (sizes.min(), sizes.max())
    assert content["mean"] == pytest.approx(sizes.mean())
    assert content["plan"]["expected_batch_size"] == 12.0
    assert (content["output"], content["version"]) == (str(path), hs.__version__)


BAD_INPUT: dict[str, tuple[list[str], str]] = {
    "no directory": (["--output", "no-such-place/b.npz"], "--output must be in a directory"),
    "a directory": (["--output", "."], "--output must be a file, not a directory"),
    "no output": ([], "--output"),
    "seed": (["--output", "b.npz", "--seed", "-1"], "--seed must be an integer >= 0, got -1."),
    "steps": (["--output", "b.npz", "--steps", "0"], "--steps must be an integer >= 1"),
    "examples": (["--output", "b.npz", "--examples", "0"], "--examples must be an integer >= 1"),
    "shuffle": (
        ["--output", "b.npz", "--sampling", "shuffle", "--batch-size", "5"],
        "Shuffled batches",
    ),
}


@pytest.mark.parametrize(("words", "text"), BAD_INPUT.values(), ids=BAD_INPUT.keys())
def test_bad_input_leaves_no_file(
    command: Command,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    words: list[str],
    text: str,
) -> None:
    """Status 2, one line, and the directory as empty as before."""
    monkeypatch.chdir(tmp_path)
    scheme = [] if "shuffle" in words else ["--rate", "0.1"]
    fixed = ["--sampling", "poisson", *scheme, "--steps", "5", "--examples", "20"]
    outcome = command("batches", *fixed, *words)
    assert (outcome.status, outcome.stdout) == (2, "")
    assert outcome.stderr.startswith("error: ")
    assert text in outcome.stderr
    assert outcome.stderr.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_examples_are_needed(command: Command, tmp_path: Path) -> None:
    """Unlike for the questions, the number of examples is not optional."""
    words = ["--sampling", "poisson", "--rate", "0.1", "--steps", "5"]
    outcome = command("batches", *words, "--output", tmp_path / "b.npz")
    assert (outcome.status, outcome.stderr) == (2, "error: --examples must be given for batches.\n")


@pytest.mark.parametrize("error", [OSError("disk full"), KeyboardInterrupt()], ids=repr)
def test_a_failure_keeps_the_old_file_and_leaves_nothing(
    tmp_path: Path, error: BaseException
) -> None:
    """A run that stops halfway changes nothing on disk."""

    def stops() -> Any:
        yield np.arange(4)
        raise error

    path = tmp_path / "b.npz"
    path.write_bytes(b"old")
    with pytest.raises(type(error)):
        write_batches(path, stops(), plan="{}")
    assert [entry.name for entry in tmp_path.iterdir()] == ["b.npz"]
    assert path.read_bytes() == b"old"


def test_empty_batches_and_foreign_arrays_survive(tmp_path: Path) -> None:
    """Empty batches keep their place; order in memory and width of integers do not matter."""
    batches: list[Indices] = [
        np.array([], dtype=np.int64),
        np.arange(10)[::3],
        np.array([2, 1], dtype=np.int32).astype(np.int64),
        np.array([], dtype=np.int64),
    ]
    sizes = write_batches(tmp_path / "b.npz", iter(batches), plan="text")
    file = load(tmp_path / "b.npz")
    assert sizes.tolist() == [0, 4, 2, 0]
    assert file["offsets"].tolist() == [0, 0, 4, 6, 6]
    assert file["indices"].tolist() == [0, 3, 6, 9, 2, 1]
    assert str(file["plan"]) == "text"


def test_batches_are_not_collected(tmp_path: Path) -> None:
    """Each batch is given up before the next is drawn: memory does not grow with the run."""
    alive = 0
    most = 0

    class Counted(np.ndarray[Any, np.dtype[np.int64]]):
        def __del__(self) -> None:
            nonlocal alive
            alive -= 1

    def batches() -> Any:
        nonlocal alive, most
        for _ in range(50):
            batch = np.arange(5).view(Counted)
            alive += 1
            most = max(most, alive)
            yield batch
            del batch

    write_batches(tmp_path / "b.npz", batches(), plan="")
    assert most <= 3
