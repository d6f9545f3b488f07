"""Participants that fail, hang or take all memory are shown as such, and the run goes on."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

import environments
import keeping
import run
from cases import CASES, US
from environments import HERE, Environments, SetUpFailed
from harness import Times
from measuring import Allowance, finished
from roster import PARTICIPANTS, Participant

FAKE = """
import time

def failing():
    raise RuntimeError("no such luck")

def greedy():
    kept = []
    while True:
        kept.append(b"x" * 2**24)
        time.sleep(0.01)

CASES = {
    "good": lambda: (1.0, 2.0, [3, 4]),
    "failing": failing,
    "hanging": lambda: time.sleep(60),
    "endless": lambda: (None, float("inf")),
    "greedy": greedy,
}
SWEEPS = {"double": lambda point: (None, 2 * point)}
"""


@pytest.fixture
def ask(tmp_path):
    """Ask the fake participant in a process of its own."""
    file = tmp_path / "fake.py"
    file.write_text(FAKE)

    def asked(name, *point, seconds=20.0, megabytes=None):
        allowance = Allowance(2, seconds, megabytes=megabytes)
        command = [sys.executable, HERE / "harness.py", file, name, *allowance.arguments, *point]
        return finished(command, allowance)

    return asked


def test_an_answer(ask):
    """Bounds, values, two timings and the memory of the process alone."""
    found = ask("good")
    assert (found["lower"], found["upper"], found["values"]) == (1.0, 2.0, [3.0, 4.0])
    assert len(found["seconds"]) == 2
    assert 1 < found["peak_mb"] < 100


@pytest.mark.parametrize(
    ("seconds", "again"),
    [([], True), ([9.0], True), ([11.0], False), ([1.0, 2.0], True), ([1.0, 5.0], False)],
)
def test_when_a_call_is_repeated(seconds, again):
    """Warm calls until there is enough of them; none after a first one that took too long."""
    assert Times(3, enough=5.0, patience=10.0).again(seconds) is again
    assert not Times(1, enough=5.0, patience=10.0).again([1.0])


def test_a_point_of_a_sweep(ask):
    """Whole numbers arrive as such."""
    assert ask("double", 21)["upper"] == 42


def test_failures_are_answers(ask):
    """The last line of the traceback."""
    assert ask("failing") == {"error": "RuntimeError: no such luck"}


def test_a_time_out_is_an_answer(ask):
    """After the limit, not after the call."""
    assert ask("hanging", seconds=0.5) == {"error": "timed out after 0.5 s"}


def test_infinity_is_no_answer(ask):
    """It would not be JSON either."""
    assert ask("endless")["error"] == "it answers inf"


@pytest.mark.skipif(sys.platform != "linux", reason="memory of a process is read from /proc")
def test_too_much_memory_is_an_answer(ask):
    """It is stopped before it takes more."""
    assert ask("greedy", megabytes=100)["error"].startswith("stopped at 0.0977 GB")


def test_an_environment_that_cannot_be_made(tmp_path, monkeypatch):
    """It is tried once, and its error is that of everybody in it."""
    tried = []

    def fail(*parts):
        tried.append(parts)
        raise subprocess.CalledProcessError(1, parts, stderr="WARNING\nERROR: No such package\n")

    monkeypatch.setattr(environments, "_command", fail)
    made = Environments(tmp_path)
    for _ in range(2):
        with pytest.raises(SetUpFailed, match=r"^not set up: ERROR: No such package$"):
            made.interpreter(Participant("peer", "peer.py", ("peer==1",), 1))
    assert len(tried) == 1
    assert made.described["peer-1"] == {"error": "not set up: ERROR: No such package"}


def test_nobody_is_asked_for_more_after_a_failure(monkeypatch):
    """The second point fails: it is the last one."""

    def measured(participant, name, *, point, **_):
        fine = participant.name == US or point < 1_000
        return {"upper": point} if fine else {"error": "too much"}

    monkeypatch.setattr(run, "measure", measured)
    found = run.run_sweep("steps", Environments())
    assert len(found[US]) == 5
    assert [p.get("error") for p in found["dp-accounting"]] == [None, "too much"]


def test_an_interrupted_run_keeps_what_it_has(tmp_path, monkeypatch, capsys):
    """Ctrl-C in the second case leaves the first one in the file."""
    monkeypatch.setattr(keeping, "PARTIAL", tmp_path / "partial.json")

    def case(name, _):
        if name == "small-noise":
            raise KeyboardInterrupt
        return {US: {"error": "fake"}}

    monkeypatch.setattr(run, "run_case", case)
    assert run.main(["poisson", "small-noise"]) == 130
    assert list(keeping.read(tmp_path / "partial.json")["cases"]) == ["poisson"]
    assert "interrupted" in capsys.readouterr().err


def test_a_complete_run_is_published_and_some_questions_are_not(tmp_path, monkeypatch, capsys):
    """Only a run of all questions replaces the kept results, the page and the picture."""
    published = []
    monkeypatch.setattr(keeping, "PARTIAL", tmp_path / "partial.json")
    monkeypatch.setattr(keeping, "COMPLETE", tmp_path / "results.json")
    monkeypatch.setattr(run, "QUESTIONS", ("poisson", "steps"))
    monkeypatch.setattr(run, "run_case", lambda *_: {US: {"error": "fake case"}})
    monkeypatch.setattr(run, "run_sweep", lambda *_: {US: [{"point": 100, "error": "fake point"}]})
    monkeypatch.setattr(run, "publish", lambda: published.append(True))
    assert run.main(["poisson"]) == 0
    assert not published
    assert not (tmp_path / "results.json").exists()
    assert run.main([]) == 0
    assert published == [True]
    found = keeping.read(tmp_path / "results.json")
    assert (list(found["cases"]), list(found["sweeps"])) == (["poisson"], ["steps"])
    printed = capsys.readouterr().out
    assert "fake case" in printed
    assert "fake point" in printed
    assert re.search(r"\b0 of \d+ held", printed)


def test_unknown_questions_are_refused(capsys):
    """One line that lists the known ones."""
    assert run.main(["poison"]) == 2
    assert "unknown question 'poison'; known: poisson" in capsys.readouterr().err


def test_every_participant_has_its_file():
    """And cases are repeated at least once."""
    for participant in PARTICIPANTS.values():
        assert (HERE / "participants" / participant.file).is_file()
        assert participant.repeats >= 1
    assert all(case.repeats is None or case.repeats >= 1 for case in CASES.values())
