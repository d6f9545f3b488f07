"""`--plot FILE`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cli.conftest import FULL_BATCH, POISSON, Command
from hockeystick.report.noise_figure import Mark, NoiseCurve

SIGMA, DELTA = ["--noise-multiplier", "2"], ["--delta", "1e-5"]
SIGNATURES = {"png": b"\x89PNG\r\n\x1a\n", "svg": b"<?xml", "pdf": b"%PDF-"}


def recorded(monkeypatch: pytest.MonkeyPatch) -> list[tuple[list[NoiseCurve], Mark]]:
    """A list that gets what would have been drawn."""
    figures: list[tuple[list[NoiseCurve], Mark]] = []

    def record(curves: list[NoiseCurve], *, mark: Mark, title: str) -> None:
        figures.append((curves, mark))

    monkeypatch.setattr("hockeystick.cli.question.noise_figure", record)
    monkeypatch.setattr("hockeystick.cli.question.save_figure", lambda figure, path: None)
    return figures


@pytest.mark.parametrize("suffix", SIGNATURES)
def test_the_suffix_decides_the_format(command: Command, tmp_path: Path, suffix: str) -> None:
    """The file is what its name says, is named in the output, and is the only one."""
    path = tmp_path / f"plot.{suffix}"
    outcome = command("epsilon", *FULL_BATCH, *SIGMA, *DELTA, "--plot", path)
    assert (outcome.status, outcome.stderr) == (0, "")
    assert outcome.stdout.splitlines()[-1] == f"plot written to {path}"
    assert path.read_bytes().startswith(SIGNATURES[suffix])
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(
    ("words", "point"),
    [
        (["epsilon", *SIGMA, *DELTA], ("noise_multiplier", "epsilon")),
        (["delta", *SIGMA, "--epsilon", "3"], ("noise_multiplier", "epsilon")),
        (["calibrate", "--epsilon", "3", *DELTA], ("noise_multiplier", "reached_epsilon")),
    ],
    ids=["epsilon", "delta", "calibrate"],
)
def test_the_marked_point_is_question_and_answer(
    command: Command,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    words: list[str],
    point: tuple[str, str],
) -> None:
    """The dot has the noise and the epsilon of the best row, and the curve runs through it."""
    figures = recorded(monkeypatch)
    outcome = command(words[0], *FULL_BATCH, *words[1:], "--json", "--plot", tmp_path / "x.png")
    content = json.loads(outcome.stdout)
    facts = content["question"] | content["best"]
    assert content["plot"] == str(tmp_path / "x.png")
    [(curves, mark)] = figures
    assert (mark.noise, mark.epsilon) == tuple(facts[name] for name in point)
    middle = len(curves[0].noise) // 2
    assert curves[0].noise[middle] == pytest.approx(mark.noise, rel=1e-12)
    assert curves[0].epsilon[middle] == pytest.approx(mark.epsilon, rel=2e-3)


def test_curves_have_the_direction_of_the_question(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The curve of one direction runs through the answer for that direction."""
    figures = recorded(monkeypatch)
    words = ["epsilon", *POISSON, "--noise-multiplier", "0.8", *DELTA, "--direction", "add"]
    command(*words, "--accuracy", "0.005", "--plot", tmp_path / "x.png")
    [(curves, mark)] = figures
    assert curves[0].epsilon[len(curves[0].noise) // 2] == pytest.approx(mark.epsilon, rel=0.01)


@pytest.mark.slow
def test_every_method_shown_has_a_curve(command: Command, tmp_path: Path) -> None:
    """With all methods, one curve for each row, with its kind; SVG keeps texts as comments."""
    path = tmp_path / "plot.svg"
    command("epsilon", *POISSON, *SIGMA, *DELTA, "--method", "all", "--plot", path)
    text = path.read_text(encoding="utf-8")
    assert "gaussian (proven)" in text
    assert "profile (proven)" in text
