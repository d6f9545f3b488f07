"""`hockeystick verify FILE`."""

from __future__ import annotations

import json

import pytest

import hockeystick as hs
from cli.conftest import POISSON
from hockeystick.training import RunRecord, describe_filter, joint_statement, statement

PLAN = hs.Plan(sampling=hs.Poisson(rate=0.1), steps=20)


@pytest.fixture
def facts():
    """The facts of a true statement."""
    record = RunRecord(plan=PLAN, noise_multiplier=1.5, max_grad_norm=1.0, taken_steps=5)
    return json.loads(statement(record, delta=1e-5).to_json())


@pytest.fixture
def written(tmp_path):
    """Writes facts to a file."""

    def write(content):
        path = tmp_path / "statement.json"
        path.write_text(json.dumps(content))
        return path

    return write


def test_a_true_statement(command, written, facts):
    """Stated and recomputed numbers stand side by side; exit status 0."""
    done = command("verify", written(facts))
    assert (done.status, done.stderr) == (0, "")
    line = next(line for line in done.stdout.splitlines() if "epsilon" in line)
    _, stated, recomputed = line.split()
    assert stated == recomputed
    assert "5 of 20 planned steps taken; accounted for all planned steps" in done.stdout
    assert "the statement holds" in done.stdout


def test_a_false_statement(command, written, facts):
    """Too small an epsilon: the problem is named, exit status 1."""
    done = command("verify", written({**facts, "epsilon": facts["epsilon"] / 2}))
    assert done.status == 1
    assert "below the recomputed" in done.stdout
    assert "does not hold" in done.stdout


def test_nothing_to_compute(command, written, facts):
    """Facts that describe no plan are a problem as well."""
    done = command("verify", written({**facts, "scheme": {"scheme": "lottery"}}))
    assert done.status == 1
    assert "nothing can be computed" in done.stdout


def test_json(command, written, facts):
    """One object for programs, true or false."""
    done = command("verify", written(facts), "--json")
    answer = json.loads(done.stdout)
    assert (done.status, answer["holds"], answer["problems"]) == (0, True, [])
    assert answer["recomputed"]["epsilon"] == pytest.approx(answer["stated"]["epsilon"], rel=1e-9)
    done = command("verify", written({**facts, "kind": "proven", "unit": "user"}), "--json")
    answer = json.loads(done.stdout)
    assert (done.status, answer["holds"], len(answer["problems"])) == (1, False, 1)


def test_an_asymptotic_filter_is_marked(command, written):
    """The kind is shown."""
    described = describe_filter(hs.filters.ApproximateGaussian(mu=0.5))
    record = RunRecord(
        plan=PLAN, noise_multiplier=1.5, max_grad_norm=1.0, taken_steps=5, filter=described
    )
    done = command("verify", written(json.loads(statement(record, delta=1e-5).to_json())))
    assert done.status == 0
    assert "asymptotic" in done.stdout
    assert "the whole budget of the filter" in done.stdout


@pytest.mark.parametrize("content", [[], {"epsilon": 1}, "text"])
def test_other_files(command, written, content):
    """A file that is no statement: exit status 2, one line."""
    done = command("verify", written(content))
    assert (done.status, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert "is not a privacy statement" in done.stderr


def test_a_missing_file(command, tmp_path):
    """Exit status 2."""
    done = command("verify", tmp_path / "nothing.json")
    assert done.status == 2
    assert done.stderr.count("\n") == 1


def test_a_file_takes_the_place_of_all_options(command, written, facts):
    """Options beside it are refused by name."""
    done = command("verify", written(facts), "--delta", "1e-6")
    assert done.status == 2
    assert "--delta must be left out with a statement" in done.stderr


@pytest.mark.parametrize("missing", ["--noise-multiplier", "--epsilon", "--delta"])
def test_without_a_file_the_options_are_required(command, missing):
    """As before, the first one that is missing is named."""
    words = {"--noise-multiplier": 1, "--epsilon": 1, "--delta": 1e-2}
    given = [word for name, value in words.items() if name != missing for word in (name, value)]
    done = command("verify", *POISSON, *given)
    assert (done.status, done.stderr) == (2, f"error: Missing option '{missing}'.\n")


def test_several_runs(command, written):
    """A joint statement is recomputed as well, run by run."""
    records = [
        RunRecord(plan=PLAN, noise_multiplier=noise, max_grad_norm=1.0, taken_steps=5)
        for noise in (1.5, 2.0)
    ]
    content = json.loads(joint_statement(records, delta=1e-5).to_json())
    done = command("verify", written(content))
    assert (done.status, done.stderr) == (0, "")
    assert "run 2: 5 of 20 planned steps taken; accounted for all planned steps" in done.stdout
    assert "the statement holds" in done.stdout
    answer = json.loads(command("verify", written(content), "--json").stdout)
    assert [run["priced_for"] for run in answer["stated"]["runs"]] == ["all planned steps"] * 2
    content["runs"][1]["noise_multiplier"] = 1.9
    done = command("verify", written(content))
    assert done.status == 1
    assert "problem: run 2: epsilon" in done.stdout


@pytest.mark.parametrize("epsilon", ["3", "1.1", "0.7"])
def test_what_was_asked_is_what_is_printed(command, written, epsilon):
    """`calibrate`, the statement and `verify` print no epsilon above the one that was asked."""
    words = ["--sampling", "full-batch", "--steps", "20", "--epsilon", epsilon, "--delta", "1e-5"]
    best = json.loads(command("calibrate", *words, "--json").stdout)["best"]
    assert best["reached_epsilon"] <= float(epsilon)
    plan = hs.Plan(sampling=hs.FullBatch(), steps=20)
    record = RunRecord(
        plan=plan, noise_multiplier=best["noise_multiplier"], max_grad_norm=1.0, taken_steps=20
    )
    content = json.loads(statement(record, delta=1e-5).to_json())
    line = next(
        one for one in command("verify", written(content)).stdout.splitlines() if "epsilon" in one
    )
    assert [float(number) <= float(epsilon) for number in line.split()[1:]] == [True, True]
