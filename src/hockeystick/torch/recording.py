"""Recording of the forward pass of a batch, so that its losses can be computed again.

While a batch is recorded the model's outputs are `RecordedTensor`s: ordinary tensors that remember
which operations were applied to them. Calls of the model, these operations and the criterion are
then replayed on the rows of a few examples. The model is not called for an empty batch; something
else stands for its output. Losses of tensors outside the model are refused: they would get
gradients without noise.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, MutableMapping
from dataclasses import dataclass
from typing import Any, Self

import torch
from torch.autograd.function import BackwardCFunction
from torch.utils._pytree import tree_flatten, tree_leaves, tree_map, tree_unflatten

from hockeystick.errors import PlanMismatch
from hockeystick.torch.example_randomness import RandomStates
from hockeystick.torch.model_state import tensors_of
from hockeystick.torch.sharded_layout import is_sharded

__all__ = [
    "AppliedOperation",
    "EmptyOutput",
    "ModelOutput",
    "Recording",
    "nothing_like",
    "plain",
    "refuse_other_leaves",
]


class EmptyOutput:
    """Whatever is computed from it is nothing again, so that the loop goes on as for other batches.

    Attributes, elements, methods, arithmetic, comparisons and PyTorch's functions give the same
    object. As a number it is 0, it has no elements, and it is false.
    """

    def item(self) -> float:
        """Nothing: 0."""
        return 0.0

    def tolist(self) -> list[Any]:
        """No numbers."""
        return []

    def __getattr__(self, name: str) -> Self:
        if name.startswith("__"):
            raise AttributeError(name)
        return self

    def __getitem__(self, _: Any) -> Self:
        return self

    def __call__(self, *_: Any, **__: Any) -> Self:
        """A method gives the same object."""
        return self

    @classmethod
    def __torch_function__(cls, *_: Any, **__: Any) -> Self:
        """Carry out nothing."""
        return cls()

    def __iter__(self) -> Iterator[Any]:
        return iter(())

    def __len__(self) -> int:
        return 0

    def __bool__(self) -> bool:
        return False

    def __float__(self) -> float:
        return 0.0

    def __int__(self) -> int:
        return 0

    def __format__(self, form: str) -> str:
        return format(0.0, form)

    def __eq__(self, _: object) -> Self:  # type: ignore[override]
        return self

    def __ne__(self, _: object) -> Self:  # type: ignore[override]
        return self

    __hash__ = object.__hash__

    def _same(self, *_: Any) -> Self:
        return self

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = _same
    __truediv__ = __rtruediv__ = __pow__ = __matmul__ = __rmatmul__ = _same
    __neg__ = __abs__ = __lt__ = __le__ = __gt__ = __ge__ = _same


def nothing_like(output: Any) -> Any:
    """The same tuple, list or dictionary without anything in it: a loop may unpack it."""
    if isinstance(output, dict) and type(output) is dict:
        return {name: nothing_like(part) for name, part in output.items()}
    if type(output) in (tuple, list):
        return type(output)(nothing_like(part) for part in output)
    return EmptyOutput()


def refuse_other_leaves(losses: torch.Tensor, model: torch.nn.Module) -> None:
    """`PlanMismatch` if the losses depend on a leaf that is not a parameter of the model.

    Its gradient would neither be clipped nor have noise, and the probe sees that only in the steps
    in which it runs. Goes once over the graph: about a microsecond for each operation. Leaves of
    sharded models are parameters that were gathered for the pass; they are not told apart.
    """
    parameters = tensors_of(model, "_parameters")
    own = set(map(id, parameters))
    seen: set[Any] = set()
    waiting = [losses.grad_fn]
    while waiting:
        node = waiting.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        following = node.next_functions
        if following:
            waiting += [one for one, _ in following]
            continue
        # Of nodes that add a gradient to a leaf, where the graph ends.
        leaf = getattr(node, "variable", None)
        if leaf is not None and id(leaf) not in own and not any(map(is_sharded, parameters)):
            raise PlanMismatch(
                f"The losses depend on a tensor of shape {tuple(leaf.shape)} that requires a "
                "gradient and is not a parameter of the model: its gradient would be neither "
                "clipped nor noisy; make it a parameter of the model, or detach() it."
            )


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
