"""Factors of clipping: for each group of parameters one for each example."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import nn

from hockeystick.torch.progress import ClipLimit, PhysicalBatch
from hockeystick.training.clip_rules import ClipParts

__all__ = ["clip_factors", "excess_within", "layers_of", "summed_squares"]


def clip_factors(
    squares: torch.Tensor, parts: ClipParts, limit: ClipLimit, batch: PhysicalBatch
) -> tuple[list[torch.Tensor], torch.Tensor | None]:
    """For each group of the parts the factors of all examples, in double precision.

    And whose gradients are finite; None if all are. An example with a gradient that is not finite
    anywhere contributes nothing anywhere. `squares` has for each group the squared norm of each
    example's gradient.
    """
    norms = squares.sqrt()
    factors = [
        limit.factors(norm, batch, share=share, gamma=parts.gamma)
        for norm, share in zip(norms, parts.shares, strict=True)
    ]
    finite = norms.isfinite()
    if finite.all():
        return factors, None
    everywhere = finite.all(dim=0)
    zero = torch.zeros_like(factors[0])
    return [one.where(everywhere, zero) for one in factors], everywhere


def summed_squares(
    squares: Sequence[torch.Tensor | None], parts: ClipParts, batch: PhysicalBatch
) -> torch.Tensor:
    """For each group the squared norms of its parameters, given for each of them; None is zero."""
    known = [s for s in squares if s is not None]
    device = known[0].device if known else torch.device("cpu")
    totals = torch.zeros(len(parts.shares), batch.size, dtype=torch.float64, device=device)
    for group, own in zip(parts.groups, squares, strict=True):
        if own is not None:
            totals[group] += own.to(device)
    return totals


def excess_within(squares: torch.Tensor, limit: ClipLimit, batch: PhysicalBatch) -> int:
    """How many more gradients are within the clip norm than not; each counts for +1 or -1.

    `squares` is that of `clip_factors`.
    """
    norms = squares.sum(dim=0)[: batch.counted].sqrt()
    return 2 * int((norms <= limit.clip).sum()) - batch.counted


def layers_of(model: nn.Module, parameters: Sequence[torch.Tensor]) -> list[str]:
    """For each parameter the name of the module that has it; the first, if several share it."""
    names: dict[int, str] = {}
    for name, module in model.named_modules():
        for parameter in module.parameters(recurse=False):
            names.setdefault(id(parameter), name)
    return [names[id(p)] for p in parameters]
