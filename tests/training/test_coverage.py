"""Every field of a statement is checked, or said not to be."""

from __future__ import annotations

import json
from dataclasses import fields, replace
from functools import cache

import pytest

import hockeystick as hs
from hockeystick.cli.main import main
from hockeystick.errors import InvalidParameter
from hockeystick.training import (
    JointStatement,
    RunRecord,
    Statement,
    check_statement,
    describe_filter,
    joint_statement,
    statement,
)

PLAN = hs.Plan(sampling=hs.Poisson(rate=0.1), steps=20)
GIVEN = {"noise_multiplier": 1.2, "max_grad_norm": 1.0, "taken_steps": 12}


def record(**changes):
    """A run that stopped early."""
    return RunRecord(**{"plan": PLAN, **GIVEN, "taken_schedule": [[12, 1.2, 1.0]], **changes})


@cache
def plain():
    """A statement without a filter."""
    return statement(record(examples=100), delta=1e-5, dataset="digits")


@cache
def governed():
    """A statement with one."""
    described = describe_filter(hs.filters.Gaussian(mu=2.9))
    return statement(record(filter=described), delta=1e-5)


@cache
def joint():
    """Two runs."""
    return joint_statement(
        [record(), record(noise_multiplier=2.0, taken_schedule=None)], delta=1e-5
    )


@pytest.mark.parametrize("make", [plain, governed, joint])
def test_every_field_is_listed_once(make):
    """Recomputed, expected, consistent or unchecked; the signature has a word of its own."""
    made = make()
    covered = check_statement(made).coverage
    listed = [*covered.recomputed, *covered.expected, *covered.consistent, *covered.unchecked]
    names = [one.name for one in fields(made) if one.name != "runs"]
    if isinstance(made, JointStatement):
        names += [f"runs.{one.name}" for one in fields(Statement)]
    assert sorted([*listed, "signature"]) == sorted(names)
    assert covered.signature == "absent"


def test_fields_of_runs_are_covered_as_those_of_one_statement():
    """With the least that is known in any run; an edit of what is unchecked goes unnoticed."""
    covered = check_statement(joint()).coverage
    for group in ("recomputed", "consistent", "unchecked"):
        alone = [getattr(check_statement(run).coverage, group) for run in joint().runs]
        listed = {name for name in getattr(covered, group) if name.startswith("runs.")}
        wanted = {f"runs.{name}" for name in alone[1]}
        assert listed == wanted | ({"runs.signature"} if group == "unchecked" else set())
    assert "runs.taken_schedule" in covered.unchecked
    assert {"runs.examples", "runs.run_id", "runs.seeded", "runs.probe", "runs.versions"} <= set(
        covered.unchecked
    )
    mixed = joint_statement(
        [record(), record(filter=describe_filter(hs.filters.Gaussian(mu=0.5)))], delta=1e-5
    )
    assert "runs.scheme" in check_statement(mixed).coverage.consistent
    known = check_statement(joint(), expect={"epsilon": joint().epsilon, "arithmetic": "float"})
    assert known.coverage.expected == ("epsilon", "runs.arithmetic")
    assert "runs.epsilon" in known.coverage.recomputed


def test_what_is_recomputed_depends_on_it():
    """A field that the number is said to follow from changes the verdict."""
    worse = {
        "epsilon": 0.01,
        "delta": 1e-9,
        "adjacency": "other",
        "unit": "user",
        "kind": "verified",
        "method": "renyi",
        "accuracy": 0.5,
        "priced_for": "nothing",
        "scheme": {"scheme": "poisson", "rate": 0.2},
        "strategy": {**plain().strategy, "sha256": "0"},
        "noise_multiplier": 1.0,
        "planned_steps": 40,
        "filter": describe_filter(hs.filters.Gaussian(mu=3.0)),
    }
    assert set(worse) == set(check_statement(plain()).coverage.recomputed)
    for name, value in worse.items():
        schedule = None if name == "noise_multiplier" else plain().taken_schedule
        edited = replace(plain(), **{name: value}, taken_schedule=schedule)
        found = check_statement(edited)
        # A weaker kind claims less, and holds.
        assert found.holds == (name == "kind"), name
    assert not check_statement(replace(governed(), kind="proven", epsilon=0.1)).holds
    asymptotic = describe_filter(hs.filters.ApproximateGaussian(mu=0.5))
    assert not check_statement(replace(governed(), filter=asymptotic)).holds


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"taken_steps": 13}, "taken_schedule has 12 steps, but 13 are taken"),
        ({"taken_schedule": [[11, 1.2, 1.0]]}, "taken_schedule has 11 steps"),
        ({"taken_schedule": [[12, 1.1, 1.0]]}, "need a filter"),
        ({"taken_schedule": [[12, 1.2, 1.0, 0.1]]}, "need a filter"),
        ({"taken_schedule": [[11, 1.2, 1.0], [1, 1.2, 2.0]]}, "need a filter"),
        ({"taken_schedule": [[11, 1.2, 1.0], [1, 1.2, 0.5]]}, "need a filter"),
        ({"max_grad_norm": 0.5}, "need a filter"),
        ({"taken_schedule": []}, "taken_schedule has 0 steps"),
    ],
)
def test_what_is_consistent_is_compared(change, problem):
    """Planned and taken steps, noise and clip norms."""
    found = check_statement(replace(plain(), **change))
    assert any(problem in line for line in found.problems)


@pytest.mark.parametrize(
    ("schedule", "problem"),
    [
        ([[11, 1.2, 1.0], [1, 1.2, 0.5]], None),
        ([[12, 1.2, 1.5]], "step 6 of taken_schedule is more"),
        ([[11, 1.2, 1.0, 0.1], [1, 1.3, 7.0, 0.2]], None),
        ([[11, 1.2, 1.0, 0.1], [1, 1.1, 1.0, 0.1]], "step 12 of taken_schedule is more than"),
        ([[10, 1.2, 1.0, 0.1], [2, 0.5, 1.0, 0.1]], "step 11 of taken_schedule is more"),
    ],
)
def test_with_a_filter_settings_may_be_what_it_permits(schedule, problem):
    """mu = 2.9 is enough for 12 steps of noise 1.2; without rates as earlier versions wrote it."""
    found = check_statement(replace(governed(), taken_schedule=schedule))
    assert found.holds == (problem is None)
    assert problem is None or any(problem in line for line in found.problems)


def test_expectations():
    """What the caller knows moves from unchecked to expected, and has to agree."""
    found = check_statement(plain(), expect={"dataset": "digits", "examples": "100"})
    assert found.holds
    assert found.coverage.expected == ("examples", "dataset")
    assert "dataset" not in found.coverage.unchecked
    for wrong in ({"dataset": "letters"}, {"examples": 99}, {"parameters": "0" * 64}):
        assert not check_statement(plain(), expect=wrong).holds
    assert check_statement(joint(), expect={"arithmetic": "float"}).holds
    assert not check_statement(joint(), expect={"dataset": "digits"}).holds
    with pytest.raises(InvalidParameter, match="expect"):
        check_statement(plain(), expect={"colour": "red"})


def test_the_command(tmp_path, capsys):
    """Lists every field, with exit status 1 for what does not agree and 2 for what is no field."""
    path = plain().save(tmp_path / "statement.json")
    assert main(["verify", str(path)]) == 0
    text = capsys.readouterr().out
    for name in (one.name for one in fields(Statement)):
        assert name == "signature" or name in text
    assert (
        "NOT CHECKED: seeded, probe, note, versions, examples, run_id, parameters, dataset" in text
    )
    assert "not signed" in text
    assert main(["verify", str(path), "--expect", "dataset=digits", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["coverage"]["expected"] == ["dataset"]
    assert main(["verify", str(path), "--expect", "dataset=letters"]) == 1
    assert "not the expected 'letters'" in capsys.readouterr().out
    for words in (["--expect", "dataset"], ["--expect", "colour=red"], ["--key", "none.pem"]):
        assert main(["verify", str(path), *words]) == 2
        assert capsys.readouterr().err.count("\n") == 1
    options = ["--noise-multiplier", "1", "--epsilon", "1", "--delta", "1e-5"]
    assert main(["verify", "--expect", "a=b", "--sampling", "poisson", *options]) == 2


def test_the_command_with_signatures(tmp_path, capsys):
    """Valid, of somebody else, missing, and not asked for."""
    for name in ("me", "other"):
        assert main(["keygen", str(tmp_path / name)]) == 0
    for made, file in ((plain(), "one"), (joint(), "several")):
        path = made.sign(tmp_path / "me").save(tmp_path / file)
        capsys.readouterr()
        assert main(["verify", str(path), "--key", str(tmp_path / "me.pub")]) == 0
        assert "signed with the key that was given" in capsys.readouterr().out
        assert main(["verify", str(path)]) == 0
        assert "the signature is not checked" in capsys.readouterr().out
        assert main(["verify", str(path), "--key", str(tmp_path / "other.pub")]) == 1
        assert "signed with another key" in capsys.readouterr().out
        content = json.loads(path.read_text())
        content["epsilon"] *= 2
        path.write_text(json.dumps(content))
        assert main(["verify", str(path)]) == 0
        assert main(["verify", str(path), "--key", str(tmp_path / "me.pub")]) == 1
        assert isinstance(made, (Statement, JointStatement))


def test_a_problem_of_a_run_is_a_problem_of_all():
    """Schedules are compared in each run of a joint statement."""
    runs = (replace(joint().runs[0], taken_steps=3), joint().runs[1])
    found = check_statement(replace(joint(), runs=runs))
    assert any(line.startswith("run 1: taken_schedule has") for line in found.problems)
