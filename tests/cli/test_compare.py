"""`hockeystick compare`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cli.conftest import Command
from in_one_test import in_one_test

RUN = ["--examples", "400", "--batch-size", "100", "--steps", "12", "--epsilon", "2"]
DELTA = ["--delta", "1e-5"]


@pytest.mark.slow
def test_json_and_html(command: Command, tmp_path: Path) -> None:
    """Sorted by error, the best first; a page beside it, which it names, with the same numbers."""
    path = tmp_path / "report.html"
    outcome = command("compare", *RUN, *DELTA, "--json", "--html", path)
    assert (outcome.status, outcome.stderr) == (0, "")
    content = json.loads(outcome.stdout)
    assert content["html"] == str(path)
    html = path.read_text(encoding="utf-8")
    inside = html.split('id="data">')[1].split("</script>")[0]
    assert json.loads(inside)["results"] == content["results"]
    assert list(tmp_path.iterdir()) == [path]
    errors = [row["mse"] for row in content["results"]]
    assert errors == sorted(errors)
    assert content["best"] == content["results"][0]
    assert {row["kind"] for row in content["results"]} == {"proven"}
    assert {row["sampling"]["scheme"] for row in content["results"]} == {
        "poisson",
        "cyclic-poisson",
        "balls-in-bins",
        "random-allocation",
    }
    assert all(row["reached_epsilon"] <= 2 for row in content["results"])
    assert content["plan"] == {"examples": 400, "batch_size": 100.0, "steps": 12}


@pytest.mark.slow
def test_table_and_plot(command: Command, tmp_path: Path) -> None:
    """A row for each candidate, nothing cut off at 80 columns, and the figure."""
    path = tmp_path / "compare.png"
    outcome = command("compare", *RUN, *DELTA, "--plot", path)
    assert (outcome.status, outcome.stderr) == (0, "")
    assert outcome.stdout.startswith("400 examples, batch size 100, 12 steps, epsilon 2")
    assert outcome.stdout.splitlines()[-1] == f"plot written to {path}"
    assert "…" not in outcome.stdout
    for word in ("cyclic-poisson", "random-allocation", "fixed batches", "band-mf", "buffers 2"):
        assert word in outcome.stdout
    assert path.read_bytes().startswith(b"\x89PNG")


@in_one_test
@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["--batch-size", "500"], "--batch-size must be in (0, examples=400]"),
        (["--epsilon", "nan"], "--epsilon must be"),
        (["--delta", "0"], "--delta must be in (0, 1)"),
        (["--steps", "0"], "--steps must be an integer >= 1"),
        (["--optimizer", "lamb"], "--optimizer must be one of sgd, adam"),
        (["--optimizer", "adam", "--momentum", "0.9"], "--momentum must be left out"),
        (["--plot", "picture.txt"], "--plot must be a file that ends in"),
        (["--html", "report.pdf"], "--html must be a file that ends in"),
    ],
)
def test_bad_input(command: Command, words: list[str], complaint: str) -> None:
    """One line that names the option, and status 2."""
    outcome = command("compare", *RUN, *DELTA, *words)
    assert outcome.status == 2
    assert complaint in outcome.stderr
    assert len(outcome.stderr.splitlines()) == 1


@pytest.mark.slow
def test_verified_rows_say_so(command: Command) -> None:
    """In the table and in the JSON; the next command and the script test anew."""
    run = ["--examples", "100", "--batch-size", "20", "--steps", "12", "--epsilon", "6", *DELTA]
    words = ["--schemes", "poisson,min-sep", "--verify", "--seed", "3"]
    content = json.loads(command("compare", *run, *words, "--json").stdout)
    kinds = {row["kind"] for row in content["results"]}
    assert kinds == {"proven", "verified"}
    best = content["best"]
    assert (best["kind"], best["sampling"]["scheme"]) == ("verified", "min-sep")
    advice = content["recommendation"]
    assert advice["command"].endswith("--method monte-carlo")
    assert 'method="monte-carlo"' in advice["python"]
    assert "guarantee=found.guarantee" in advice["python"]
    refused = command("compare", *run, "--seed", "3")
    assert refused.status == 2
    assert "--seed must be left out" in refused.stderr


QUICK = ["--quick", "--schemes", "poisson, cyclic-poisson"]


def test_the_recommendation(command: Command) -> None:
    """In text and JSON: the winner with its parameters, the gain, the caveat, command and code."""
    text = command("compare", *RUN, *DELTA, *QUICK).stdout
    content = json.loads(command("compare", *RUN, *DELTA, *QUICK, "--json").stdout)
    advice = content["recommendation"]
    assert f"use this: {advice['setting']}, noise multiplier" in text
    for name in ("gain", "caveat", "command", "python"):
        assert advice[name] in text
    assert advice["mse"] == content["best"]["mse"]
    assert advice["baseline"] in content["results"]
    assert advice["baseline"]["sampling"]["scheme"] == "poisson"
    gained = 1 - advice["mse"] / advice["baseline"]["mse"]
    assert 0 <= gained - advice["percent_below_baseline"] / 100 < 0.01
    assert advice["command"].startswith("hockeystick calibrate --sampling")
    assert "make_private(" in advice["python"]
    assert "run.statement(delta=1e-05)" in advice["python"]


def test_rows_have_all_parameters(command: Command) -> None:
    """In a pipe each row is one line, whatever the width: rates, groups, bands, buffers."""
    lines = command("compare", *RUN, *DELTA, *QUICK).stdout.splitlines()
    assert any("rate 0.25 " in line and "baseline" in line for line in lines)
    assert any("rate 0.5, groups 2, bands 2" in line for line in lines)
    assert any("rate 1, groups 4, buffers 2" in line for line in lines)


def test_the_baseline_is_there_without_its_scheme(command: Command) -> None:
    """Other schemes are still compared with plain DP-SGD, which is no row of its own."""
    words = ["--quick", "--schemes", "random-allocation", "--json"]
    content = json.loads(command("compare", *RUN, *DELTA, *words).stdout)
    assert {row["sampling"]["scheme"] for row in content["results"]} == {"random-allocation"}
    assert content["recommendation"]["baseline"]["sampling"]["scheme"] == "poisson"


def test_users(command: Command) -> None:
    """The unit is a user, in the rows and in the code, which needs to know whose examples are."""
    words = ["--quick", "--examples-per-user", "2", "--json"]
    content = json.loads(command("compare", *RUN, *DELTA, *words).stdout)
    assert content["unit"] == "user"
    assert content["plan"]["examples_per_user"] == 2
    assert content["best"]["expected_batch_size"] == pytest.approx(100)
    assert "--examples-per-user 2" in content["recommendation"]["command"]
    assert "attribution=users" in content["recommendation"]["python"]


def test_results_stream_on_a_terminal(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each result as it comes, with n of N, on standard error; standard output is as in a pipe."""
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    outcome = command("compare", *RUN, *DELTA, "--schemes", "poisson", "--json")
    assert "poisson, independent (rate 0.25): noise multiplier" in outcome.stderr
    assert "1 of 1: poisson, independent noise" in outcome.stderr
    assert json.loads(outcome.stdout)["results"]


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["--schemes", "poison"], "--schemes must be among full-batch, poisson"),
        (["--examples-per-user", "0"], "--examples-per-user must be an integer >= 1"),
        (["--epochs", "3"], "--steps must be given, or epochs in their place, and not both"),
    ],
)
def test_impossible_comparisons(command: Command, words: list[str], complaint: str) -> None:
    """One sentence."""
    outcome = command("compare", *RUN, *DELTA, *words)
    assert outcome.status == 2
    assert complaint in outcome.stderr
    assert len(outcome.stderr.splitlines()) == 1


def test_an_optimizer_without_a_formula(command: Command) -> None:
    """Only independent noise is compared, and the text says why."""
    outcome = command("compare", *RUN, *DELTA, *QUICK, "--optimizer", "adam")
    assert outcome.status == 0
    assert "band-mf" not in outcome.stdout
    assert "not linear in the gradients" in " ".join(outcome.stdout.split())
