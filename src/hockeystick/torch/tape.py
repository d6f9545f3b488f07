"""How the losses of a batch came about, so that they can be computed again for some examples.

While a batch is recorded the model's outputs are `Traced` tensors: ordinary tensors that remember
which operations were applied to them. Calls of the model, these operations and the criterion are
then repeated on the rows of a few examples.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, MutableMapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch.autograd.function import BackwardCFunction
from torch.utils._pytree import tree_flatten, tree_leaves, tree_map, tree_unflatten

from hockeystick.errors import PlanMismatch
from hockeystick.torch.reloading import Reloaded
from hockeystick.torch.rowwise import RandomStates

__all__ = ["Replay", "Tape", "plain"]


@dataclass(frozen=True, eq=False)
class Output:
    """A tensor of what a call of the model returned, by its place; all of it if that is None."""

    call: int
    place: int | str | None


@dataclass(frozen=True, eq=False)
class Applied:
    """The result of an operation on recorded values, or an element of its result."""

    operation: Callable[..., Any]
    arguments: Any
    options: Any
    element: int | None = None


class Traced(torch.Tensor):
    """A tensor that knows from which outputs of the model it was computed."""

    origin: Output | Applied | None
    version: int

    @classmethod
    def __torch_function__(
        cls, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        """Carry out the operation and remember it."""
        kwargs = kwargs or {}
        arguments, options = tree_map(origin, (args, kwargs))
        result = super().__torch_function__(func, types, args, kwargs)
        if func is torch.Tensor.register_hook:
            # What the hook does to gradients is not repeated.
            args[0].origin = None
        if isinstance(result, Traced):
            if not any(result is leaf for leaf in tree_leaves((args, kwargs))):
                _mark(result, Applied(func, arguments, options))
        elif isinstance(result, (tuple, list)):
            for i, part in enumerate(result):
                if isinstance(part, Traced):
                    _mark(part, Applied(func, arguments, options, i))
        return result

    def __deepcopy__(self, memo: Any) -> torch.Tensor:
        """An ordinary tensor without a graph, as for metrics."""
        with torch._C.DisableTorchFunctionSubclass():
            return self.detach().as_subclass(torch.Tensor).clone()


def origin(value: Any) -> Any:
    """What a recorded value is computed from; other tensors without their graph."""
    if isinstance(value, Traced):
        known = getattr(value, "origin", None)
        with torch._C.DisableTorchFunctionSubclass():
            # After a change in place the tensor is not what its origin says any more; of a custom
            # function only what its forward pass does was recorded.
            custom = isinstance(value.grad_fn, BackwardCFunction) and not isinstance(known, Output)
            changed = known is None or value._version != value.version
        return _cannot_repeat() if changed or custom else known
    if isinstance(value, torch.Tensor):
        return _cannot_repeat() if value.requires_grad else value.detach()
    return value


def _mark(value: Traced, origin: Output | Applied) -> Traced:
    value.origin = origin
    with torch._C.DisableTorchFunctionSubclass():
        value.version = value._version
    return value


def plain(value: Any) -> Any:
    """The same values as ordinary tensors."""
    return tree_map(lambda v: v.as_subclass(torch.Tensor) if isinstance(v, Traced) else v, value)


class Tape:
    """The calls of the model for one batch of `size` examples."""

    def __init__(self, size: int, forward: Callable[..., Any]) -> None:
        self.size, self.forward = size, forward
        self.calls: list[tuple[Any, Any]] = []
        self.given: list[Any] = []
        self.device = "cpu"
        self.in_reduced_precision = False
        self.random_states: RandomStates | None = None
        self._objects: list[tuple[Any, int]] = []

    def begin_call(self) -> None:
        """A call begins; the first one finds the random numbers of the batch."""
        if self.random_states is None:
            self.random_states = RandomStates()

    def record(self, arguments: Any, options: Any, output: Any) -> Any:
        """Remember the call; returns the output with tensors that are traced."""
        assert self.random_states is not None
        number = len(self.calls)
        self.calls.append(tree_map(origin, (arguments, options)))
        leaves, structure = tree_flatten(output)
        if len(leaves) == 1 and leaves[0] is output and not isinstance(output, torch.Tensor):
            return self._traced_object(number, output)
        traced = [self._traced(leaf, Output(number, i)) for i, leaf in enumerate(leaves)]
        return tree_unflatten(traced, structure)

    def _traced(self, value: Any, place: Output) -> Any:
        if not isinstance(value, torch.Tensor):
            return value
        self.device = value.device.type
        self.in_reduced_precision |= torch.is_autocast_enabled(self.device)
        # A copy: PyTorch forbids changes in place of another view of an output.
        return _mark(value.clone().as_subclass(Traced), place)

    def _traced_object(self, number: int, output: Any) -> Any:
        """A copy of an object of an unknown class, with its tensors traced by their names."""
        copied = copy.copy(output)
        for name, value in list(vars(copied).items()) if hasattr(copied, "__dict__") else []:
            object.__setattr__(copied, name, self._traced(value, Output(number, name)))
        if isinstance(copied, MutableMapping):
            for name, value in list(copied.items()):
                copied[name] = self._traced(value, Output(number, name))
        self._objects.append((copied, number))
        return copied

    def origins(self, values: Any) -> Any:
        """From what the criterion's arguments are computed."""
        found = tree_map(self._origin, values)
        self.given.append(found)
        return found

    def _origin(self, value: Any) -> Any:
        for known, number in self._objects:
            if value is known:
                return Output(number, None)
        return origin(value)

    def close(self) -> None:
        """Nothing more is recorded; the graph of the batch is let go."""
        self._objects = []


class Replay:
    """The recorded values again, for the rows of some examples of the batch."""

    def __init__(
        self,
        tape: Tape,
        rows: Sequence[int],
        reloaded: Reloaded | None,
        dtype: torch.dtype | None = None,
    ) -> None:
        self._tape, self._rows, self._reloaded = tape, list(rows), reloaded
        self._dtype = dtype
        self.size = len(rows)
        self._outputs: dict[int, Any] = {}
        self._known: dict[int, Any] = {}

    def __call__(self, values: Any) -> Any:
        """Arguments with rows of these examples only, and what was computed computed again."""
        return tree_map(self._value, values)

    def _value(self, value: Any) -> Any:
        if isinstance(value, (Output, Applied)):
            if id(value) not in self._known:
                self._known[id(value)] = self._again(value)
            return self._known[id(value)]
        if not isinstance(value, torch.Tensor):
            return value
        if value.ndim and len(value) == self._tape.size:
            again = None if self._reloaded is None else self._reloaded.part(value, self._rows)
            value = value[self._rows] if again is None else again
        return value.to(self._dtype) if self._dtype and value.is_floating_point() else value

    def _again(self, value: Output | Applied) -> Any:
        if isinstance(value, Applied):
            result = value.operation(*self(value.arguments), **self(value.options))
            return result if value.element is None else result[value.element]
        if value.call not in self._outputs:
            arguments, options = self._tape.calls[value.call]
            self._outputs[value.call] = self._tape.forward(*self(arguments), **self(options))
        output = self._outputs[value.call]
        if value.place is None:
            return output
        if isinstance(value.place, int):
            return tree_leaves(output)[value.place]
        by_name = vars(output) if value.place in getattr(output, "__dict__", {}) else output
        return by_name[value.place]


def _cannot_repeat() -> Any:
    raise PlanMismatch(
        "The criterion was given a tensor that was not computed from the output of the run's model "
        "by operations that can be repeated (changes in place and hooks cannot); give it the "
        "output itself, and put what lies between into the criterion."
    )
