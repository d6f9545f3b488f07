"""Sums of clipped gradients, from per-example gradients as Opacus computes them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import torch
from opacus.grad_sample import GradSampleModule

from hockeystick.errors import PlanMismatch
from hockeystick.torch.limits import Limit
from hockeystick.torch.progress import Piece
from hockeystick.torch.sums import per_example_norms, weighted_sum

__all__ = [
    "Clipping",
    "Contribution",
    "ObservedCalls",
    "PerSampleClipping",
    "check_count",
    "forget_activations",
    "forget_gradients",
    "of_examples",
]

# How a call of the model is carried out: with what it forwards to, its arguments and its options.
Observer = Callable[[Callable[..., Any], tuple[Any, ...], dict[str, Any]], Any]


class ObservedCalls:
    """A module whose calls go through `observer`, if there is one."""

    observer: Observer | None = None

    def forward(self, *arguments: Any, **options: Any) -> Any:
        """What the module computes."""
        forward: Callable[..., Any] = super().forward  # type: ignore[misc]
        if self.observer is None:
            return forward(*arguments, **options)
        return self.observer(forward, arguments, options)


@dataclass(frozen=True, eq=False)
class Contribution:
    """What a physical batch adds to the sum, flat and in double precision for each parameter.

    `rows` is what is known of the gradients of the examples that were to be kept.
    """

    sums: list[torch.Tensor]
    rows: list[torch.Tensor]


class Clipping(Protocol):
    """Gives the clipped sum of one physical batch, and leaves no gradients on the parameters."""

    model: Any

    def clipped(
        self,
        losses: torch.Tensor,
        parameters: list[torch.Tensor],
        piece: Piece,
        limit: Limit,
        *,
        keep: Sequence[int] = (),
    ) -> Contribution:
        """The contribution of the batch that has these losses."""

    def gradients(self, losses: torch.Tensor, parameters: list[torch.Tensor]) -> list[torch.Tensor]:
        """What is known of the gradients of examples: for each parameter a row for each."""

    def from_gradients(self, rows: list[torch.Tensor]) -> list[torch.Tensor]:
        """What `gradients` gives for examples with these gradients."""


class PerSampleModule(ObservedCalls, GradSampleModule):
    """Opacus' module with per-example gradients."""


class PerSampleClipping:
    """Gradients of all examples are held at once, then clipped and summed."""

    def __init__(self, model: torch.nn.Module, *, clip: float) -> None:
        self.model = PerSampleModule(model, loss_reduction="sum")
        # A second backward pass would let an example contribute twice.
        self.model.forbid_grad_accumulation()

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
        rows = self.gradients(losses, parameters)
        for gradient in rows:
            check_count(len(gradient), piece)
        norms = per_example_norms(rows)
        factors = limit.factors(norms, piece.indices)
        kept = [g[list(keep)].clone() for g in rows]
        finite = torch.isfinite(norms)
        if not finite.all():
            # Zero times infinity is not zero.
            rows, factors = [g[finite] for g in rows], factors[finite]
        return Contribution([weighted_sum(g, factors) for g in rows], kept)

    def gradients(self, losses: torch.Tensor, parameters: list[torch.Tensor]) -> list[torch.Tensor]:
        """The gradient of each example."""
        forget_gradients(parameters)
        losses.sum().backward()
        rows = [of_examples(p, "grad_sample") for p in parameters]
        forget_gradients(parameters)
        return rows

    def from_gradients(self, rows: list[torch.Tensor]) -> list[torch.Tensor]:
        """The gradients themselves."""
        return rows


def check_count(found: int, piece: Piece) -> None:
    """`PlanMismatch` if there are not as many gradients as the batch has examples."""
    if found != piece.size:
        raise PlanMismatch(
            f"The gradients are of {found} examples, but the batch that the plan drew has "
            f"{piece.size}."
        )


def forget_gradients(parameters: list[torch.Tensor]) -> None:
    """No gradient is left on the parameters, of the sum or of examples."""
    for parameter in parameters:
        parameter.grad = None
        parameter.grad_sample = None


def forget_activations(model: torch.nn.Module) -> None:
    """What Opacus remembers of forward passes that no backward pass followed."""
    for layer in model.modules():
        if getattr(layer, "activations", None):
            layer.activations = []
        if hasattr(layer, "max_batch_len"):
            del layer.max_batch_len
    for parameter in model.parameters():
        parameter._forward_counter = 0
        if hasattr(parameter, "_current_grad_sample"):
            del parameter._current_grad_sample


def of_examples(parameter: torch.Tensor, attribute: str) -> torch.Tensor:
    """What Opacus left on the parameter, with a row for each example."""
    rows = getattr(parameter, attribute, None)
    if not isinstance(rows, torch.Tensor):
        raise PlanMismatch(
            "A parameter has no gradient for each example of the batch: the model that "
            "make_private returned has to be called once for every batch, and each of its "
            "trained parameters has to take part."
        )
    return rows
