"""What the statement of a PyTorch run says about its data, its course and its parameters."""

from __future__ import annotations

import copy

import pytest
import torch

import hockeystick as hs
from hockeystick.errors import InvalidParameter, PlanMismatch
from hockeystick.torch import fingerprint
from hockeystick.training import check_statement, joint_statement
from hockeystick.training import fingerprint as fingerprint_of_numbers


def test_the_parameters_are_those_of_the_model(runs):
    """Its fingerprint changes with every step, and is that of a model with the same state."""
    run = runs.private(runs.independent())
    before = run.statement(delta=1e-5).parameters
    runs.train(run, until=3)
    made = run.statement(delta=1e-5)
    assert before != made.parameters == fingerprint(run.model._module)
    assert fingerprint(run.model) == made.parameters
    both = joint_statement([run, run], delta=1e-5)
    assert [one.parameters for one in both.runs] == [None, made.parameters]
    with pytest.raises(InvalidParameter, match=r"hs\.torch\.fingerprint"):
        fingerprint_of_numbers(run.model)
    other = runs.linear_model(9)
    assert fingerprint(other) != made.parameters
    other.load_state_dict(run.model._module.state_dict())
    assert fingerprint(other) == made.parameters
    assert made.examples == runs.EXAMPLES
    assert made.taken_schedule == [[3, runs.NOISE, runs.CLIP]]
    assert check_statement(made, expect={"parameters": fingerprint(other)}).holds


@pytest.mark.parametrize("change", ["a number", "a type", "a shape", "a buffer"])
def test_the_fingerprint_of_a_model(change):
    """One bit, another type, another shape, and buffers count."""
    model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.BatchNorm1d(2))
    other = copy.deepcopy(model)
    assert fingerprint(model) == fingerprint(other)
    with torch.no_grad():
        if change == "a number":
            other[0].weight[0, 0] = torch.nextafter(other[0].weight[0, 0], torch.tensor(9.0))
        elif change == "a type":
            other.to(torch.bfloat16)
        elif change == "a shape":
            other[0].weight = torch.nn.Parameter(other[0].weight.reshape(4, 1))
        else:
            other[1].num_batches_tracked += 1
    assert fingerprint(model) != fingerprint(other)
    with pytest.raises(InvalidParameter, match="model"):
        fingerprint(model.state_dict())


def test_a_continued_run_is_the_same_run(runs):
    """Its number and its schedule are in the saved state; another run has another number."""
    run, other = runs.private(runs.independent()), runs.private(runs.independent())
    runs.train(run, until=4)
    assert run.record().run_id != other.record().run_id
    state = run.state_dict()
    other.load_state_dict(state)
    runs.train(other, until=6)
    assert other.record().run_id == run.record().run_id
    assert other.record().taken_schedule == [[6, runs.NOISE, runs.CLIP]]
    third = runs.private(runs.independent())
    state["optimizer"]["hockeystick"]["run"]["schedule"] = f"[[3, {runs.NOISE}, {runs.CLIP}]]"
    with pytest.raises(PlanMismatch, match="schedule"):
        third.load_state_dict(state)


def test_individual_budgets_in_a_ledger(runs, tmp_path):
    """Every step of the run is in the ledger when it is taken."""

    def budgets():
        """Those of the data set."""
        return hs.filters.Individual.gaussian(
            examples=runs.EXAMPLES, mu=3.0, ledger=tmp_path / "people.db", name="people"
        )

    run = runs.private(
        runs.independent(), filter=budgets(), loss=lambda model, batch: model(batch[0]).sum(dim=1)
    )
    runs.train(run, until=2)
    assert budgets().steps == 2
    assert (budgets().remaining < budgets().budget).all()
