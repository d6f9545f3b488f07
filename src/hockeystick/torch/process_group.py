"""One run in a group of processes: only one rank may make it."""

from __future__ import annotations

import torch.distributed as dist
from torch import nn
from torch.distributed.distributed_c10d import _get_default_store
from torch.nn.parallel import DataParallel, DistributedDataParallel

from hockeystick.errors import InvalidParameter, PlanMismatch

__all__ = ["GroupClaim", "refuse_parallel_modules"]

# Where the first rank that makes a run writes its number.
KEY = "hockeystick/rank of the private run"


class GroupClaim:
    """Asked before each step: a process group may come into being during a run."""

    def __init__(self) -> None:
        self._claimed: object = None

    def __call__(self) -> None:
        """`PlanMismatch` on every rank but the first that makes a run; nothing without a group.

        Each rank would draw batches and noise of its own: several runs on the same data, of which
        one is accounted.
        """
        if not (dist.is_available() and dist.is_initialized()) or dist.get_world_size() == 1:
            return
        if self._claimed is dist.group.WORLD:
            return
        own = str(dist.get_rank())
        owner = _get_default_store().compare_set(KEY, "", own).decode()
        if owner != own:
            raise PlanMismatch(
                f"A run is made in one process, and rank {owner} of this process group has made "
                f"one; rank {own} would make another on the same data, which is not accounted."
            )
        self._claimed = dist.group.WORLD


def refuse_parallel_modules(model: nn.Module) -> None:
    """`InvalidParameter` for wrappers that exchange gradients before they are clipped."""
    for name, module in model.named_modules():
        if isinstance(module, (DataParallel, DistributedDataParallel)):
            raise InvalidParameter(
                "model",
                "the module itself: a run is made in one process, and a parallel wrapper would "
                "exchange gradients that are not clipped",
                f"{name or 'the model'}: {type(module).__name__}",
            )
