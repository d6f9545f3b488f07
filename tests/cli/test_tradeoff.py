"""`hockeystick tradeoff`."""

from __future__ import annotations

import json
from pathlib import Path
from statistics import NormalDist

import numpy as np
import pytest

from cli.conftest import FULL_BATCH, POISSON, Command
from hockeystick.fdp import from_pmfs, gdp
from hockeystick.report.figure import tradeoff_figure

PHI = NormalDist()
SIGMA = ["--noise-multiplier", "2"]
# Ten full batches with noise 2.
MU = 10**0.5 / 2


def answer(command: Command, *words: object) -> dict[str, object]:
    """The best row of the JSON output."""
    outcome = command("tradeoff", *words, "--json")
    assert (outcome.status, outcome.stderr) == (0, "")
    content = json.loads(outcome.stdout)
    assert content["results"] == [content["best"]]
    return {**content["best"], "question": content["question"], "unit": content["unit"]}


def test_a_gaussian_run_has_the_closed_form(command: Command) -> None:
    """Rates are upper bounds within the accuracy; mu is that of the whole run."""
    best = answer(command, *FULL_BATCH, *SIGMA)
    assert (best["kind"], best["unit"]) == ("proven", "example")
    assert MU <= best["mu"] <= MU * (1 + 1e-9)
    attack = best["attack"]
    assert [row["false_positive_rate"] for row in attack] == [1e-6, 1e-5, 1e-4, 1e-3, 0.01, 0.1]
    for row in attack:
        exact = PHI.cdf(PHI.inv_cdf(row["false_positive_rate"]) + MU)
        assert exact <= row["true_positive_rate"] <= exact * 1.002


@pytest.mark.slow
def test_the_table_says_what_the_json_says(command: Command) -> None:
    """Rounded up, with the kind, both mus and what the numbers are about."""
    words = [*POISSON, *SIGMA, "--false-positive-rate", "0.01"]
    best = answer(command, *words)
    outcome = command("tradeoff", *words)
    lines = outcome.stdout.splitlines()
    assert lines[:2] == ["poisson (rate 0.1), 20 steps", "noise multiplier 2"]
    row = next(line.split() for line in lines if line.strip().startswith("0.01"))
    power = best["attack"][0]["true_positive_rate"]
    assert power <= float(row[1]) <= power * (1 + 1e-4)
    assert power / 0.01 <= float(row[2]) <= power / 0.01 * 1.01
    assert any(line.startswith("tightest mu-GDP: mu 2.23") for line in lines)
    assert any(line.startswith("tightest mu up to a delta of 1e-06: 0.") for line in lines)
    assert "method: profile; kind: proven" in lines
    assert lines[-1] == "adjacency: zero-out / add-remove; unit: example; direction: both"


@pytest.mark.slow
def test_both_directions_are_the_worse_one(command: Command) -> None:
    """At every rate the attack on both is the stronger one of the two."""
    rates = ["--false-positive-rate", "0.001", "--false-positive-rate", "0.3"]
    found = {
        direction: [
            row["true_positive_rate"]
            for row in answer(command, *POISSON, *SIGMA, *rates, "--direction", direction)["attack"]
        ]
        for direction in ("remove", "add", "both")
    }
    assert found["both"] == pytest.approx(np.maximum(found["remove"], found["add"]).tolist())
    assert found["remove"] != pytest.approx(found["add"], rel=1e-3)


def test_a_bound_without_a_tail_has_no_mu(command: Command) -> None:
    """A Renyi bound allows everything with a small probability: null, "none", and the reason."""
    words = [*POISSON, *SIGMA, "--method", "renyi"]
    best = answer(command, *words)
    assert best["mu"] is None
    assert best["mu_with_slack"] > 0
    assert "tightest mu-GDP: none, because" in command("tradeoff", *words).stdout


@pytest.mark.slow
@pytest.mark.parametrize("suffix", ["png", "svg"])
def test_the_plot_is_written_and_named(command: Command, tmp_path: Path, suffix: str) -> None:
    """A picture of more than a few kilobytes, named in the last line."""
    path = tmp_path / f"tradeoff.{suffix}"
    outcome = command("tradeoff", *POISSON, *SIGMA, "--plot", path)
    assert outcome.status == 0
    assert outcome.stdout.splitlines()[-1] == f"plot written to {path}"
    assert path.stat().st_size > 5_000


@pytest.mark.parametrize(
    ("words", "option"),
    [
        (["--method", "all"], "--method"),
        (["--method", "monte-carlo"], "--method"),
        (["--false-positive-rate", "1.5"], "--false-positive-rate"),
        (["--false-positive-rate", "nan"], "--false-positive-rate"),
        (["--slack", "1"], "--slack"),
        (["--plot", "curve.txt"], "--plot"),
    ],
)
def test_bad_input_is_one_line(command: Command, words: list[str], option: str) -> None:
    """Exit status 2, and the option's name."""
    outcome = command("tradeoff", *FULL_BATCH, *SIGMA, *words)
    assert (outcome.status, outcome.stdout) == (2, "")
    assert outcome.stderr.count("\n") == 1
    assert f"{option} must be" in outcome.stderr


def test_the_figure_draws_f_its_symmetrised_form_and_the_attack() -> None:
    """Left: f and the envelope; right: one minus them at the same rates."""
    f = from_pmfs([0.1, 0.6, 0.3], [0.3, 0.6, 0.1])
    skewed = from_pmfs([0.5, 0.5], [0.1, 0.9])
    figure = tradeoff_figure(skewed, title="title", gaussian=gdp(1.0), gaussian_label="G")
    left, right = figure.axes
    labels = [line.get_label() for line in left.lines]
    assert labels == ["guessing", "f", "symmetrised", "G"]
    for line, curve in zip(left.lines[1:], (skewed, skewed.symmetrize(), gdp(1.0)), strict=True):
        assert line.get_ydata() == pytest.approx(curve(line.get_xdata()), abs=1e-12)
    for line, curve in zip(right.lines[1:], (skewed, skewed.symmetrize(), gdp(1.0)), strict=True):
        assert line.get_ydata() == pytest.approx(1 - curve(line.get_xdata()), abs=1e-12)
    alone = tradeoff_figure(f, title="title", both_directions=False)
    assert [line.get_label() for line in alone.axes[0].lines] == ["guessing", "f"]
