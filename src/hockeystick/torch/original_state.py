"""The optimizer that the user gave: what it trains, who may step it; states that are loaded.

State dictionaries hold arrays as tensors, because `torch.load(weights_only=True)` reads numbers,
text and tensors, but no NumPy arrays; they are loaded as a whole or refused in one sentence.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from numbers import Number
from typing import Any

import numpy as np
import torch

from hockeystick._states import MALFORMED
from hockeystick.errors import InvalidParameter, PlanMismatch
from hockeystick.torch.progress import Progress

__all__ = [
    "GroupSettings",
    "StepGuard",
    "as_arrays",
    "as_tensors",
    "check_model_state",
    "load_optimizer_state",
    "trained_parameters",
]


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


class GroupSettings:
    """Refuses changes of the loop within a pass, if batches come in physical parts.

    How many parts a batch has depends on who is in the data. A learning rate that follows the
    iterations of the loop would tell, and no noise covers that. Between passes, and by hooks after
    each update, settings follow the steps of the plan.

    Parameters
    ----------
    optimizer
        The one whose settings are compared.
    progress
        Which pass it is.
    in_parts
        Whether batches come in physical parts; otherwise the loop has an iteration for each step,
        and nothing is refused.
    """

    def __init__(
        self, optimizer: torch.optim.Optimizer, progress: Progress, *, in_parts: bool
    ) -> None:
        self._optimizer, self._progress, self._in_parts = optimizer, progress, in_parts
        self._seen: tuple[int, list[dict[str, Any]]] | None = None

    def check(self) -> None:
        """Before a physical batch is added: `PlanMismatch` if something changed in this pass."""
        if not self._in_parts:
            return
        iteration, now = self._progress.iteration, self._now()
        if self._seen is not None and self._seen[0] == iteration and self._seen[1] != now:
            raise PlanMismatch(
                "The loop has changed the optimizer's settings within a pass, and with "
                "physical_batch_size the number of its iterations depends on who is in the data; "
                "change them between passes, or after each step of the plan: "
                "run.optimizer.register_step_post_hook(lambda *_: scheduler.step()) "
                "(`hockeystick docs training`)."
            )
        self._seen = iteration, now

    def updated(self) -> None:
        """After an update and its hooks, whose changes are the plan's."""
        if self._in_parts:
            self._seen = self._progress.iteration, self._now()

    def _now(self) -> list[dict[str, Any]]:
        return [
            {
                name: float(value) if isinstance(value, torch.Tensor) else value
                for name, value in group.items()
                if name != "params"
            }
            for group in self._optimizer.param_groups
        ]


class StepGuard:
    """Refuses steps of the original optimizer that the run does not make.

    It does not refer to the run, so that a run that nobody holds any more is known to be gone.
    """

    def __init__(self, original: torch.optim.Optimizer) -> None:
        self._open = False
        self._handle = original.register_step_pre_hook(self._refuse)

    @contextmanager
    def open(self) -> Iterator[None]:
        """Inside, a step is the run's own."""
        self._open = True
        try:
            yield
        finally:
            self._open = False

    def remove(self) -> None:
        """The optimizer is an ordinary one again."""
        self._handle.remove()

    def _refuse(self, *_: Any) -> None:
        if not self._open:
            raise PlanMismatch(
                "The optimizer that was given to make_private belongs to the run now; its own "
                "step() would use gradients without noise."
            )


def trained_parameters(optimizer: torch.optim.Optimizer) -> list[torch.Tensor]:
    """All parameters of the optimizer that require gradients, in its order."""
    found = [p for group in optimizer.param_groups for p in group["params"] if p.requires_grad]
    if not found:
        raise InvalidParameter("optimizer", "one with trainable parameters", optimizer)
    return found
