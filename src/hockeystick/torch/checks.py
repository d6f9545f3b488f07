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
# The way out for layers that Opacus can replace.
FIX = (
    "model = opacus.validators.ModuleValidator.fix(model) replaces them, before the optimizer is "
    "made; see docs/training.md, What is refused"
)


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
    _refuse_unsupported_layers(model)
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
                f"without layers that mix examples (GroupNorm does not; {FIX})",
                _named(name, layer),
            )
        if isinstance(layer, nn.Embedding) and (layer.max_norm or layer.scale_grad_by_freq):
            raise InvalidParameter(
                "model",
                "without max_norm and scale_grad_by_freq: which entries they change depends on "
                "all examples of a batch",
                f"{name or 'the model'}: {layer}",
            )


def _refuse_unsupported_layers(model: nn.Module) -> None:
    """`InvalidParameter` with the name of a layer that Opacus has no gradients of examples for."""
    if not model.training:
        allowed = "in training mode: call model.train() before make_private"
        raise InvalidParameter("model", allowed, f"{type(model).__name__} in evaluation mode")
    for name, layer in model.named_modules():
        trained = [p for p in layer.parameters(recurse=False) if p.requires_grad]
        validator = ModuleValidator.VALIDATORS.get(type(layer))
        if validator is not None and validator(layer):
            allowed = f"without layers that have no gradients of single examples ({FIX})"
            raise InvalidParameter("model", allowed, _named(name, layer))
        if trained and next(layer.buffers(), None) is not None:
            allowed = (
                "without buffers in a layer that has trained parameters itself: what a buffer "
                "keeps has no noise (a constant may be an ordinary attribute)"
            )
            raise InvalidParameter("model", allowed, _named(name, layer))
    problems = ModuleValidator.validate(model, strict=False)
    problems += GradSampleModule.validate(model, strict=False)
    if problems:
        allowed = "a module whose layers have gradients of single examples"
        raise InvalidParameter("model", allowed, str(problems[0]))


def _named(name: str, layer: nn.Module) -> str:
    return f"{name or 'the model'}: {type(layer).__name__}"


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
