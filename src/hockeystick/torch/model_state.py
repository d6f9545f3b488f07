"""What a model keeps between forward passes: buffers, and plain attributes of its modules."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch

__all__ = ["ModelState", "kept_state"]

# Attributes of PyTorch's and Opacus' own.
THEIRS = {*torch.nn.Module().__dict__, "max_batch_len"}
# Attributes of other types, such as lists, are not put back.
PLAIN = (bool, int, float, str, type(None), torch.Tensor)


class ModelState:
    """The values that buffers and attributes had."""

    def __init__(self, module: torch.nn.Module) -> None:
        self._module = module
        self._buffers = {n: (b, b.detach().clone()) for n, b in module.named_buffers()}
        self._attributes = [(part, _attributes(part)) for part in module.modules()]

    def changed_buffers(self) -> dict[str, torch.Tensor]:
        """Buffers with other values than before, and these values."""
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
    """Afterwards buffers and attributes are as they were."""
    kept = ModelState(module)
    try:
        yield kept
    finally:
        kept.restore()


def same(one: torch.Tensor, other: torch.Tensor) -> bool:
    """Equal, entries that are no numbers included."""
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
