"""What make_private refuses: models, optimizers, layers that mix examples."""

from __future__ import annotations

import warnings

import torch
import torch.distributed as dist
from opacus.grad_sample import GradSampleModule
from opacus.optimizers import DPOptimizer
from opacus.validators import ModuleValidator
from torch import nn
from torch.nn.modules.batchnorm import _BatchNorm
from torch.nn.modules.instancenorm import _InstanceNorm
from torch.nn.parallel import DataParallel, DistributedDataParallel
from torch.nn.parameter import UninitializedParameter

from hockeystick.errors import InvalidParameter, PlanMismatch
from hockeystick.filters import Filter, Individual
from hockeystick.torch.layouts import Layout
from hockeystick.torch.model_state import layer_type
from hockeystick.torch.optimizer import PlanOptimizer
from hockeystick.torch.original_state import trained_parameters
from hockeystick.torch.probe_outcomes import SINGLE_FEATURES
from hockeystick.torch.run_group import in_group

__all__ = [
    "GroupClaim",
    "check_several_ranks",
    "checked_parameters",
    "free_optimizer",
    "unwrapped",
]

# The way out for layers that Opacus can replace.
FIX = (
    "model = opacus.validators.ModuleValidator.fix(model) replaces them, before the optimizer is "
    "made; see `hockeystick docs training#what-is-refused`"
)


def unwrapped(model: torch.nn.Module) -> torch.nn.Module:
    """The module in `DistributedDataParallel`, whose own exchange of gradients is not used."""
    return model.module if isinstance(model, DistributedDataParallel) else model


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
    _warn_of_single_features(model)
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


def _warn_of_single_features(model: nn.Module) -> None:
    """A warning for group normalisation of single numbers, as it replaces a narrow BatchNorm1d.

    Their mean is subtracted from themselves: what is left is rounding, and nothing is learnt.
    """
    features = 0
    for name, layer in model.named_modules():
        single = isinstance(layer, nn.GroupNorm) and layer.num_groups == layer.num_channels
        if single and layer.num_channels == features:
            warnings.warn(
                f"The layer {_named(name, layer)} has {layer.num_groups} groups for "
                f"{layer.num_channels} features, as ModuleValidator.fix makes of BatchNorm1d: "
                f"where a group is one number, its output is constant; take {SINGLE_FEATURES}. See "
                "`hockeystick docs training#what-is-refused`.",
                UserWarning,
                stacklevel=3,
            )
        features = layer.out_features if isinstance(layer, nn.Linear) else 0


def _refuse_unsupported_layers(model: nn.Module) -> None:
    """`InvalidParameter` with the name of a layer that Opacus has no gradients of examples for."""
    if not model.training:
        allowed = "in training mode: call model.train() before make_private"
        raise InvalidParameter("model", allowed, f"{type(model).__name__} in evaluation mode")
    for name, layer in model.named_modules():
        trained = [p for p in layer.parameters(recurse=False) if p.requires_grad]
        validator = ModuleValidator.VALIDATORS.get(layer_type(layer))
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
    return f"{name or 'the model'}: {layer_type(layer).__name__}"


def _refuse_parallel_modules(model: nn.Module) -> None:
    """`InvalidParameter` for wrappers inside that exchange gradients before they are clipped."""
    from torch.distributed.fsdp import FullyShardedDataParallel

    wrappers = (DataParallel, DistributedDataParallel, FullyShardedDataParallel)
    for name, module in model.named_modules():
        if isinstance(module, wrappers):
            raise InvalidParameter(
                "model",
                "the module itself, all of it in DistributedDataParallel, or sharded by "
                "fully_shard: another parallel wrapper would exchange gradients that are not "
                "clipped",
                f"{name or 'the model'}: {type(module).__name__}",
            )


def check_several_ranks(
    model: nn.Module, layout: Layout, privacy_filter: Filter | Individual | None
) -> None:
    """`InvalidParameter` for what one process can do, and several cannot."""
    if layout.group is None:
        return
    if isinstance(privacy_filter, Individual):
        allowed = (
            "one budget for all examples in a process group: the norms of all gradients, which "
            "Individual needs before each step, are computed by a single process"
        )
        raise InvalidParameter("filter", allowed, privacy_filter)
    if not layout.sharded:
        return
    for name, layer in model.named_modules():
        trained = any(p.requires_grad for p in layer.parameters(recurse=False))
        if trained and layer_type(layer) not in GradSampleModule.GRAD_SAMPLERS:
            allowed = (
                "of layers for which Opacus has a rule for gradients of examples, if it is "
                "sharded (opacus.grad_sample.register_grad_sampler adds one)"
            )
            raise InvalidParameter("model", allowed, _named(name, layer))


class GroupClaim:
    """Refuses a run that was made alone and finds itself in a process group later."""

    def __call__(self) -> None:
        """`PlanMismatch`: every rank would have a run of its own on the same data."""
        if in_group() and dist.get_world_size() > 1:
            raise PlanMismatch(
                "The run was made before the process group: each rank would make a run of its own "
                "on the same data, which is not accounted; call init_process_group before "
                "make_private, on all ranks."
            )
