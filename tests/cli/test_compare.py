"""`hockeystick compare`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cli.conftest import Command

RUN = ["--examples", "400", "--batch-size", "100", "--steps", "12", "--epsilon", "2"]
DELTA = ["--delta", "1e-5"]


def test_json(command: Command) -> None:
    """Sorted by error, the best first, everything that the table shows."""
    outcome = command("compare", *RUN, *DELTA, "--json")
    assert outcome.status == 0
    content = json.loads(outcome.stdout)
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


@pytest.mark.slow
def test_html(command: Command, tmp_path: Path) -> None:
    """A page beside the JSON, which names it; both have the same numbers."""
    path = tmp_path / "report.html"
    outcome = command("compare", *RUN, *DELTA, "--json", "--html", path)
    assert (outcome.status, outcome.stderr) == (0, "")
    content = json.loads(outcome.stdout)
    assert content["html"] == str(path)
    html = path.read_text(encoding="utf-8")
    inside = html.split('id="data">')[1].split("</script>")[0]
    assert json.loads(inside)["results"] == content["results"]
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["--batch-size", "500"], "--batch-size must be in (0, examples=400]"),
        (["--epsilon", "nan"], "--epsilon must be"),
        (["--delta", "0"], "--delta must be in (0, 1)"),
        (["--steps", "0"], "--steps must be an integer >= 1"),
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
