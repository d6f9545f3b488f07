"""Sums of clipped gradients, from per-example gradients as Opacus computes them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import torch
from opacus.grad_sample import GradSampleModule
from opacus.grad_sample.embedding import compute_embedding_grad_sample
from opacus.layers import DPGRU, DPLSTM, DPRNN
from torch import nn
from torch.nn.utils.rnn import PackedSequence

from hockeystick.errors import PlanMismatch
from hockeystick.torch.progress import ClipLimit, PhysicalBatch
from hockeystick.torch.sums import per_example_norms, weighted_sum

__all__ = [
    "Clipping",
    "Contribution",
    "PerSampleClipping",
    "PerSampleModule",
    "check_count",
    "forget_activations",
    "forget_gradients",
]

# Carries out a call of the model: from its forward method, arguments and options to the output.
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

    `rows` are the gradients of the examples to `keep`.
    """

    sums: list[torch.Tensor]
    rows: list[torch.Tensor]


class Clipping(Protocol):
    """Computes the clipped sum of one physical batch; leaves no gradients on the parameters."""

    model: Any

    def clipped(
        self,
        losses: torch.Tensor,
        parameters: list[torch.Tensor],
        physical_batch: PhysicalBatch,
        limit: ClipLimit,
        *,
        keep: Sequence[int] = (),
    ) -> Contribution:
        """The contribution of the batch that has these losses."""

    def gradients(self, losses: torch.Tensor, parameters: list[torch.Tensor]) -> list[torch.Tensor]:
        """The gradients of examples: for each parameter a row for each of them."""


def _embedding_rows(layer: Any, inputs: Any, gradients: torch.Tensor) -> Any:
    """Per-example gradients of an embedding; that of the padding index is zero, as in PyTorch."""
    rows = compute_embedding_grad_sample(layer, inputs, gradients)
    if layer.padding_idx is not None:
        rows[layer.weight][:, layer.padding_idx] = 0.0
    return rows


def _refuse_sorting(_: nn.Module, given: tuple[Any, ...]) -> None:
    """`PlanMismatch` for sequences that were sorted by length: Opacus does not sort them back."""
    first = given[0] if given else None
    order = first.sorted_indices if isinstance(first, PackedSequence) else None
    if order is not None and not bool((order == torch.arange(len(order)).to(order)).all()):
        raise PlanMismatch(
            "Packed sequences have to be in the order of their lengths: sort the examples in the "
            "collate function and use enforce_sorted=True, because gradients of single examples "
            "would be mixed up otherwise."
        )


class PerSampleModule(ObservedCalls, GradSampleModule):
    """Opacus' module with per-example gradients."""

    GRAD_SAMPLERS: ClassVar[dict[Any, Any]] = {
        **GradSampleModule.GRAD_SAMPLERS,
        nn.Embedding: _embedding_rows,
    }

    def __init__(self, model: nn.Module) -> None:
        super().__init__(model, loss_reduction="sum")
        # A second backward pass would let an example contribute twice.
        self.forbid_grad_accumulation()
        for layer in model.modules():
            if isinstance(layer, (DPGRU, DPLSTM, DPRNN)):
                layer.register_forward_pre_hook(_refuse_sorting)


class PerSampleClipping:
    """Gradients of all examples are held at once, then clipped and summed."""

    def __init__(self, model: torch.nn.Module, *, clip: float) -> None:
        self.model = PerSampleModule(model)

    def clipped(
        self,
        losses: torch.Tensor,
        parameters: list[torch.Tensor],
        physical_batch: PhysicalBatch,
        limit: ClipLimit,
        *,
        keep: Sequence[int] = (),
    ) -> Contribution:
        """`PlanMismatch` if the gradients are not of as many examples as the batch has."""
        rows = self.gradients(losses, parameters)
        for gradient in rows:
            check_count(len(gradient), physical_batch)
        norms = per_example_norms(rows)
        factors = limit.factors(norms, physical_batch.indices)
        kept = [g[list(keep)].clone() for g in rows]
        finite = torch.isfinite(norms)
        if not finite.all():
            # Zero times infinity is not zero.
            rows, factors = [g[finite] for g in rows], factors[finite]
        return Contribution([weighted_sum(g, factors) for g in rows], kept)

    def gradients(self, losses: torch.Tensor, parameters: list[torch.Tensor]) -> list[torch.Tensor]:
        """The gradient of each example."""
        forget_gradients(self.model)
        losses.sum().backward()
        rows = [_of_examples(p, len(losses)) for p in parameters]
        forget_gradients(self.model)
        return rows


def check_count(found: int, physical_batch: PhysicalBatch) -> None:
    """`PlanMismatch` if there are not as many gradients as the batch has examples."""
    if found != physical_batch.size:
        raise PlanMismatch(
            f"The gradients are of {found} examples, but the batch that the plan drew has "
            f"{physical_batch.size}."
        )


def forget_gradients(model: nn.Module) -> None:
    """Drop the gradients on the model's parameters, of the sum and of examples."""
    for parameter in model.parameters():
        parameter.grad = None
        parameter.grad_sample = None


def forget_activations(model: torch.nn.Module) -> None:
    """Drop what Opacus keeps of forward passes that no backward pass followed."""
    for layer in model.modules():
        if getattr(layer, "activations", None):
            layer.activations = []
        if hasattr(layer, "max_batch_len"):
            del layer.max_batch_len
    for parameter in model.parameters():
        parameter._forward_counter = 0
        if hasattr(parameter, "_current_grad_sample"):
            del parameter._current_grad_sample


def _of_examples(parameter: torch.Tensor, size: int) -> torch.Tensor:
    """What Opacus left on the parameter, with a row for each example."""
    rows = getattr(parameter, "grad_sample", None)
    if isinstance(rows, torch.Tensor):
        return rows
    if parameter.grad is None:
        # The losses do not depend on it.
        return parameter.detach().new_zeros((size, *parameter.shape))
    raise PlanMismatch(
        "A parameter has no gradient for single examples: the model that make_private returned has "
        "to be called once for every batch (under torch.no_grad() as often as you like), and its "
        "parameters may only be used in their own layers."
    )
