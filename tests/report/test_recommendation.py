"""The recommendation: what is gained over plain DP-SGD, and code that runs as it stands."""

from __future__ import annotations

import contextlib
import io
import json
import shlex
import warnings
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import hockeystick as hs
from hockeystick.cli.main import main
from hockeystick.report.recommendation import Recommendation, recommended
from hockeystick.report.reproduction import OptimizerSetting, python_code
from hypothesis_strategies import thinned

RUN = {"examples": 200, "batch_size": 20.0, "steps": 40, "epsilon": 8.0, "delta": 1e-4}
SETTINGS = {
    "plain": {},
    "momentum": {"momentum": 0.9},
    "schedule": {"momentum": 0.9, "learning_rates": "cosine"},
    "file": {"learning_rates": "rates.txt"},
    "users": {"examples_per_user": 2},
    "constant": {"learning_rates": "constant"},
    "adam": {"optimizer": "adam"},
}
RUNNING = [name for name in SETTINGS if name != "constant"]


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a folder with learning rates of their own; what scripts write stays there."""
    monkeypatch.chdir(tmp_path)
    np.savetxt("rates.txt", np.linspace(0.5, 0.1, 40))


@cache
def advice(name: str) -> Recommendation:
    """The recommendation for a small run with one of the settings."""
    given = dict(SETTINGS[name])
    schedule = given.get("learning_rates")
    if schedule == "rates.txt":
        given["learning_rates"] = np.loadtxt("rates.txt")
    schemes = ["user-min-sep"] if name == "users" else ["poisson", "cyclic-poisson"]
    found = hs.compare(**RUN, **given, schemes=schemes, quick=True)
    return recommended(
        found,
        examples=200,
        optimizer=OptimizerSetting(
            given.get("momentum", 0.0), schedule, given.get("optimizer", "sgd")
        ),
        examples_per_user=given.get("examples_per_user"),
    )


@pytest.mark.slow
@pytest.mark.parametrize("name", thinned(RUNNING, normal=3))
def test_the_command_runs_as_printed(name: str) -> None:
    """It finds the noise of the recommended row, up to what calibration leaves open."""
    one = advice(name)
    words = shlex.split(one.command)
    assert words.pop(0) == "hockeystick"
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        assert main([*words, "--json"]) == 0
    noise = json.loads(printed.getvalue())["best"]["noise_multiplier"]
    assert noise == pytest.approx(one.best.calibration.noise_multiplier, rel=5e-4)


@pytest.mark.slow
@pytest.mark.parametrize("name", thinned(RUNNING, normal=3))
def test_the_script_runs_as_printed(name: str) -> None:
    """To a statement that is at most the wanted epsilon, and that holds when it is recomputed."""
    pytest.importorskip("opacus")
    one = advice(name)
    with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of PyTorch, about Opacus' hooks
        exec(one.python, {})
    statement = hs.training.Statement.load("statement.json")
    assert statement.taken_steps == 40
    assert statement.epsilon <= 8.0
    assert hs.training.check_statement(statement).holds


@pytest.mark.slow
@pytest.mark.parametrize("name", ["schedule", "file", "constant"])
def test_the_error_is_that_of_the_script(name: str) -> None:
    """For the same workload, in units of the largest learning rate."""
    one = advice(name)
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(python_code(one.best, optimizer=one.optimizer), {})
    error = float(printed.getvalue().split()[-1])
    largest = 0.5 if name == "file" else 1.0
    assert error / largest**2 == pytest.approx(one.best.mean_squared_error, rel=1e-3)


def test_the_gain_is_rounded_down() -> None:
    """Against the baseline of the same comparison, in whole per cent."""
    one = advice("plain")
    assert one.baseline is not None
    assert one.advantage is not None
    exact = 100 * (1 - one.best.mean_squared_error / one.baseline.mean_squared_error)
    assert exact - 1 < one.advantage <= exact
    assert f"{one.advantage} % below plain DP-SGD's" in one.gain


def test_the_baseline_itself() -> None:
    """Where plain DP-SGD is the best there is no gain to speak of, and none is claimed."""
    found = [one for one in hs.compare(**RUN, schemes=["poisson"]) if one.baseline]
    one = recommended(found, examples=200)
    assert one.advantage == 0
    assert "this is plain DP-SGD" in one.gain
    assert "correlated" not in one.caveat


def test_the_caveat_names_the_optimizer() -> None:
    """What the error is of, and that it is not accuracy."""
    one = advice("schedule")
    assert "SGD with momentum 0.9 and cosine learning rates" in one.caveat
    assert "need not mean better accuracy" in one.caveat


def test_optimizers_without_a_formula_get_independent_noise() -> None:
    """Adam's iterates are not linear in the gradients: said so, and nothing else is compared."""
    found = advice("adam")
    assert not found.best.plan.correlated
    assert str(found.optimizer) == "Adam"
    assert "not linear in the gradients" in found.caveat
    assert "torch.optim.Adam(network.parameters()" in found.python
