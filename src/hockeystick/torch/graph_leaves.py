"""Tensors outside the model that a backward pass would give a gradient without noise."""

from __future__ import annotations

from typing import Any

import torch

from hockeystick.errors import PlanMismatch
from hockeystick.torch.model_state import tensors_of
from hockeystick.torch.sharded_layout import is_sharded

__all__ = ["refuse_other_leaves"]


def refuse_other_leaves(losses: torch.Tensor, model: torch.nn.Module) -> None:
    """`PlanMismatch` if the losses depend on a leaf that is not a parameter of the model.

    Its gradient would neither be clipped nor have noise, and the probe sees that only in the steps
    in which it runs. Goes once over the graph: about a microsecond for each operation. Leaves of
    sharded models are parameters that were gathered for the pass; they are not told apart.
    """
    parameters = tensors_of(model, "_parameters")
    if any(is_sharded(p) for p in parameters):
        return
    own = {id(p) for p in parameters}
    seen: set[Any] = set()
    waiting = [losses.grad_fn]
    while waiting:
        node = waiting.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        following = node.next_functions
        # Of nodes that add a gradient to a leaf, where the graph ends.
        leaf = None if following else getattr(node, "variable", None)
        if leaf is not None and id(leaf) not in own:
            raise PlanMismatch(
                f"The losses depend on a tensor of shape {tuple(leaf.shape)} that requires a "
                "gradient and is not a parameter of the model: its gradient would be neither "
                "clipped nor noisy; make it a parameter of the model, or detach() it."
            )
        waiting.extend(one for one, _ in following)
