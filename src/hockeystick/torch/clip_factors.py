"""Factors of clipping: for each group of parameters one for each example."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import nn

from hockeystick.torch.progress import ClipLimit, PhysicalBatch
from hockeystick.training.clip_rules import ClipParts

__all__ = ["clip_factors", "excess_within", "layers_of"]


def clip_factors(
    squares: Sequence[torch.Tensor | None],
    parts: ClipParts,
    limit: ClipLimit,
    batch: PhysicalBatch,
) -> list[torch.Tensor]:
    """For each group of the parts the factors of all examples, in double precision.

    `squares` has for each parameter the squared norm of each example's gradient, None for zeros. An
    example with a gradient that is not finite anywhere contributes nothing anywhere.
    """
    known = [s for s in squares if s is not None]
    device = known[0].device if known else torch.device("cpu")
    zero = torch.zeros(batch.size, dtype=torch.float64, device=device)
    totals = [zero.clone() for _ in parts.shares]
    for group, own in zip(parts.groups, squares, strict=True):
        if own is not None:
            totals[group] += own.to(device)
    norms = [total.sqrt() for total in totals]
    finite = torch.stack(norms).isfinite().all(dim=0)
    return [
        limit.factors(norm, batch, share=share, gamma=parts.gamma).where(finite, zero)
        for norm, share in zip(norms, parts.shares, strict=True)
    ]


def excess_within(
    squares: Sequence[torch.Tensor | None], limit: ClipLimit, batch: PhysicalBatch
) -> int:
    """How many more gradients are within the clip norm than not; each counts for +1 or -1."""
    norms = torch.zeros(batch.size, dtype=torch.float64)
    for own in squares:
        if own is not None:
            norms += own.cpu()
    return 2 * int((norms[: batch.counted].sqrt() <= limit.clip).sum()) - batch.counted


def layers_of(model: nn.Module, parameters: Sequence[torch.Tensor]) -> list[str]:
    """For each parameter the name of the module that has it; the first, if several share it."""
    names: dict[int, str] = {}
    for name, module in model.named_modules():
        for parameter in module.parameters(recurse=False):
            names.setdefault(id(parameter), name)
    return [names[id(p)] for p in parameters]
