"""Ghost clipping: norms first, then the clipped sum in a second backward pass (Opacus)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from opacus.grad_sample import GradSampleModuleFastGradientClipping

from hockeystick.errors import HockeystickError, PlanMismatch
from hockeystick.torch.clipping import (
    Contribution,
    ObservedCalls,
    check_count,
    forget_gradients,
    of_examples,
)
from hockeystick.torch.limits import Limit
from hockeystick.torch.progress import Piece

__all__ = ["GhostClipping"]


class GhostModule(ObservedCalls, GradSampleModuleFastGradientClipping):
    """Opacus' module with norms of per-example gradients."""

    def capture_activations_hook(self, module: Any, given: Any, output: Any) -> None:
        """`PlanMismatch` for a layer that is used twice for a batch."""
        try:
            super().capture_activations_hook(module, given, output)
        except NotImplementedError:
            raise PlanMismatch(
                "Ghost clipping takes one use of each layer for a batch: call the model once, and "
                'share no parameter between layers, or use clipping="per-sample".'
            ) from None

    def capture_backprops_hook(
        self, module: Any, given: Any, gradients: Any, **options: Any
    ) -> Any:
        """`PlanMismatch` for a layer that computes in half precision."""
        if gradients[0] is not None and gradients[0].dtype in (torch.bfloat16, torch.float16):
            raise PlanMismatch(
                "Ghost clipping would sum over the batch in half precision (autocast), where the "
                'rounding of one example is larger than its clip norm; use clipping="per-sample".'
            )
        return super().capture_backprops_hook(module, given, gradients, **options)


class GhostClipping:
    """Gradients of single examples are never held.

    The sum is the one that PyTorch's backward pass computes in the parameters' precision: with n
    examples in single precision it is known to at most 6e-8 * n^2 clip norms, usually 1e-7 * n.
    """

    def __init__(self, model: torch.nn.Module, *, clip: float) -> None:
        self.model = GhostModule(model, loss_reduction="sum", max_grad_norm=clip)

    def clipped(
        self,
        losses: torch.Tensor,
        parameters: list[torch.Tensor],
        piece: Piece,
        limit: Limit,
        *,
        keep: Sequence[int] = (),
    ) -> Contribution:
        """`PlanMismatch` if the gradients are not of as many examples as the batch has."""
        each = self.gradients(losses, parameters, retain_graph=True)
        norms = torch.linalg.vector_norm(torch.cat(each, dim=1), dim=1)
        check_count(len(norms), piece)
        if not torch.isfinite(norms).all():
            raise HockeystickError(
                "A gradient is not finite; ghost clipping cannot leave a single example out, "
                'clipping="per-sample" can.'
            )
        factors = limit.factors(norms, piece.indices).to(losses)
        self.model.disable_hooks()
        try:
            (factors * losses).sum().backward()
        finally:
            self.model.enable_hooks()
        sums = [_sum(p) for p in parameters]
        forget_gradients(parameters)
        return Contribution(sums, [e[list(keep)].clone() for e in each])

    def gradients(
        self, losses: torch.Tensor, parameters: list[torch.Tensor], *, retain_graph: bool = False
    ) -> list[torch.Tensor]:
        """The norm of each example's gradient, for each parameter as one column."""
        forget_gradients(parameters)
        for parameter in parameters:
            parameter._norm_sample = None
        losses.sum().backward(retain_graph=retain_graph)
        norms = [of_examples(p, "_norm_sample") for p in parameters]
        forget_gradients(parameters)
        return [n.double().to(norms[0].device).reshape(-1, 1) for n in norms]

    def from_gradients(self, rows: list[torch.Tensor]) -> list[torch.Tensor]:
        """Their norms."""
        return [torch.linalg.vector_norm(g.double().flatten(1), dim=1, keepdim=True) for g in rows]


def _sum(parameter: torch.Tensor) -> torch.Tensor:
    if parameter.grad is None:
        return torch.zeros(parameter.numel(), dtype=torch.float64, device=parameter.device)
    return parameter.grad.detach().double().flatten()
