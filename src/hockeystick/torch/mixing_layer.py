"""Names the layer in which examples first influence each other, for the error message."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch.utils._pytree import tree_leaves

from hockeystick.torch.sample import Sample

__all__ = ["first_mixing_layer"]


def first_mixing_layer(module: torch.nn.Module, sample: Sample, tolerance: float) -> str:
    """The first layer whose output for some examples changes when the others are there."""
    part = range((len(sample) + 1) // 2)
    together = _outputs(module, sample, range(len(sample)))
    alone = _outputs(module, sample, part)
    for (name, everyone), (_, some) in zip(together, alone, strict=False):
        if len(everyone) != len(sample) or len(some) != len(part):
            continue
        expected = everyone[list(part)]
        close = tolerance * float(expected.abs().max())
        if expected.shape == some.shape and not bool(((some - expected).abs() <= close).all()):
            return f"the layer {name}"
    return "the criterion, the model outside of its layers, or the backward pass"


def _outputs(
    module: torch.nn.Module, sample: Sample, part: Sequence[int]
) -> list[tuple[str, torch.Tensor]]:
    """The first tensor that each layer returns, in the order in which the layers finish."""
    found: list[tuple[str, torch.Tensor]] = []
    handles = [
        layer.register_forward_hook(_collect(found, f"{name} ({type(layer).__name__})"))
        for name, layer in module.named_modules()
        if name
    ]
    try:
        with torch.no_grad():
            sample.losses(part)
    finally:
        for handle in handles:
            handle.remove()
    return found


def _collect(found: list[tuple[str, torch.Tensor]], name: str) -> Any:
    def collect(_: Any, __: Any, output: Any) -> None:
        first = next((t for t in tree_leaves(output) if isinstance(t, torch.Tensor)), None)
        if first is not None and first.ndim and first.is_floating_point():
            found.append((name, first.detach().clone()))

    return collect
