"""How the losses of a batch came about, so that they can be computed again for some examples.

While a batch is recorded the model's outputs are `Traced` tensors: ordinary tensors that remember
which operations were applied to them. Calls of the model, these operations and the criterion are
then repeated on the rows of a few examples.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch.utils._pytree import tree_flatten, tree_leaves, tree_map, tree_unflatten

from hockeystick.errors import PlanMismatch

__all__ = ["Replay", "Tape", "plain"]


@dataclass(frozen=True, eq=False)
class Output:
    """A tensor of what a call of the model returned; all of it if `leaf` is None."""

    call: int
    leaf: int | None


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

    @classmethod
    def __torch_function__(
        cls, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        """Carry out the operation and remember it."""
        kwargs = kwargs or {}
        arguments, options = tree_map(origin, (args, kwargs))
        result = super().__torch_function__(func, types, args, kwargs)
        if isinstance(result, Traced):
            # After a change in place the tensor is not what its origin says any more.
            changed = any(result is leaf for leaf in tree_leaves((args, kwargs)))
            result.origin = None if changed else Applied(func, arguments, options)
        elif isinstance(result, (tuple, list)):
            for i, part in enumerate(result):
                if isinstance(part, Traced):
                    part.origin = Applied(func, arguments, options, i)
        return result


def origin(value: Any) -> Any:
    """What a recorded value is computed from; other tensors without their graph."""
    if isinstance(value, Traced):
        return getattr(value, "origin", None) or _cannot_repeat()
    return value.detach() if isinstance(value, torch.Tensor) else value


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
        self._objects: list[Any] = []

    def record(self, arguments: Any, options: Any, output: Any) -> Any:
        """Remember the call; returns the output with tensors that are traced."""
        number = len(self.calls)
        self.calls.append(tree_map(origin, (arguments, options)))
        self._objects.append(output)
        leaves, structure = tree_flatten(output)
        for i, leaf in enumerate(leaves):
            if isinstance(leaf, torch.Tensor):
                self.device = leaf.device.type
                self.in_reduced_precision |= torch.is_autocast_enabled(self.device)
                leaves[i] = leaf.as_subclass(Traced)
                leaves[i].origin = Output(number, i)
        return tree_unflatten(leaves, structure)

    def origins(self, values: Any) -> Any:
        """From what the criterion's arguments are computed."""
        found = tree_map(self._origin, values)
        self.given.append(found)
        return found

    def _origin(self, value: Any) -> Any:
        for number, known in enumerate(self._objects):
            if value is known and not isinstance(value, torch.Tensor):
                return Output(number, None)
        if isinstance(value, torch.Tensor) and value.requires_grad:
            return origin(value) if isinstance(value, Traced) else _cannot_repeat()
        return origin(value)

    def close(self) -> None:
        """Nothing more is recorded; the graph of the batch is let go."""
        self._objects = []


class Replay:
    """The recorded values again, for the rows of some examples of the batch."""

    def __init__(self, tape: Tape, rows: Sequence[int]) -> None:
        self._tape, self._rows = tape, torch.tensor(list(rows))
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
        if isinstance(value, torch.Tensor) and value.ndim and len(value) == self._tape.size:
            return value[self._rows.to(value.device)]
        return value

    def _again(self, value: Output | Applied) -> Any:
        if isinstance(value, Applied):
            result = value.operation(*self(value.arguments), **self(value.options))
            return result if value.element is None else result[value.element]
        if value.call not in self._outputs:
            arguments, options = self._tape.calls[value.call]
            self._outputs[value.call] = self._tape.forward(*self(arguments), **self(options))
        output = self._outputs[value.call]
        return output if value.leaf is None else tree_leaves(output)[value.leaf]


def _cannot_repeat() -> Any:
    raise PlanMismatch(
        "The criterion was given a tensor that was not computed from the output of the run's model "
        "by operations that can be repeated (changes in place cannot); give it the output itself, "
        "and put what lies between into the criterion."
    )
