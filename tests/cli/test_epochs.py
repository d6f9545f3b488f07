"""`--epochs` in the place of `--steps`, and what strategies are optimised for."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import hockeystick as hs
from cli.conftest import Command
from in_one_test import in_one_test

SIZE = ["--sampling", "poisson", "--examples", "1000", "--batch-size", "60"]
NOISE = ["--noise-multiplier", "1.5"]
COMMANDS: dict[str, list[str]] = {
    "epsilon": [*SIZE, *NOISE, "--delta", "1e-5"],
    "delta": [*SIZE, *NOISE, "--epsilon", "1"],
    "calibrate": [*SIZE, "--epsilon", "1", "--delta", "1e-5"],
    "tradeoff": [*SIZE, *NOISE],
    "verify": [*SIZE, *NOISE, "--epsilon", "9", "--delta", "1e-3", "--draws", "100"],
    "batches": [*SIZE, "--output", "batches.npz"],
    "compare": [*SIZE[2:], "--epsilon", "2", "--delta", "1e-5", "--schemes", "poisson"],
}


@pytest.mark.slow
@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_takes_epochs(
    command: Command, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """1.5 epochs of 1,000 examples in batches of 60 are 25 steps."""
    monkeypatch.chdir(tmp_path)
    outcome = command(name, *COMMANDS[name], "--epochs", "1.5", "--json")
    assert (outcome.status, outcome.stderr) == (0, "")
    assert json.loads(outcome.stdout)["plan"]["steps"] == 25


def test_a_fraction_of_a_step_points_to_epochs(command: Command) -> None:
    """2,343.75 steps are 20 epochs of 60,000 examples in batches of 512."""
    outcome = command("epsilon", *COMMANDS["epsilon"], "--steps", "2343.75")
    assert outcome.status == 2
    assert "--epochs with --examples and --batch-size" in outcome.stderr


@in_one_test
@pytest.mark.parametrize("name", COMMANDS)
@pytest.mark.parametrize("words", [[], ["--steps", "25", "--epochs", "1.5"]], ids=len)
def test_exactly_one_of_the_two(command: Command, name: str, words: list[str]) -> None:
    """Neither and both are refused in one sentence that names them."""
    outcome = command(name, *COMMANDS[name], *words)
    assert outcome.status == 2
    assert outcome.stderr.startswith("error: --steps must be given, or ")
    assert "epochs" in outcome.stderr
    assert len(outcome.stderr.splitlines()) == 1


def test_epochs_need_the_sizes(command: Command) -> None:
    """A rate alone does not say how many steps an epoch has."""
    words = ["--sampling", "poisson", "--rate", "0.1", *NOISE, "--delta", "1e-5"]
    outcome = command("epsilon", *words, "--epochs", "2")
    assert outcome.status == 2
    assert "--epochs must be given with --examples and --batch-size" in outcome.stderr


@pytest.mark.parametrize("schedule", ["cosine", "rates.txt", "rates.npy"])
def test_strategies_for_the_optimizer(
    command: Command, schedule: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The plan has the strategy that Python makes for the same momentum and learning rates."""
    monkeypatch.chdir(tmp_path)
    rates = np.linspace(1.0, 0.2, 12)
    np.savetxt("rates.txt", rates)
    np.save("rates.npy", rates)
    words = ["--sampling", "cyclic-poisson", "--rate", "0.5", "--groups", "3", "--steps", "12"]
    words += ["--strategy", "band-mf", "--bands", "3"]
    optimizer = ["--momentum", "0.9", "--learning-rate-schedule", schedule]
    question = ["--epsilon", "2", "--delta", "1e-5", "--json"]
    outcome = command("calibrate", *words, *optimizer, *question)
    assert outcome.status == 0
    workload = hs.strategies.iterates(
        12, momentum=0.9, learning_rates="cosine" if schedule == "cosine" else rates
    )
    plan = hs.Plan(
        sampling=hs.CyclicPoisson(rate=0.5, groups=3),
        steps=12,
        strategy=hs.strategies.band_mf(12, 3, workload=workload),
    )
    noise = hs.calibrate(plan, epsilon=2.0, delta=1e-5).noise_multiplier
    assert json.loads(outcome.stdout)["best"]["noise_multiplier"] == noise


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["--momentum", "1"], "--momentum must be in [0, 1)"),
        (["--learning-rate-schedule", "square"], "--learning-rate-schedule must be constant, cos"),
        (["--strategy", "bsr", "--momentum", "0.9"], "left out for the strategy bsr"),
    ],
)
def test_impossible_optimizers(command: Command, words: list[str], complaint: str) -> None:
    """One sentence that names the option."""
    plan = ["--sampling", "full-batch", "--steps", "5", "--strategy", "band-mf", "--bands", "2"]
    outcome = command("calibrate", *plan, *words, "--epsilon", "2", "--delta", "1e-5")
    assert outcome.status == 2
    assert complaint in outcome.stderr
    assert len(outcome.stderr.splitlines()) == 1
