"""Exit status and error lines."""

from __future__ import annotations

import sys
from collections.abc import Callable

import pytest

import hockeystick as hs
from cli.conftest import FULL_BATCH, POISSON, Command
from hockeystick.errors import PrecisionError
from in_one_test import in_one_test

SIGMA, DELTA = ["--noise-multiplier", "1"], ["--delta", "1e-5"]
ASK = [*SIGMA, *DELTA]
ALLOCATION = ["--sampling", "random-allocation", "--picks", "1", "--out-of", "10"]
SHUFFLE = ["--sampling", "shuffle", "--steps", "10", "--batch-size", "10", "--examples", "100"]


def poisson(*words: str) -> list[str]:
    """An otherwise valid question about Poisson sampling."""
    return ["epsilon", "--sampling", "poisson", *words, *ASK]


BAD_INPUT: dict[str, tuple[list[str], str]] = {
    "noise NaN": (["epsilon", *POISSON, "--noise-multiplier", "nan", *DELTA], "--noise-multiplier"),
    "noise negative": (
        ["epsilon", *POISSON, "--noise-multiplier", "-1", *DELTA],
        "--noise-multiplier must be a finite number > 0, got -1.0.",
    ),
    "noise zero": (
        ["delta", *POISSON, "--noise-multiplier", "0", "--epsilon", "1"],
        "> 0, got 0.0",
    ),
    "noise infinite": (["epsilon", *POISSON, "--noise-multiplier", "inf", *DELTA], "got inf"),
    "rate above one": (poisson("--rate", "1.5", "--steps", "5"), "--rate must be in (0, 1]"),
    "rate zero": (poisson("--rate", "0", "--steps", "5"), "--rate must be in (0, 1]"),
    "rate NaN": (poisson("--rate", "nan", "--steps", "5"), "--rate must be in (0, 1], got nan"),
    "steps zero": (poisson("--rate", "0.1", "--steps", "0"), "--steps must be an integer >= 1"),
    "steps negative": (poisson("--rate", "0.1", "--steps", "-4"), "--steps must be"),
    "steps fractional": (poisson("--rate", "0.1", "--steps", "1.5"), "--steps"),
    "scheme unknown": (
        ["epsilon", "--sampling", "poison", "--steps", "5", *ASK],
        "--sampling must be one of full-batch, poisson,",
    ),
    "delta one": (["epsilon", *POISSON, *SIGMA, "--delta", "1"], "--delta must be in (0, 1)"),
    "delta above one": (["epsilon", *POISSON, *SIGMA, "--delta", "3"], "--delta must be"),
    "delta zero": (["epsilon", *POISSON, *SIGMA, "--delta", "0"], "--delta must be"),
    "delta NaN": (["epsilon", *POISSON, *SIGMA, "--delta", "nan"], "--delta must be"),
    "delta a word": (["epsilon", *POISSON, *SIGMA, "--delta", "small"], "--delta"),
    "epsilon negative": (["delta", *POISSON, *SIGMA, "--epsilon", "-1"], "--epsilon must be"),
    "epsilon NaN": (["delta", *POISSON, *SIGMA, "--epsilon", "nan"], "--epsilon must be"),
    "epsilon zero": (["calibrate", *POISSON, "--epsilon", "0", *DELTA], "--epsilon must be"),
    "batch larger than the data": (
        poisson("--steps", "5", "--batch-size", "500", "--examples", "100"),
        "--batch-size must be in (0, examples=100], got 500.0.",
    ),
    "batch NaN": (
        poisson("--steps", "5", "--batch-size", "nan", "--examples", "100"),
        "--batch-size must be",
    ),
    "examples zero": (
        poisson("--rate", "0.1", "--steps", "5", "--examples", "0"),
        "--examples must be an integer >= 1",
    ),
    "option missing": (["epsilon", *POISSON, *SIGMA], "--delta"),
    "parameter missing": (
        poisson("--steps", "5"),
        "--rate must be given for poisson sampling (or --batch-size and --examples).",
    ),
    "examples missing": (
        poisson("--steps", "5", "--batch-size", "5"),
        "--examples must be given for poisson sampling with --batch-size.",
    ),
    "parameter of another scheme": (
        poisson("--rate", "0.1", "--steps", "5", "--groups", "4"),
        "--groups must be left out for poisson sampling, got 4.",
    ),
    "flag of another scheme": (
        poisson("--rate", "0.1", "--steps", "5", "--truncate"),
        "--truncate must be left out for poisson sampling",
    ),
    "rate and batch size": (
        poisson("--rate", "0.1", "--steps", "5", "--batch-size", "5", "--examples", "50"),
        "--rate must be left out for poisson sampling with --batch-size",
    ),
    "partial block": (
        ["epsilon", *ALLOCATION, "--steps", "15", *ASK],
        "--steps must be a multiple of out_of=10",
    ),
    "shuffle": (["epsilon", *SHUFFLE, *ASK], "Shuffled batches of fixed size"),
    "shuffle, all methods": (["epsilon", *SHUFFLE, *ASK, "--method", "all"], "BallsInBins"),
    "shuffle, no batch size": (
        ["epsilon", "--sampling", "shuffle", "--steps", "10", *ASK],
        "--batch-size must be given for shuffle sampling.",
    ),
    "method unknown": (["epsilon", *POISSON, *ASK, "--method", "magic"], "--method must be 'auto'"),
    "direction unknown": (["epsilon", *POISSON, *ASK, "--direction", "up"], "--direction must be"),
    "accuracy": (["epsilon", *POISSON, *ASK, "--accuracy", "2"], "--accuracy must be in"),
    "option unknown": (["epsilon", *POISSON, *ASK, "--ratio", "2"], "--ratio"),
    "command unknown": (["epsilom"], "epsilom"),
    "extra word": (["epsilon", *POISSON, *ASK, "please"], "please"),
    "plot format": (["epsilon", *FULL_BATCH, *ASK, "--plot", "x.gif"], "--plot must be a file"),
    "plot directory": (
        ["epsilon", *FULL_BATCH, *ASK, "--plot", "no-such-place/x.png"],
        "--plot must be in a directory that exists",
    ),
}


@in_one_test
@pytest.mark.parametrize(("words", "text"), BAD_INPUT.values(), ids=BAD_INPUT.keys())
@pytest.mark.parametrize("json", [False, True], ids=["text", "json"])
def test_bad_input_is_one_line_and_status_2(
    command: Command, words: list[str], text: str, json: bool
) -> None:
    """Nothing on standard output; one line on standard error that names what is wrong."""
    outcome = command(*words, *(["--json"] if json and len(words) > 1 else []))
    assert outcome.status == 2
    assert outcome.stdout == ""
    assert outcome.stderr.startswith("error: ")
    assert outcome.stderr.count("\n") == 1
    assert outcome.stderr.endswith("\n")
    assert text in outcome.stderr


def test_a_target_out_of_reach_is_status_1(command: Command) -> None:
    """Valid input without an answer is not bad input."""
    words = ["--sampling", "full-batch", "--steps", "1000000", "--epsilon", "1e-6"]
    outcome = command("calibrate", *words, "--delta", "1e-12")
    assert (outcome.status, outcome.stdout) == (1, "")
    assert outcome.stderr.startswith("error: No noise multiplier up to 1e+07 ")
    assert outcome.stderr.count("\n") == 1


def test_all_methods_failing_is_status_1(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    """If no method gives a number there is nothing to show but the first reason."""

    def fail(*arguments: object, **options: object) -> None:
        raise PrecisionError("too rough", lower=0.0, upper=float("inf"))

    monkeypatch.setattr(hs.Guarantee, "answer", fail)
    outcome = command("epsilon", *POISSON, *ASK, "--method", "all")
    assert (outcome.status, outcome.stdout, outcome.stderr) == (1, "", "error: too rough\n")


@pytest.mark.parametrize(
    ("raised", "line"),
    [
        (RuntimeError("two\n  lines"), "error: RuntimeError: two lines\n"),
        (MemoryError(), "error: MemoryError\n"),
        (OSError(28, "No space left on device"), "error: [Errno 28] No space left on device\n"),
    ],
    ids=["bug", "memory", "disk"],
)
def test_anything_else_is_one_line_and_status_1(
    command: Command, monkeypatch: pytest.MonkeyPatch, raised: Exception, line: str
) -> None:
    """No traceback, whatever happens."""
    monkeypatch.setattr("hockeystick.cli.noise.account", raising(raised))
    outcome = command("epsilon", *POISSON, *ASK)
    assert (outcome.status, outcome.stdout) == (1, "")
    assert outcome.stderr == line


def compiled_interrupt() -> SystemError:
    """What Ctrl-C looks like after it went through compiled code."""
    error = SystemError("returned a result with an exception set")
    error.__cause__ = KeyboardInterrupt()
    return error


@pytest.mark.parametrize("raised", [KeyboardInterrupt(), compiled_interrupt()], ids=repr)
def test_control_c_is_silent_and_status_130(
    command: Command, monkeypatch: pytest.MonkeyPatch, raised: BaseException
) -> None:
    """An interrupted command says nothing and has the shell's status for it."""
    monkeypatch.setattr("hockeystick.cli.noise.account", raising(raised))
    assert command("epsilon", *POISSON, *ASK) == (130, "", "")


def test_a_missing_matplotlib_names_the_extra(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is computed before the plot turns out to be impossible."""
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setattr("hockeystick.cli.noise.account", raising(AssertionError("computed")))
    outcome = command("epsilon", *POISSON, *ASK, "--plot", "x.png")
    assert (outcome.status, outcome.stdout) == (1, "")
    assert "hockeystick[plot]" in outcome.stderr
    assert outcome.stderr.count("\n") == 1


def raising(error: BaseException) -> Callable[..., object]:
    """A function that raises, whatever it is called with."""

    def function(*arguments: object, **options: object) -> object:
        raise error

    return function
