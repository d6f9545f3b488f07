"""Recording of the forward pass of a batch, so that its losses can be computed again.

While a batch is recorded the model's outputs are `RecordedTensor`s: ordinary tensors that remember
which operations were applied to them. Calls of the model, these operations and the criterion are
then replayed on the rows of a few examples.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, MutableMapping
from dataclasses import dataclass
from typing import Any

import torch
from torch.autograd.function import BackwardCFunction
from torch.utils._pytree import tree_flatten, tree_leaves, tree_map, tree_unflatten

from hockeystick.errors import PlanMismatch
from hockeystick.torch.example_randomness import RandomStates

__all__ = ["AppliedOperation", "ModelOutput", "Recording", "plain"]


@dataclass(frozen=True, eq=False)
class ModelOutput:
    """A tensor that a call of the model returned, by its place; all of it if that is None."""

    call: int
    place: int | str | None


@dataclass(frozen=True, eq=False)
class AppliedOperation:
    """The result of an operation on recorded values, or an element of its result."""

    operation: Callable[..., Any]
    arguments: Any
    options: Any
    element: int | None = None


class RecordedTensor(torch.Tensor):
    """A tensor that remembers from which outputs of the model it was computed."""

    origin: ModelOutput | AppliedOperation | None
    version: int

    @classmethod
    def __torch_function__(
        cls, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        """Carry out the operation and record it."""
        kwargs = kwargs or {}
        arguments, options = tree_map(origin, (args, kwargs))
        result = super().__torch_function__(func, types, args, kwargs)
        if func is torch.Tensor.register_hook:
            # What the hook does to gradients is not replayed.
            args[0].origin = None
        if isinstance(result, RecordedTensor):
            if not any(result is leaf for leaf in tree_leaves((args, kwargs))):
                _mark(result, AppliedOperation(func, arguments, options))
        elif isinstance(result, (tuple, list)):
            for i, part in enumerate(result):
                if isinstance(part, RecordedTensor):
                    _mark(part, AppliedOperation(func, arguments, options, i))
        return result

    def __deepcopy__(self, memo: Any) -> torch.Tensor:
        """An ordinary tensor without a graph, as for metrics."""
        with torch._C.DisableTorchFunctionSubclass():
            return self.detach().as_subclass(torch.Tensor).clone()


def origin(value: Any) -> Any:
    """What a recorded value is computed from; other tensors without their graph."""
    if isinstance(value, RecordedTensor):
        known = getattr(value, "origin", None)
        with torch._C.DisableTorchFunctionSubclass():
            # After a change in place the tensor is not what its origin says any more; of a custom
            # function only what its forward pass does was recorded.
            custom = isinstance(value.grad_fn, BackwardCFunction) and not isinstance(
                known, ModelOutput
            )
            changed = known is None or value._version != value.version
        return _cannot_repeat() if changed or custom else known
    if isinstance(value, torch.Tensor):
        return _cannot_repeat() if value.requires_grad else value.detach()
    return value


def _mark(value: RecordedTensor, origin: ModelOutput | AppliedOperation) -> RecordedTensor:
    value.origin = origin
    with torch._C.DisableTorchFunctionSubclass():
        value.version = value._version
    return value


def plain(value: Any) -> Any:
    """The same values as ordinary tensors."""
    parts = value.values() if isinstance(value, dict) else value
    if isinstance(value, (tuple, dict)) and all(type(part) is torch.Tensor for part in parts):
        # In most steps; a map over nested values leaves cycles for the garbage collector.
        return value
    return tree_map(
        lambda v: v.as_subclass(torch.Tensor) if isinstance(v, RecordedTensor) else v, value
    )


class Recording:
    """The calls of the model for one batch of `size` examples.

    `forward` computes a call again: from a number of examples, arguments and options.
    """

    def __init__(self, size: int, forward: Callable[[int, Any, Any], Any]) -> None:
        self.size, self.forward = size, forward
        self.calls: list[tuple[Any, Any]] = []
        self.criterion_inputs: list[Any] = []
        self.device = "cpu"
        self.in_reduced_precision = False
        self.random_states: RandomStates | None = None
        self._objects: list[tuple[Any, int]] = []

    def begin_call(self) -> None:
        """A call begins; the first one stores the random states of the batch."""
        if self.random_states is None:
            self.random_states = RandomStates()

    def record(self, arguments: Any, options: Any, output: Any) -> Any:
        """Record the call; returns the output with recorded tensors."""
        assert self.random_states is not None
        number = len(self.calls)
        self.calls.append(tree_map(origin, (arguments, options)))
        leaves, structure = tree_flatten(output)
        if len(leaves) == 1 and leaves[0] is output and not isinstance(output, torch.Tensor):
            return self._recorded_object(number, output)
        recorded = [self._recorded(leaf, ModelOutput(number, i)) for i, leaf in enumerate(leaves)]
        return tree_unflatten(recorded, structure)

    def _recorded(self, value: Any, place: ModelOutput) -> Any:
        if not isinstance(value, torch.Tensor):
            return value
        self.device = value.device.type
        self.in_reduced_precision |= torch.is_autocast_enabled(self.device)
        # A copy: PyTorch forbids changes in place of another view of an output.
        return _mark(value.clone().as_subclass(RecordedTensor), place)

    def _recorded_object(self, number: int, output: Any) -> Any:
        """A copy of an object of an unknown class, with its tensors recorded by their names."""
        copied = copy.copy(output)
        for name, value in list(vars(copied).items()) if hasattr(copied, "__dict__") else []:
            object.__setattr__(copied, name, self._recorded(value, ModelOutput(number, name)))
        if isinstance(copied, MutableMapping):
            for name, value in list(copied.items()):
                copied[name] = self._recorded(value, ModelOutput(number, name))
        self._objects.append((copied, number))
        return copied

    def origins(self, values: Any) -> Any:
        """The origins of the criterion's arguments."""
        found = tree_map(self._origin, values)
        self.criterion_inputs.append(found)
        return found

    def _origin(self, value: Any) -> Any:
        for known, number in self._objects:
            if value is known:
                return ModelOutput(number, None)
        return origin(value)

    def close(self) -> None:
        """Nothing more is recorded; the autograd graph of the batch is released."""
        self._objects = []


def _cannot_repeat() -> Any:
    raise PlanMismatch(
        "The criterion was given a tensor that was not computed from the output of run.model (the "
        "one to call in the loop, not the model that was given to make_private) "
        "by operations that can be repeated (changes in place and hooks cannot); give it the "
        "output itself, and put what lies between into the criterion."
    )
