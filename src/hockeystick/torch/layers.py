"""Layers that mix the examples of a batch and are refused by name."""

from __future__ import annotations

from torch import nn
from torch.nn.modules.batchnorm import _BatchNorm
from torch.nn.modules.instancenorm import _InstanceNorm

from hockeystick.errors import InvalidParameter

__all__ = ["refuse_mixing_layers"]


def refuse_mixing_layers(model: nn.Module) -> None:
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
