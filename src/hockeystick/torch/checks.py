"""What make_private refuses: models, optimizers, layers that mix examples, a second rank."""

from __future__ import annotations

import torch
import torch.distributed as dist
from opacus.grad_sample import GradSampleModule
from opacus.optimizers import DPOptimizer
from opacus.validators import ModuleValidator
from torch import nn
from torch.distributed.distributed_c10d import _get_default_store
from torch.nn.modules.batchnorm import _BatchNorm
from torch.nn.modules.instancenorm import _InstanceNorm
from torch.nn.parallel import DataParallel, DistributedDataParallel
from torch.nn.parameter import UninitializedParameter

from hockeystick.errors import InvalidParameter, PlanMismatch
from hockeystick.torch.optimizer import PlanOptimizer, trained_parameters

__all__ = ["GroupClaim", "checked_parameters", "free_optimizer"]

# Where in the group's store the first rank that makes a run writes its number.
KEY = "hockeystick/rank of the private run"


def checked_parameters(
    model: torch.nn.Module, optimizer: torch.optim.Optimizer
) -> list[torch.Tensor]:
    """The parameters that the optimizer trains; `InvalidParameter` for models that are refused."""
    if isinstance(optimizer, torch.optim.LBFGS):
        allowed = "one that makes one update for each gradient, not several"
        raise InvalidParameter("optimizer", allowed, type(optimizer))
    if any(isinstance(p, UninitializedParameter) for p in model.parameters()):
        allowed = "initialised: call it on a batch of zeros before make_private"
        raise InvalidParameter("model", allowed, type(model))
    _refuse_parallel_modules(model)
    _refuse_mixing_layers(model)
    problems = ModuleValidator.validate(model, strict=False)
    problems += GradSampleModule.validate(model, strict=False)
    if problems:
        allowed = "a module in training mode whose layers have gradients for single examples"
        raise InvalidParameter("model", allowed, problems)
    parameters = trained_parameters(optimizer)
    known = {id(p) for p in model.parameters()}
    if not all(id(p) in known for p in parameters):
        raise InvalidParameter("optimizer", "one for parameters of the model", optimizer)
    return parameters


def free_optimizer(optimizer: torch.optim.Optimizer) -> torch.optim.Optimizer:
    """The ordinary optimizer; that of a run which is over has one inside."""
    if isinstance(optimizer, PlanOptimizer):
        if not optimizer.over:
            allowed = "in no other run: take all steps of that run, or end it by run.close()"
            raise InvalidParameter("optimizer", allowed, optimizer)
        return optimizer.original
    if isinstance(optimizer, DPOptimizer):
        allowed = "an ordinary optimizer, such as its original_optimizer"
        raise InvalidParameter("optimizer", allowed, type(optimizer))
    return optimizer


def _refuse_mixing_layers(model: nn.Module) -> None:
    """`InvalidParameter` with the layer's name, whether it is trained, frozen or in eval mode.

    Batch normalisation uses statistics of the batch and keeps them without noise; instance
    normalisation only does if it tracks running statistics.
    """
    for name, layer in model.named_modules():
        tracks = isinstance(layer, _InstanceNorm) and layer.track_running_stats
        if isinstance(layer, _BatchNorm) or tracks:
            raise InvalidParameter(
                "model",
                "without layers that mix examples (GroupNorm does not, and "
                "opacus.validators.ModuleValidator.fix replaces batch normalisation by it)",
                f"{name or 'the model'}: {type(layer).__name__}",
            )
        if isinstance(layer, nn.Embedding) and (layer.max_norm or layer.scale_grad_by_freq):
            raise InvalidParameter(
                "model",
                "without max_norm and scale_grad_by_freq: which entries they change depends on "
                "all examples of a batch",
                f"{name or 'the model'}: {layer}",
            )


def _refuse_parallel_modules(model: nn.Module) -> None:
    """`InvalidParameter` for wrappers that exchange gradients before they are clipped."""
    for name, module in model.named_modules():
        if isinstance(module, (DataParallel, DistributedDataParallel)):
            raise InvalidParameter(
                "model",
                "the module itself: a run is made in one process, and a parallel wrapper would "
                "exchange gradients that are not clipped",
                f"{name or 'the model'}: {type(module).__name__}",
            )


class GroupClaim:
    """Makes one rank the owner of the run; called in each step, as a group may be made later."""

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
