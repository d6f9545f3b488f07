"""The parts of a model, what it keeps between forward passes, and whether something changed it.

Tensors without names and classes of parts are read in every step. PyTorch's own lists nest a
generator for each level of names, which takes ten times as long. Nothing is kept from step to step,
so that a model that changes is seen as it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch.distributed.fsdp import FSDPModule

from hockeystick.errors import PlanMismatch

__all__ = [
    "ChangeDetector",
    "ModelState",
    "in_double_precision",
    "kept_state",
    "layer_type",
    "parts_of",
    "same",
    "tensors_of",
]


def parts_of(model: torch.nn.Module) -> list[torch.nn.Module]:
    """The model and all modules in it; one that is there several times may be so here."""
    found: list[Any] = [model]
    for part in found:  # which grows
        if part._modules:
            found += [one for one in part._modules.values() if one is not None]
    return found


def tensors_of(model: torch.nn.Module, kind: str) -> list[torch.Tensor]:
    """All of its "_parameters" or "_buffers"; shared ones may be there several times."""
    return [
        tensor
        for part in parts_of(model)
        for tensor in part.__dict__[kind].values()
        if tensor is not None
    ]


def layer_type(layer: torch.nn.Module) -> type[Any]:
    """`fully_shard` makes a layer an instance of a new class, derived from the layer's own."""
    bases = type(layer).__bases__
    return bases[1] if bases[0] is FSDPModule else type(layer)


# Attributes that PyTorch and Opacus set themselves.
THEIRS = {*torch.nn.Module().__dict__, "max_batch_len"}
# Attributes of other types, such as lists, are not restored.
PLAIN = (bool, int, float, str, type(None), torch.Tensor)


class ModelState:
    """Buffers and plain attributes of all modules, with their values at construction."""

    def __init__(self, module: torch.nn.Module) -> None:
        self._module = module
        self._buffers = {n: (b, b.detach().clone()) for n, b in module.named_buffers()}
        self._attributes = [(part, _attributes(part)) for part in module.modules()]

    def changed_buffers(self) -> dict[str, torch.Tensor]:
        """The buffers that have changed since, with their present values."""
        return {
            name: buffer.detach().clone()
            for name, buffer in self._module.named_buffers()
            if name not in self._buffers or not same(buffer, self._buffers[name][1])
        }

    def restore(self) -> None:
        """The old tensors with their old values, and the old attributes."""
        with torch.no_grad():
            for name, (buffer, value) in self._buffers.items():
                owner, _, last = name.rpartition(".")
                self._module.get_submodule(owner)._buffers[last] = buffer
                if not same(buffer, value):
                    buffer.copy_(value)
            for part, attributes in self._attributes:
                for name in _attributes(part).keys() - attributes.keys():
                    del part.__dict__[name]
                for name, (held, value) in attributes.items():
                    part.__dict__[name] = held
                    if isinstance(held, torch.Tensor) and not same(held, value):
                        held.copy_(value)


@contextmanager
def kept_state(module: torch.nn.Module) -> Iterator[ModelState]:
    """Restores buffers and attributes afterwards."""
    kept = ModelState(module)
    try:
        yield kept
    finally:
        kept.restore()


def same(one: torch.Tensor, other: torch.Tensor) -> bool:
    """Whether two tensors are equal; NaN equals NaN."""
    if one.shape != other.shape or not one.is_floating_point():
        return torch.equal(one, other)
    return bool(torch.isclose(one, other, rtol=0, atol=0, equal_nan=True).all())


def _attributes(part: torch.nn.Module) -> dict[str, Any]:
    """Plain ones, with a copy of their value; not those of PyTorch and Opacus."""
    return {
        name: (held, held.detach().clone() if isinstance(held, torch.Tensor) else held)
        for name, held in part.__dict__.items()
        if isinstance(held, PLAIN) and name not in THEIRS
    }


class ChangeDetector:
    """Detects changes of parameters and buffers that the run did not make.

    Compares version counters, which every in-place change of a tensor raises. A change through
    `tensor.data` raises none and is not detected.

    `in_place`: the model's parameters are exchanged in its passes, as those of sharded models are;
    changes of the tensors that it has now are detected.
    `unprobed`: no probe will say which buffers may change, so none may.
    """

    def __init__(
        self, model: torch.nn.Module, *, in_place: bool = False, unprobed: bool = False
    ) -> None:
        self._model, self._unprobed = model, unprobed
        named = dict(model.named_parameters())
        self._fixed = list(named.values()) if in_place else None
        # Tensors that are compared are kept alive, so that no other can have their identity.
        self._names = {id(tensor): (name, tensor) for name, tensor in named.items()}
        self._alive: list[torch.Tensor] = []
        self._parameters: dict[int, int] | None = None
        self._buffers: dict[int, int] = {}

    @property
    def begun(self) -> bool:
        """Whether changes are detected."""
        return self._parameters is not None

    def begin(self) -> None:
        """Parameters may not change from here on until the run changes them itself."""
        self._alive = self._now()
        self._parameters = _versions(self._alive)
        if self._unprobed and not self._buffers:
            self.hold_buffers(frozenset())

    def _now(self) -> list[torch.Tensor]:
        return tensors_of(self._model, "_parameters") if self._fixed is None else self._fixed

    def forget(self) -> None:
        """A state was restored: begin again at the next batch."""
        self._parameters, self._buffers = None, {}

    def hold_buffers(self, except_for: frozenset[str]) -> None:
        """Buffers may not change from now on: what a buffer keeps of a batch has no noise."""
        held = {n: b for n, b in self._model.named_buffers() if n not in except_for}
        self._names |= {id(buffer): (name, buffer) for name, buffer in held.items()}
        self._buffers = _versions(held.values())

    def check(self) -> None:
        """`PlanMismatch` with the name of the first tensor that was changed."""
        if self._parameters is None:
            return
        now = _versions(self._now())
        for tensor, version in self._parameters.items():
            if now.get(tensor) != version:
                raise PlanMismatch(
                    f"The parameter {self._name(tensor)} was changed by something else than the "
                    "run's optimizer; updates that the run does not make are not accounted (a "
                    "projection belongs into optimizer.register_step_post_hook)."
                )
        if not self._buffers:
            return
        buffers = _versions(tensors_of(self._model, "_buffers"))
        for tensor, version in self._buffers.items():
            if buffers.get(tensor) != version:
                raise PlanMismatch(
                    f"The buffer {self._name(tensor)} was changed during the run; what a buffer "
                    "keeps of a batch would leave the run without noise."
                )

    def _name(self, identity: int) -> str:
        """Of a tensor that was there when changes were first detected."""
        return self._names[identity][0] if identity in self._names else "that was added"


def _versions(tensors: Iterable[torch.Tensor]) -> dict[int, int]:
    return {id(tensor): tensor._version for tensor in tensors}


@contextmanager
def in_double_precision(module: torch.nn.Module) -> Iterator[None]:
    """Inside, parameters and buffers are in double precision; then they are as before, bit by bit.

    `module.double()` would shard a model that was made whole.
    """
    kept = [(p, p.data) for p in module.parameters() if p.is_floating_point()]
    with kept_state(module):
        try:
            for parameter, _ in kept:
                parameter.data = parameter.data.double()
            for part in module.modules():
                for name, buffer in part._buffers.items():
                    if buffer is not None and buffer.is_floating_point():
                        part._buffers[name] = buffer.double()
            yield
        finally:
            for parameter, data in kept:
                parameter.data = data
