"""A refused restore leaves model, optimizer, noise and batches as they were."""

from __future__ import annotations

import copy
import pickle

import pytest
import torch

from hockeystick.errors import PlanMismatch

CHANGES = {
    "model without a name": lambda state: state["model"].clear(),
    "model of another shape": lambda state: state["model"].update(
        {name: torch.ones(2, 2) for name in state["model"]}
    ),
    "model with NaN for text": lambda state: state["model"].update(
        dict.fromkeys(state["model"], "x")
    ),
    "no groups": lambda state: state["optimizer"].pop("param_groups"),
    "no learning rate": lambda state: state["optimizer"]["param_groups"][0].pop("lr"),
    "no optimizer": lambda state: state.update(optimizer=None),
    "no model": lambda state: state.update(model=None),
}


@pytest.mark.slow
@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_nothing_is_half_restored(runs, change):
    """The run goes on with its own batches and noise."""
    source = runs.private(runs.banded())
    runs.train(source, until=2)
    state = copy.deepcopy(source.state_dict())
    change(state)
    run = runs.private(runs.banded(), rng=4, model=runs.linear_model(7))
    other = runs.private(runs.banded(), rng=4, model=runs.linear_model(7))
    with pytest.raises(PlanMismatch) as caught:
        run.load_state_dict(state)
    assert "\n" not in str(caught.value)
    mine, theirs = runs.train(run), runs.train(other)
    assert mine[0] == theirs[0]
    assert all(torch.equal(a, b) for a, b in zip(mine[1], theirs[1], strict=True))


@pytest.mark.parametrize("state", [None, [], 3, {}])
def test_other_things_than_states(runs, state):
    """One sentence."""
    run = runs.private(runs.banded())
    for made in (run, run.optimizer):
        with pytest.raises(PlanMismatch):
            made.load_state_dict(state)


def test_a_run_is_not_copied(runs):
    """Nor its optimizer, which holds the noise; other runs are not touched by the attempt."""
    run = runs.private(runs.banded())
    for made in (run, run.optimizer):
        for duplicate in (copy.copy, copy.deepcopy, pickle.dumps):
            with pytest.raises(PlanMismatch, match="cannot be copied or pickled"):
                duplicate(made)
    runs.train(run)
    assert run.finished


@pytest.mark.parametrize("name", ["noise_multiplier", "max_grad_norm", "plan", "taken_steps", "x"])
def test_nothing_is_assigned(runs, name):
    """A setting of a run is what was accounted."""
    refused = "^A private run has no setting x" if name == "x" else f"^{name} cannot change"
    with pytest.raises(PlanMismatch, match=refused):
        setattr(runs.private(runs.banded()), name, 3)
