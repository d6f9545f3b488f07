"""The class of a layer, as it was before `fully_shard` gave it another one."""

from __future__ import annotations

from typing import Any

from torch import nn
from torch.distributed.fsdp import FSDPModule

__all__ = ["layer_type"]


def layer_type(layer: nn.Module) -> type[Any]:
    """`fully_shard` makes a layer an instance of a new class, derived from the layer's own."""
    bases = type(layer).__bases__
    return bases[1] if bases[0] is FSDPModule else type(layer)
