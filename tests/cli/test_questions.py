"""What `epsilon`, `delta` and `calibrate` print for people."""

from __future__ import annotations

import re

import pytest

import hockeystick as hs
from cli.conftest import FULL_BATCH, POISSON, Command
from hockeystick.errors import CalibrationError, PrecisionError

POISSON_PLAN = hs.Plan(sampling=hs.Poisson(rate=0.1), steps=20)
FULL_PLAN = hs.Plan(sampling=hs.FullBatch(), steps=10)
NOISE = ["--noise-multiplier", "2"]
COARSE = ["--accuracy", "0.02"]


def cells(stdout: str, method: str) -> list[str]:
    """The words in the row of a method."""
    [row] = [line.split() for line in stdout.splitlines() if line.split()[:1] == [method]]
    return row


def test_epsilon_shows_the_proven_bounds_rounded_outwards(command: Command) -> None:
    """The upper bound is not below and the lower bound not above what the library says."""
    outcome = command("epsilon", *POISSON, *NOISE, "--delta", "1e-5", *COARSE)
    expected = hs.account(POISSON_PLAN, noise_multiplier=2.0, accuracy=0.02).answer(delta=1e-5)
    _, kind, upper, lower, _, mark = cells(outcome.stdout, "profile")
    assert (outcome.status, outcome.stderr, kind, mark) == (0, "", "proven", "best")
    assert expected.lower is not None
    assert expected.value <= float(upper) <= expected.value * 1.0002
    assert expected.lower * 0.9998 <= float(lower) <= expected.lower


def test_delta_matches_the_library(command: Command) -> None:
    """delta of the full batch is the library's, rounded up."""
    outcome = command("delta", *FULL_BATCH, *NOISE, "--epsilon", "3")
    expected = hs.account(FULL_PLAN, noise_multiplier=2.0).delta(3.0)
    shown = float(cells(outcome.stdout, "gaussian")[2])
    assert outcome.status == 0
    assert expected <= shown <= expected * 1.0002


def test_calibrate_shows_safe_noise(command: Command) -> None:
    """The noise that is printed meets the target, and little less would not."""
    outcome = command("calibrate", *FULL_BATCH, "--epsilon", "1", "--delta", "1e-6")
    _, _, noise, reached, evaluations, _, mark = cells(outcome.stdout, "gaussian")
    assert (outcome.status, mark) == (0, "best")
    assert hs.account(FULL_PLAN, noise_multiplier=float(noise)).epsilon(1e-6) <= 1.0
    assert hs.account(FULL_PLAN, noise_multiplier=0.998 * float(noise)).epsilon(1e-6) > 1.0
    assert 0.999 <= float(reached) <= 1.0
    assert int(evaluations) >= 1


@pytest.mark.parametrize(
    "words",
    [
        ["epsilon", *POISSON, *NOISE, "--delta", "1e-5", *COARSE],
        ["delta", *POISSON, *NOISE, "--epsilon", "1", *COARSE],
        ["calibrate", *POISSON, "--epsilon", "1", "--delta", "1e-5", *COARSE],
    ],
    ids=lambda words: str(words[0]),
)
def test_all_methods_have_a_row_and_the_smallest_is_marked(
    command: Command, words: list[str]
) -> None:
    """`--method all` computes every method that applies; the tightest proven one is the best."""
    stdout = command(*words, "--method", "all").stdout
    rows = {name: cells(stdout, name) for name in hs.methods(POISSON_PLAN) if name != "monte-carlo"}
    assert len(rows) >= 2
    proven = [name for name, row in rows.items() if row[1] == "proven"]
    smallest = min(proven, key=lambda name: float(rows[name][2]))
    assert [name for name, row in rows.items() if row[-1] == "best"] == [smallest]


def test_direction_changes_the_answer_and_is_stated(command: Command) -> None:
    """One direction alone gives a smaller epsilon here, and the last line says which one."""
    shown = {}
    for direction in ("both", "add", "remove"):
        words = ["epsilon", *POISSON, "--noise-multiplier", "0.8", "--delta", "1e-5", *COARSE]
        stdout = command(*words, "--direction", direction).stdout
        shown[direction] = float(cells(stdout, "profile")[2])
        last = stdout.splitlines()[-1]
        assert last == f"adjacency: zero-out / add-remove; unit: example; direction: {direction}"
    assert shown["add"] < 0.98 * shown["remove"]
    assert shown["both"] == pytest.approx(shown["remove"], rel=0.02)


@pytest.mark.parametrize(
    ("words", "function"),
    [
        (["epsilon", *NOISE, "--delta", "1e-5"], "noise.account"),
        (["delta", *NOISE, "--epsilon", "1"], "noise.account"),
        (["calibrate", "--epsilon", "1", "--delta", "1e-5"], "noise.find_noise"),
    ],
    ids=["epsilon", "delta", "calibrate"],
)
def test_every_option_reaches_the_library(
    command: Command, monkeypatch: pytest.MonkeyPatch, words: list[str], function: str
) -> None:
    """Method, direction and accuracy are passed on as they were given."""
    seen: dict[str, object] = {}

    def record(plan: hs.Plan, **options: object) -> None:
        seen.update(options, plan=plan)
        raise CalibrationError("seen")

    monkeypatch.setattr(f"hockeystick.cli.{function}", record)
    given = ["--method", "profile", "--direction", "add", "--accuracy", "0.04"]
    assert command(words[0], *POISSON, *words[1:], *given).stderr == "error: seen\n"
    assert seen["plan"] == POISSON_PLAN
    assert (seen["method"], seen["direction"], seen["accuracy"]) == ("profile", "add", 0.04)


@pytest.mark.slow
def test_a_pipe_gets_narrow_plain_text(command: Command) -> None:
    """No line beyond 80 columns and no escape sequences where there is no terminal."""
    allocation = ["--sampling", "random-allocation", "--batch-size", "500", "--examples", "50000"]
    target = ["--epsilon", "8", "--delta", "1e-5", "--method", "all", *COARSE]
    outcome = command("calibrate", *allocation, "--steps", "100", *target)
    assert outcome.status == 0
    assert "\x1b" not in outcome.stdout
    assert max(len(line.rstrip()) for line in outcome.stdout.splitlines()) <= 80


def test_the_question_is_repeated(command: Command) -> None:
    """Plan and given numbers stand above the table."""
    size = ["--sampling", "poisson", "--batch-size", "50", "--examples", "500", "--steps", "1200"]
    stdout = command("epsilon", *size, *NOISE, "--delta", "1e-5", "--method", "gaussian").stdout
    plan, given = stdout.splitlines()[:2]
    assert plan == "poisson (rate 0.1), 1,200 steps, expected batch size 50"
    assert given == "noise multiplier 2, delta 1e-05, accuracy 0.001"


def test_an_inaccurate_method_still_shows_its_bound(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Among all methods, a missed accuracy is told below the table and does not end the command."""
    answer = hs.Guarantee.answer

    def fails(self: hs.Guarantee, **question: float) -> object:
        if self.method == "profile":
            raise PrecisionError("only known roughly", lower=1.0, upper=1.5)
        return answer(self, **question)

    monkeypatch.setattr(hs.Guarantee, "answer", fails)
    words = ["epsilon", *POISSON, *NOISE, "--delta", "1e-5"]
    outcome = command(*words, "--method", "all")
    assert outcome.status == 0
    assert cells(outcome.stdout, "profile")[2] == "1.5000"
    assert "profile: only known roughly" in outcome.stdout.splitlines()
    alone = command(*words, "--method", "profile")
    assert (alone.status, alone.stdout, alone.stderr) == (1, "", "error: only known roughly\n")


def test_no_progress_in_a_pipe(command: Command) -> None:
    """Standard error stays empty on success."""
    assert command("epsilon", *FULL_BATCH, *NOISE, "--delta", "1e-5").stderr == ""
    assert not re.search("[⠀-⣿]", command("delta", *FULL_BATCH, *NOISE, "--epsilon", "1").stdout)
