"""Statements of several runs: composed, saved, loaded and recomputed; edits are found."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import hockeystick as hs
from hockeystick.training import (
    JointStatement,
    PrivateRun,
    RunRecord,
    Statement,
    check_statement,
    describe_filter,
    fingerprint,
    joint_statement,
    load_statement,
    statement,
)
from hockeystick.training.statements import NEW
from in_one_test import in_one_test

pytestmark = pytest.mark.slow

DELTA = 1e-5
FIRST = hs.Plan(sampling=hs.Poisson(rate=0.1), steps=10)
SECOND = hs.Plan(
    sampling=hs.CyclicPoisson(rate=0.2, groups=4),
    steps=20,
    strategy=hs.strategies.bsr(20, bands=4),
)


def record(plan=FIRST, **options):
    """A run that took all its steps."""
    settings = {"noise_multiplier": 1.5, "max_grad_norm": 1.0, "taken_steps": plan.steps}
    return RunRecord(plan=plan, **{**settings, **options})


@cache
def true():
    """Of two different runs, the second of which stopped early."""
    return joint_statement([record(), record(SECOND, taken_steps=3)], delta=DELTA)


def test_the_number_is_that_of_the_sequence():
    """To the last digit; it counts planned steps, and more than any run alone."""
    sequence = hs.Sequence([FIRST, SECOND])
    assert true().epsilon == hs.account(sequence, noise_multiplier=1.5).epsilon(DELTA)
    assert (true().kind, true().unit) == ("proven", "example")
    assert [run.taken_steps for run in true().runs] == [10, 3]
    for run, plan in zip(true().runs, (FIRST, SECOND), strict=True):
        assert run.epsilon == hs.account(plan, noise_multiplier=1.5).epsilon(DELTA)
        assert run.epsilon < true().epsilon


def test_two_phases_are_stated_as_they_were_calibrated():
    """The recipe of the documentation, with runs of one plan on one model."""
    sequence = hs.Sequence([(FIRST, 1.0), (FIRST, 1.7)])
    factor = hs.calibrate(sequence, epsilon=2.0, delta=DELTA).noise_multiplier
    x = np.random.default_rng(0).normal(size=(50, 2))
    model, records = np.zeros(2), []

    def gradients(batch):
        return model - x[batch]

    for (plan, _), noise in zip(sequence.parts, sequence.noise_multipliers(factor), strict=True):
        run = PrivateRun(plan, examples=50, dimension=2, noise_multiplier=noise, max_grad_norm=1.0)
        for _ in range(plan.steps):
            model -= 0.1 * run.step(gradients)
        records.append(run.record())
    stated = JointStatement.from_json(joint_statement(records, delta=DELTA).to_json())
    assert stated.epsilon <= 2.0
    found = check_statement(stated)
    assert found.problems == ()
    assert found.epsilon == stated.epsilon


def test_the_last_run_has_the_final_parameters():
    """Given, or by the run itself; the data set is that of all runs."""
    given = joint_statement(
        [record(), record()], delta=DELTA, parameters=np.zeros(3), dataset="digits"
    )
    assert [run.parameters for run in given.runs] == [None, fingerprint(np.zeros(3))]
    assert [run.dataset for run in given.runs] == ["digits", "digits"]
    assert [run.parameters for run in true().runs] == [None, None]
    read = JointStatement.from_json(given.to_json())
    known = {"parameters": fingerprint(np.zeros(3)), "dataset": "digits"}
    found = check_statement(read, expect=known)
    assert (found.problems, found.coverage.expected) == ((), ("runs.parameters", "runs.dataset"))
    assert not check_statement(read, expect={"parameters": "0" * 64}).holds
    assert not check_statement(true(), expect=known).holds
    other = replace(read, runs=(replace(read.runs[0], parameters="0" * 64), read.runs[1]))
    assert not check_statement(other, expect=known).holds

    class Trained:
        """A run that knows its parameters, as those of PyTorch do."""

        record = staticmethod(record)

        @staticmethod
        def statement(*, parameters="0" * 64, **options):
            return statement(record(), parameters=parameters, **options)

    for last, options, wanted in (
        (Trained(), {}, "0" * 64),
        (Trained(), {"parameters": "1" * 64}, "1" * 64),
        (record(), {}, None),
    ):
        made = joint_statement([Trained(), last], delta=DELTA, **options)
        assert [run.parameters for run in made.runs] == [None, wanted]


def test_files_are_read_back(tmp_path):
    """Whichever statement is in the file; that of one run is as it was before."""
    joint = true().save(tmp_path / "joint.json")
    one = statement(record(), delta=DELTA).save(tmp_path / "one.json")
    assert load_statement(joint) == true()
    assert load_statement(one) == statement(record(), delta=DELTA)
    assert json.loads(one.read_text())["format"] == "hockeystick privacy statement 3"
    with pytest.raises(hs.errors.InvalidParameter, match="format"):
        Statement.load(joint)
    with pytest.raises(hs.errors.InvalidParameter, match="format"):
        JointStatement.load(one)


def test_runs_of_the_first_format_are_read():
    """Runs without the fields that came later, as the first versions wrote them."""
    content = json.loads(true().to_json())
    content["format"] = "hockeystick joint privacy statement 1"
    del content["signature"]
    for number, run in enumerate(content["runs"], start=1):
        run["format"] = f"hockeystick privacy statement {number}"
        for name in (*NEW, *(["probe"] if number == 1 else [])):
            del run[name]
    assert JointStatement.from_json(json.dumps(content)) == true()


def test_the_paragraph_names_each_run():
    """What all give together first; then every run with its settings; then what is assumed."""
    text = true().paragraph()
    assert text.startswith("Training in 2 runs on the same data, taken together, is (ε = ")
    first, second = (
        text.index("Run 1: Batches were drawn by poisson sampling (rate 0.1)"),
        text.index("Run 2: "),
    )
    assert first < second < text.index("cyclic-poisson") < text.index("fixed before the first one")
    assert "3 of 20 planned steps" in text
    assert text.count("Software:") == 1
    assert "secret" not in text
    seeded = joint_statement([record(), record(seeded=True)], delta=DELTA)
    assert "whoever ran run 2;" in seeded.paragraph()


def test_runs_with_a_filter_count_with_its_budget():
    """And a kind that is weaker is that of all."""
    for governing, kind in (
        (hs.filters.Gaussian(mu=0.5), "proven"),
        (hs.filters.ApproximateGaussian(mu=0.5), "asymptotic"),
    ):
        governed = record(filter=describe_filter(governing), taken_steps=2)
        stated = joint_statement([record(), governed], delta=DELTA)
        assert stated.kind == kind
        assert stated.epsilon > max(run.epsilon for run in stated.runs)
        assert check_statement(JointStatement.from_json(stated.to_json())).problems == ()


def governed_run(budget, steps=2):
    """A small run on the budget."""
    options = {"examples": 50, "dimension": 2, "noise_multiplier": 2.0, "max_grad_norm": 1.0}
    run = PrivateRun(FIRST, filter=budget, **options)
    for _ in range(steps):
        run.step(lambda batch: np.ones((batch.size, 2)))
    return run


def budget(**kept):
    """Of epsilon 2, for steps as those of `governed_run`."""
    return hs.filters.Renyi(epsilon=2.0, delta=DELTA, expected=[(0.1, 2.0, 1)], **kept)


def test_runs_that_share_a_budget_count_once(tmp_path):
    """In a process and through a ledger; other budgets of the same size add up, and so do plans."""
    one, other = budget(), budget()
    first, second = budget(ledger=tmp_path / "b.db"), budget(ledger=tmp_path / "b.db")
    joined = hs.filters.join(ledger=tmp_path / "b.db", name="default")
    elsewhere = budget(ledger=tmp_path / "c.db")
    claim = one.guarantee().epsilon(DELTA)
    for governing in ([one, one], [first, second, joined]):
        stated = joint_statement([governed_run(one) for one in governing], delta=DELTA)
        assert stated.epsilon == claim <= 2.0
        assert "spent one budget, and epsilon is that of the budget" in stated.paragraph()
        assert "fixed before the first one" not in stated.paragraph()
        back = JointStatement.from_json(stated.to_json())
        assert check_statement(back).problems == ()
    both = [one.guarantee().compose(other.guarantee()), claim]
    for governing in ([one, other], [first, elsewhere], [first, one]):
        stated = joint_statement([governed_run(one) for one in governing], delta=DELTA)
        assert stated.epsilon == both[0].epsilon(DELTA) > claim
        assert "one budget" not in stated.paragraph()
    planned = hs.account(FIRST, noise_multiplier=1.5)
    runs = [governed_run(first), record(), governed_run(joined)]
    stated = joint_statement(runs, delta=DELTA)
    assert stated.epsilon == one.guarantee().compose(planned).epsilon(DELTA)
    assert "counts once. Epsilon is that of the composition" in stated.paragraph()


def test_a_budget_has_to_be_the_same_to_count_once():
    """Another description beside the same number counts again; what is no number is refused."""
    run = governed_run(budget())
    other = replace(run.record(), filter={**run.record().filter, "epsilon": 1.9})
    stated = joint_statement([run.record(), other], delta=DELTA)
    assert stated.epsilon > 2.0
    content = json.loads(stated.to_json())
    content["runs"][0]["filter"]["budget_id"] = "mine"
    with pytest.raises(hs.errors.InvalidParameter, match="budget_id must be 32 hexadecimal"):
        JointStatement.from_json(json.dumps(content))


def test_a_loop_without_a_permitted_step_says_so():
    """A budget that others have spent: the helper ends with no step, and not silently."""
    spent = hs.filters.Gaussian(mu=1.0)
    spent.request(noise_multiplier=1.0).commit()
    plan = hs.Plan(sampling=hs.FullBatch(), steps=3)
    options = {"plan": plan, "noise_multiplier": 1.0, "max_grad_norm": 1.0, "learning_rate": 1.0}
    with pytest.warns(UserWarning, match="permits no step, and the run ends with 0 steps"):
        fit = hs.training.fit_linear(np.ones((5, 2)), np.ones(5), filter=spent, **options)
    assert fit.run.taken_steps == 0


def changed(number, **change):
    """The true statement with a change in one of its runs."""
    runs = list(true().runs)
    runs[number] = replace(runs[number], **change)
    return replace(true(), runs=tuple(runs))


@pytest.mark.parametrize(
    ("false", "problem"),
    [
        (lambda: replace(true(), epsilon=true().epsilon * (1 - 1e-5)), "below the recomputed"),
        (lambda: replace(true(), epsilon=true().runs[0].epsilon), "below the recomputed"),
        (lambda: replace(true(), delta=1e-9), "below the recomputed"),
        (lambda: replace(true(), delta=1e-2), "run 1: its delta 1e-05 must be 0.01"),
        (lambda: replace(true(), adjacency="replace-one"), "adjacency"),
        (lambda: replace(true(), unit="user"), "unit"),
        (lambda: replace(true(), method="gaussian"), "method"),
        (lambda: replace(true(), runs=(*true().runs, true().runs[0])), "below the recomputed"),
        (lambda: changed(0, epsilon=0.1), "run 1: epsilon"),
        (lambda: changed(1, noise_multiplier=1.4), "run 2: epsilon"),
        (lambda: changed(0, planned_steps=40), "run 1: epsilon"),
        (lambda: changed(0, scheme={"scheme": "poisson", "rate": 0.2}), "run 1: epsilon"),
        (lambda: changed(1, taken_steps=21), "taken_steps"),
        (lambda: changed(1, planned_steps=8, taken_steps=8), "run 2: the digest"),
        (lambda: changed(0, priced_for="the taken steps"), "run 1: priced_for"),
        (lambda: changed(0, scheme={"scheme": "lottery"}), "nothing can be computed"),
        (lambda: changed(0, delta=1e-2), "run 1: its delta"),
    ],
)
def test_changed_facts_are_found(false, problem):
    """Whatever is changed so that more is claimed for less is named, with the run it is in."""
    found = check_statement(JointStatement.from_json(false().to_json()))
    assert not found.holds
    assert problem in " ".join(found.problems)


def test_a_run_that_is_left_out_is_another_claim():
    """A joint statement is about two runs or more; one alone has a statement of its own."""
    content = json.loads(true().to_json())
    content["runs"] = content["runs"][:1]
    with pytest.raises(hs.errors.InvalidParameter, match="two statements or more"):
        JointStatement.from_json(json.dumps(content))


def test_a_weaker_kind_cannot_be_called_proven():
    """The kind of a composition is the weakest of its parts."""
    governed = record(filter=describe_filter(hs.filters.ApproximateGaussian(mu=0.5)))
    stated = joint_statement([record(), governed], delta=DELTA)
    found = check_statement(replace(stated, kind="proven"))
    assert any("stronger" in problem for problem in found.problems)


@in_one_test
@pytest.mark.parametrize(
    "change",
    [
        {"format": "hockeystick joint privacy statement 9"},
        {"runs": None},
        {"runs": []},
        {"runs": [1, 2]},
        {"extra": 1},
        {"epsilon": -1.0},
        {"epsilon": True},
        {"delta": 0.0},
        {"kind": "certain"},
    ],
    ids=str,
)
def test_what_is_no_joint_statement_is_refused(change):
    """Missing, additional and wrong fields, before anything is computed."""
    content = {**json.loads(true().to_json()), **change}
    with pytest.raises(hs.errors.InvalidParameter):
        JointStatement.from_json(json.dumps(content))


def users():
    """A run that protects users."""
    sampling = hs.UserMinSep(rate=0.1, separation=2, examples_per_user=2)
    return record(hs.Plan(sampling=sampling, steps=6))


@pytest.mark.parametrize(
    "records",
    [list, lambda: [record()], lambda: [record(), FIRST], lambda: [record(), users()]],
    ids=["none", "one", "a plan", "users"],
)
def test_what_cannot_be_stated_together_is_refused(records):
    """Fewer than two records, something else, and different units."""
    with pytest.raises(hs.errors.InvalidParameter, match=r"records|unit"):
        joint_statement(records(), delta=DELTA)
