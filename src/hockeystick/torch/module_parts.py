"""The parts of a model, their tensors without names, and their classes: read in every step.

PyTorch's own lists nest a generator for each level of names, which takes ten times as long. Nothing
is kept from step to step, so that a model that changes is seen as it is.
"""

from __future__ import annotations

from typing import Any

import torch
from torch.distributed.fsdp import FSDPModule

__all__ = ["layer_type", "parts_of", "tensors_of"]


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
