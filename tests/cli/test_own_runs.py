"""Strategies in files and mechanisms in words: the same numbers as in Python."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import hockeystick as hs
from cli.conftest import Command

RUN = ("--sampling", "balls-in-bins", "--bins", "6", "--steps", "12", "--delta", "1e-5")
NOISY = (*RUN, "--noise-multiplier", "3", "--method", "renyi", "--json")
COEFFICIENTS = [1.0, 0.5, 0.25]


def epsilon_of(command: Command, *words: str) -> float:
    """What the command prints."""
    outcome = command("epsilon", *words)
    assert outcome.status == 0, outcome.stderr
    return float(json.loads(outcome.stdout)["best"]["epsilon"])


def expected(strategy: hs.strategies.Strategy) -> float:
    """The same by Python."""
    plan = hs.Plan(sampling=hs.BallsInBins(bins=6), steps=12, strategy=strategy)
    return hs.account(plan, noise_multiplier=3.0, method="renyi").epsilon(1e-5)


@pytest.mark.parametrize("text", ["1 0.5 0.25", "1, 0.5, 0.25\n", "1\n0.5\n0.25\n", None])
def test_coefficients(text: str | None, command: Command, tmp_path: Path) -> None:
    """As text, apart by blanks, commas or lines, and as an array of NumPy."""
    path = tmp_path / ("c.npy" if text is None else "c.txt")
    if text is None:
        np.save(path, np.array(COEFFICIENTS))
    else:
        path.write_text(text)
    found = epsilon_of(command, *NOISY, "--coefficients", str(path))
    assert found == expected(hs.strategies.from_coefficients(COEFFICIENTS, steps=12))


def test_a_matrix(command: Command, tmp_path: Path) -> None:
    """Rows are lines; it has to fit the steps."""
    matrix = np.tril(np.random.default_rng(1).random((12, 12))) + np.eye(12)
    path = tmp_path / "matrix.csv"
    np.savetxt(path, matrix, delimiter=",", fmt="%.17g")
    found = epsilon_of(command, *NOISY, "--matrix", str(path))
    assert found == expected(hs.strategies.from_matrix(matrix))
    np.save(tmp_path / "small.npy", np.eye(5))
    outcome = command("epsilon", *NOISY, "--matrix", str(tmp_path / "small.npy"))
    assert (outcome.status, outcome.stderr.count("\n")) == (2, 1)


@pytest.mark.parametrize(
    ("text", "profile"),
    [
        ("laplace:1.5", hs.Profile.laplace(scale=1.5)),
        ("randomized-response:0.5", hs.Profile.randomized_response(epsilon=0.5)),
        ("epsilon-delta:0.1:1e-8", hs.Profile.from_epsilon_delta(0.1, 1e-8)),
    ],
)
def test_mechanisms(text: str, profile: hs.Profile, command: Command) -> None:
    """Random allocation of a mechanism; no noise multiplier."""
    words = ("--sampling", "poisson", "--rate", "0.1", "--steps", "5", "--delta", "1e-5", "--json")
    plan = hs.Plan(sampling=hs.Poisson(rate=0.1), steps=5, mechanism=profile)
    assert epsilon_of(command, *words, "--mechanism", text) == hs.account(plan).epsilon(1e-5)


@pytest.mark.parametrize(
    "words",
    [
        ("--coefficients", "no/such/file", "--noise-multiplier", "3"),
        ("--coefficients", "{file}", "--noise-multiplier", "3", "--strategy", "bsr"),
        ("--coefficients", "{file}", "--noise-multiplier", "3", "--bands", "2"),
        ("--coefficients", "{file}", "--noise-multiplier", "3", "--matrix", "{file}"),
        ("--matrix", "{file}", "--noise-multiplier", "3"),
        ("--coefficients", "{words}", "--noise-multiplier", "3"),
        ("--mechanism", "laplace:1.5", "--noise-multiplier", "3"),
        ("--mechanism", "laplace"),
        ("--mechanism", "laplace:x"),
        ("--mechanism", "cauchy:1"),
        ("--mechanism", "laplace:nan"),
        ("--mechanism", "laplace:1", "--plot", "x.png"),
        ("--mechanism", "laplace:1", "--baselines"),
        ("--mechanism", "laplace:1", "--coefficients", "{file}"),
        (),
    ],
)
def test_what_does_not_fit_is_refused(
    words: tuple[str, ...], command: Command, tmp_path: Path
) -> None:
    """One line, status 2."""
    (tmp_path / "c.txt").write_text("1 0.5")
    (tmp_path / "w.txt").write_text("one half")
    names = {"file": str(tmp_path / "c.txt"), "words": str(tmp_path / "w.txt")}
    outcome = command("epsilon", *RUN, *(word.format(**names) for word in words))
    assert (outcome.status, outcome.stdout) == (2, "")
    assert outcome.stderr.count("\n") == 1
