"""State dictionaries: arrays as tensors, loaded as a whole or refused in one sentence.

`torch.load(weights_only=True)` reads numbers, text and tensors, but no NumPy arrays.
"""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Number
from typing import Any

import numpy as np
import torch

from hockeystick._states import MALFORMED
from hockeystick.errors import PlanMismatch

__all__ = ["as_arrays", "as_tensors", "check_model_state", "load_optimizer_state"]


def as_tensors(value: Any) -> Any:
    """Arrays become tensors, at any depth of mappings, lists and tuples."""
    if isinstance(value, np.ndarray):
        return torch.from_numpy(value.copy())
    if isinstance(value, np.generic):
        return value.item()
    return _inside(value, as_tensors)


def as_arrays(value: Any) -> Any:
    """Tensors become arrays again."""
    if isinstance(value, torch.Tensor):
        return value.cpu().numpy().copy()
    return _inside(value, as_arrays)


def _inside(value: Any, change: Any) -> Any:
    if isinstance(value, dict):
        return {name: change(part) for name, part in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(change(part) for part in value)
    return value


def check_model_state(model: torch.nn.Module, state: Any) -> None:
    """`PlanMismatch` unless the state has the model's names, with tensors of the same shapes.

    PyTorch itself copies what fits and complains afterwards, which leaves a model of two halves.
    """
    mine = model.state_dict()
    if not isinstance(state, Mapping) or set(state) != set(mine):
        raise PlanMismatch("The state of the model is of another model: it has other names in it.")
    for name, value in mine.items():
        if isinstance(value, torch.Tensor) and not _alike(value, state[name]):
            raise PlanMismatch(
                f"The state of the model has no tensor of the shape {tuple(value.shape)} as {name}."
            )


def _alike(mine: torch.Tensor, theirs: Any) -> bool:
    return (
        isinstance(theirs, torch.Tensor)
        and theirs.shape == mine.shape
        and theirs.is_floating_point() == mine.is_floating_point()
        and theirs.layout == mine.layout
        and not theirs.is_meta
    )


def load_optimizer_state(optimizer: torch.optim.Optimizer, state: Any) -> None:
    """Load the state; `PlanMismatch`, and the optimizer is as it was, if it is no state of it."""
    before = optimizer.state_dict()
    try:
        for mine, theirs in zip(before["param_groups"], state["param_groups"], strict=True):
            _check_group(mine, theirs)
        if not all(isinstance(one, dict) for one in state["state"].values()):
            raise TypeError("a state for each parameter")
        optimizer.load_state_dict(dict(state))
    except MALFORMED as error:
        optimizer.load_state_dict(before)
        raise PlanMismatch(
            "The state of the optimizer is damaged, or of another kind of optimizer."
        ) from error


def _check_group(mine: Mapping[str, Any], theirs: Mapping[str, Any]) -> None:
    """All options of the group are there, and numbers where numbers are."""
    for name, value in mine.items():
        given = theirs[name]
        if type(value) in (int, float) and not isinstance(given, (Number, torch.Tensor)):
            raise TypeError(f"{name} is a number")
