"""States of models and optimizers are loaded whole, or not at all."""

from __future__ import annotations

import copy

import pytest
import torch

from hockeystick.errors import PlanMismatch
from hockeystick.torch.original_state import check_model_state, load_optimizer_state
from in_one_test import in_one_test


def model():
    """Two layers and a buffer."""
    torch.manual_seed(2)
    made = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Linear(4, 2))
    made.register_buffer("count", torch.tensor(3))
    return made


def trained(kind=torch.optim.Adam):
    """An optimizer with a state."""
    made = model()
    optimizer = kind(made.parameters(), lr=0.1)
    made(torch.ones(5, 3)).sum().backward()
    optimizer.step()
    return optimizer


MODELS = {
    "nothing": None,
    "a list": [1],
    "no names": {},
    "a name less": lambda state: state.pop("0.weight"),
    "a name more": lambda state: state.update(more=torch.ones(2)),
    "another shape": lambda state: state.update({"1.weight": torch.ones(2, 5)}),
    "no tensor": lambda state: state.update({"1.weight": [[1.0] * 4] * 2}),
    "integers": lambda state: state.update({"1.bias": torch.ones(2, dtype=torch.long)}),
    "without data": lambda state: state.update({"1.bias": torch.ones(2, device="meta")}),
    "sparse": lambda state: state.update({"1.weight": torch.ones(2, 4).to_sparse()}),
}


@in_one_test
@pytest.mark.parametrize("change", MODELS.values(), ids=MODELS)
def test_a_state_of_another_model(change):
    """One sentence, before anything is copied."""
    state = dict(model().state_dict())
    if callable(change):
        change(state)
    else:
        state = change
    with pytest.raises(PlanMismatch, match=r"^The state of the model .*\.$"):
        check_model_state(model(), state)
    check_model_state(model(), model().state_dict())


OPTIMIZERS = {
    "nothing": lambda state: None,
    "a list": lambda state: [1],
    "no groups": lambda state: {"state": state["state"]},
    "no state": lambda state: {"param_groups": state["param_groups"]},
    "two groups": lambda state: {**state, "param_groups": state["param_groups"] * 2},
    "groups as text": lambda state: {**state, "param_groups": ["a"]},
    "no learning rate": lambda state: (state["param_groups"][0].pop("lr"), state)[1],
    "learning rate as text": lambda state: (state["param_groups"][0].update(lr="x"), state)[1],
    "fewer parameters": lambda state: (state["param_groups"][0].update(params=[0]), state)[1],
    "state as a list": lambda state: {**state, "state": [1]},
    "one state as a number": lambda state: {**state, "state": {**state["state"], 0: 5}},
}


@in_one_test
@pytest.mark.parametrize("change", OPTIMIZERS.values(), ids=OPTIMIZERS)
@pytest.mark.parametrize("kind", [torch.optim.Adam, torch.optim.SGD])
def test_a_state_of_another_optimizer(change, kind):
    """One sentence, and the optimizer is as it was."""
    optimizer = trained(kind)
    before = copy.deepcopy(optimizer.state_dict())
    with pytest.raises(PlanMismatch, match=r"^The state of the optimizer .*\.$"):
        load_optimizer_state(optimizer, change(copy.deepcopy(before)))
    after = optimizer.state_dict()
    assert after["param_groups"] == before["param_groups"]
    assert repr(after["state"]) == repr(before["state"])


def test_its_own_state_is_loaded():
    """As PyTorch does."""
    source, target = trained(), torch.optim.Adam(model().parameters(), lr=0.5)
    load_optimizer_state(target, source.state_dict())
    assert target.param_groups[0]["lr"] == 0.1
    assert repr(target.state_dict()["state"]) == repr(source.state_dict()["state"])
