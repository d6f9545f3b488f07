"""Sums of clipped gradients, from per-example gradients as Opacus computes them."""

from __future__ import annotations

from typing import Protocol

import torch
from opacus.grad_sample import GradSampleModule

from hockeystick.errors import PlanMismatch
from hockeystick.torch.limits import Limit
from hockeystick.torch.progress import Piece, Progress

__all__ = ["Clipping", "PerSampleClipping", "per_example_norms"]


class Clipping(Protocol):
    """Gives the clipped sum of one physical batch, and forgets its gradients."""

    model: torch.nn.Module

    def follow(self, progress: Progress) -> None:
        """Know the batch that is out while gradients are computed."""

    def clipped_sums(
        self, parameters: list[torch.Tensor], piece: Piece, limit: Limit
    ) -> list[torch.Tensor]:
        """One tensor for each parameter: the sum over the examples of the batch."""


class PerSampleClipping:
    """Gradients of all examples are held at once, then clipped and summed."""

    def __init__(self, model: torch.nn.Module, *, loss_reduction: str, clip: float) -> None:
        self.model = GradSampleModule(model, loss_reduction=loss_reduction)
        # A second backward pass would let an example contribute twice.
        self.model.forbid_grad_accumulation()

    def follow(self, progress: Progress) -> None:
        """Clipping happens in the optimizer's step, which knows the batch."""

    def clipped_sums(
        self, parameters: list[torch.Tensor], piece: Piece, limit: Limit
    ) -> list[torch.Tensor]:
        """`PlanMismatch` if the gradients are not of as many examples as the batch has."""
        if piece.size == 0:
            return [torch.zeros_like(p) for p in parameters]
        rows = [_rows(p, piece) for p in parameters]
        norms = per_example_norms(rows)
        factors = limit.factors(norms, piece.indices)
        finite = torch.isfinite(norms)
        if not finite.all():
            # Zero times infinity is not zero.
            rows, factors = [g[finite] for g in rows], factors[finite]
        sums = [
            torch.einsum("i,i...", factors.to(g), g).to(p.dtype)
            for p, g in zip(parameters, rows, strict=True)
        ]
        return [s.view_as(p) for s, p in zip(sums, parameters, strict=True)]


def per_example_norms(rows: list[torch.Tensor]) -> torch.Tensor:
    """The length of each example's gradient over all parameters."""
    each = [torch.linalg.vector_norm(g.flatten(1), dim=1).to(rows[0].device) for g in rows]
    return torch.linalg.vector_norm(torch.stack(each), dim=0)


def _rows(parameter: torch.Tensor, piece: Piece) -> torch.Tensor:
    rows = getattr(parameter, "grad_sample", None)
    if not isinstance(rows, torch.Tensor):
        raise PlanMismatch(
            "A parameter has no gradient for each example of the batch; call loss.backward() "
            "exactly once for every batch, on outputs of the model that make_private returned."
        )
    if len(rows) != piece.size:
        raise PlanMismatch(
            f"The gradients are of {len(rows)} examples, but the batch that the plan drew has "
            f"{piece.size}."
        )
    return rows
