"""Buffers of a model before and after a forward pass."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch

__all__ = ["KeptBuffers", "kept_buffers"]


class KeptBuffers:
    """The values that the buffers had."""

    def __init__(self, module: torch.nn.Module) -> None:
        self._module = module
        self._before = {n: (b, b.clone()) for n, b in module.named_buffers()}

    def changed(self) -> dict[str, torch.Tensor]:
        """Buffers with other values than before, and these values."""
        return {
            name: buffer.clone()
            for name, buffer in self._module.named_buffers()
            if name not in self._before or not _same(buffer, self._before[name][1])
        }

    def restore(self) -> None:
        """The old tensors, with their old values."""
        for name, (buffer, value) in self._before.items():
            owner, _, last = name.rpartition(".")
            self._module.get_submodule(owner)._buffers[last] = buffer
            if not _same(buffer, value):
                buffer.copy_(value)


@contextmanager
def kept_buffers(module: torch.nn.Module) -> Iterator[KeptBuffers]:
    """Afterwards the buffers are as they were."""
    kept = KeptBuffers(module)
    try:
        yield kept
    finally:
        with torch.no_grad():
            kept.restore()


def _same(one: torch.Tensor, other: torch.Tensor) -> bool:
    """Equal, entries that are no numbers included."""
    if one.shape != other.shape or not one.is_floating_point():
        return torch.equal(one, other)
    return bool(torch.isclose(one, other, rtol=0, atol=0, equal_nan=True).all())
