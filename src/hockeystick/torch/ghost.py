"""Ghost clipping: norms first, then the clipped sum in a second backward pass (Opacus)."""

from __future__ import annotations

import math
from typing import Any

import torch
from opacus.grad_sample import GradSampleModuleFastGradientClipping
from opacus.utils.fast_gradient_clipping_utils import DPTensorFastGradientClipping

from hockeystick.errors import HockeystickError, InvalidParameter, PlanMismatch
from hockeystick.torch.limits import Limit
from hockeystick.torch.progress import Piece, Progress

__all__ = ["GhostClipping", "GhostLoss"]


class GhostModule(GradSampleModuleFastGradientClipping):
    """Opacus' module, with the clip norm of the step that is under way."""

    def __init__(self, model: torch.nn.Module, *, loss_reduction: str, clip: float) -> None:
        super().__init__(model, loss_reduction=loss_reduction, max_grad_norm=clip)
        self.progress: Progress | None = None
        self.clipped_norms: list[torch.Tensor] | None = None

    def get_clipping_coef(self) -> torch.Tensor:
        """The factors for the batch that is out; asked once for every batch."""
        assert self.progress is not None
        piece, limit = self.progress.current()
        norms = self.get_norm_sample()
        if norms.numel() != piece.size:
            raise PlanMismatch(
                f"The gradients are of {norms.numel()} examples, but the batch that the plan drew "
                f"has {piece.size}."
            )
        if not torch.isfinite(norms).all():
            raise HockeystickError(
                "A gradient is not finite; ghost clipping cannot leave a single example out, "
                'clipping="per-sample" can.'
            )
        self.clipped_norms = self._norms_now()
        return limit.factors(norms, piece.indices)

    def take_clipped(self) -> bool:
        """Whether the gradients are the clipped ones, and no others were added since; only once."""
        then, self.clipped_norms = self.clipped_norms, None
        return then is not None and all(
            a is b for a, b in zip(then, self._norms_now(), strict=True)
        )

    def _norms_now(self) -> list[torch.Tensor]:
        # Every backward pass that is not the second one of a ghost loss replaces these tensors.
        return [getattr(p, "_norm_sample", None) for p in self.trainable_parameters]


class GhostClipping:
    """Gradients of single examples are never held; the loss has to be a `GhostLoss`."""

    def __init__(self, model: torch.nn.Module, *, loss_reduction: str, clip: float) -> None:
        self.model = GhostModule(model, loss_reduction=loss_reduction, clip=clip)

    def follow(self, progress: Progress) -> None:
        """Clipping happens in the backward pass."""
        self.model.progress = progress

    def clipped_sums(
        self, parameters: list[torch.Tensor], piece: Piece, limit: Limit
    ) -> list[torch.Tensor]:
        """`PlanMismatch` if an ordinary backward pass has put gradients there."""
        clipped = self.model.take_clipped()
        if piece.size == 0:
            return [torch.zeros_like(p) for p in parameters]
        if not clipped:
            raise PlanMismatch(
                "The gradients were not clipped; with ghost clipping the loss has to be "
                "run.loss(criterion), and loss.backward() is called once for every batch."
            )
        return [torch.zeros_like(p) if p.grad is None else p.grad.clone() for p in parameters]


class GhostLoss:
    """A criterion whose result clips in `backward()`, and is the ordinary loss without gradients.

    The criterion needs an attribute `reduction`, as PyTorch's have; its losses are averaged (or
    summed, as the run's loss_reduction says) over everything that belongs to one example.
    """

    def __init__(
        self, criterion: Any, model: GhostModule, optimizer: Any, progress: Progress
    ) -> None:
        reduction = progress.settings.loss_reduction
        if getattr(criterion, "reduction", None) != reduction:
            allowed = f"a module with reduction={reduction!r}, as loss_reduction says"
            raise InvalidParameter("criterion", allowed, criterion)
        self._criterion, self._reduction = criterion, reduction
        self._model, self._optimizer, self._progress = model, optimizer, progress

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        """A loss with `backward()` and `item()`."""
        if not torch.is_grad_enabled():
            return self._criterion(*arguments, **options)
        piece, _ = self._progress.current()
        losses = self._each(arguments, options)
        if losses.ndim == 0 or len(losses) != piece.size:
            allowed = f"one with a loss for each of the {piece.size} examples of the batch"
            raise InvalidParameter("criterion", allowed, tuple(losses.shape))
        if losses.ndim > 1:
            flat = losses.reshape(piece.size, math.prod(losses.shape[1:]))
            losses = flat.mean(dim=1) if self._reduction == "mean" else flat.sum(dim=1)
        return DPTensorFastGradientClipping(self._model, self._optimizer, losses, self._reduction)

    def _each(self, arguments: Any, options: Any) -> torch.Tensor:
        self._criterion.reduction = "none"
        try:
            losses: torch.Tensor = self._criterion(*arguments, **options)
        finally:
            self._criterion.reduction = self._reduction
        return losses
