"""Norms and clipped sums of the gradients of one layer, from its inputs and output gradients.

For a linear layer the gradient of an example is the sum over its positions t of g_t a_t', where a_t
is the input and g_t the gradient at the output. Its norm follows from inner products (ghost
clipping [Li21]), and the clipped sum over the batch is one matrix product (book-keeping [Bu22]):
the gradients of single examples are never formed, and what is summed is what was measured.

All of it is in double precision. Where the positions of an example cancel, they are rounded in a
sum over the batch as if they did not: in a sum of m numbers by at most m * 1.2e-16 times the sum of
their sizes. Twice that is added to the measured norm, so that clipping covers it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import torch
from opacus.grad_sample.embedding import compute_embedding_grad_sample
from opacus.grad_sample.linear import compute_linear_grad_sample
from torch import nn

from hockeystick.torch.model_state import layer_type
from hockeystick.torch.sums import squared_norms, weighted_sum

__all__ = ["MOST_EXAMPLES", "SAMPLERS", "LayerCall", "LayerGradients", "layer_gradients"]

# The unit roundoff of double precision, 2^-53, rounded up.
ROUNDING = 1.2e-16
# Examples in a physical batch, at most: what rounding adds is for sums over so many of them.
MOST_EXAMPLES = 2**20
# Numbers of per-example gradients that are formed at a time (128 MB).
AT_ONCE = 2**24

OfParameters = dict[torch.Tensor, torch.Tensor]
# From a layer, its inputs and its output gradients to a gradient for each example.
Sampler = Callable[[nn.Module, list[torch.Tensor], torch.Tensor], OfParameters]


@dataclass(frozen=True, eq=False)
class LayerCall:
    """One forward call of a layer: its inputs, and the gradients at its output."""

    layer: nn.Module
    inputs: list[torch.Tensor]
    gradients: torch.Tensor
    examples: int


class LayerGradients(Protocol):
    """What is needed of the per-example gradients of a layer."""

    def squares(self) -> OfParameters:
        """For each parameter an upper bound of the squared norm of each example's gradient."""

    def weighted(self, factors: torch.Tensor) -> OfParameters:
        """For each parameter the sum of factor times gradient, flat; 0 leaves an example out."""


def layer_gradients(
    calls: Sequence[LayerCall],
    sampler: Sampler,
    *,
    formed: bool = False,
    spacing: float | None = None,
) -> LayerGradients:
    """The cheapest way for the layer; gradients of examples are formed if need be, or wanted.

    With a `spacing`, formed ones are rounded to it (`weighted_sum`).
    """
    first = calls[0]
    if len(calls) == 1 and layer_type(first.layer) is nn.Linear and not formed:
        return _Linear(first)
    if len(calls) == 1 and layer_type(first.layer) is nn.Embedding and not formed:
        return _Embedding(first)
    return _Formed(calls, sampler, spacing)


class _Linear:
    """A linear layer, at any number of positions."""

    def __init__(self, call: LayerCall) -> None:
        self._layer: Any = call.layer
        self._inputs = call.inputs[0].flatten(1, -2) if call.inputs[0].ndim > 2 else call.inputs[0]
        self._gradients = (
            call.gradients.flatten(1, -2) if call.gradients.ndim > 2 else call.gradients
        )
        if self._inputs.ndim == 2:
            self._inputs, self._gradients = self._inputs[:, None], self._gradients[:, None]

    def squares(self) -> OfParameters:
        """Exact up to rounding in double precision, which is added."""
        found: OfParameters = {}
        size = max(AT_ONCE // max(self._numbers(), 1), 1)
        parts = [
            self._squares(a.double(), g.double())
            for a, g in zip(self._inputs.split(size), self._gradients.split(size), strict=True)
        ]
        if self._layer.weight.requires_grad:
            found[self._layer.weight] = torch.cat([weight for weight, _ in parts])
        if self._layer.bias is not None and self._layer.bias.requires_grad:
            found[self._layer.bias] = torch.cat([bias for _, bias in parts])
        return found

    def _numbers(self) -> int:
        """How many numbers are formed for one example."""
        positions = self._inputs.shape[1]
        pairs, entries = positions**2, self._inputs.shape[2] * self._gradients.shape[2]
        return min(pairs, entries) + positions * (self._inputs.shape[2] + self._gradients.shape[2])

    def _squares(self, a: torch.Tensor, g: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Of the weight and of the bias, for some examples."""
        sizes = torch.linalg.vector_norm(g, dim=2)
        lengths = sizes * torch.linalg.vector_norm(a, dim=2)
        of_bias = torch.linalg.vector_norm(g.sum(dim=1), dim=1)
        of_bias = _with_rounding(of_bias, sizes.sum(dim=1), sizes.shape[1])
        return self._of_weight(a, g, lengths).square(), of_bias.square()

    def _of_weight(self, a: torch.Tensor, g: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        """Norms, at least; `lengths` are those of the positions."""
        positions, total = a.shape[1], lengths.sum(dim=1)
        if positions == 1:
            return total
        if positions**2 > a.shape[2] * g.shape[2]:
            norms = torch.linalg.vector_norm((g.mT @ a).flatten(1), dim=1)
        else:
            inner = ((g @ g.mT) * (a @ a.mT)).sum(dim=(1, 2)).clamp(min=0.0)
            # The inner products are known to rounding of their sizes only.
            terms = positions**2 + a.shape[2] + g.shape[2]
            norms = (inner + terms * ROUNDING * total.square()).sqrt()
        return _with_rounding(norms, total, positions)

    def weighted(self, factors: torch.Tensor) -> OfParameters:
        """A matrix product over examples and positions."""
        kept = factors > 0
        a = self._inputs[kept].double()
        g = self._gradients[kept].double() * factors[kept].to(a.device)[:, None, None]
        found: OfParameters = {}
        if self._layer.weight.requires_grad:
            found[self._layer.weight] = (g.flatten(0, 1).mT @ a.flatten(0, 1)).flatten()
        if self._layer.bias is not None and self._layer.bias.requires_grad:
            found[self._layer.bias] = g.sum(dim=(0, 1))
        return found


class _Embedding:
    """An embedding: gradients of equal indices of an example are added, then squared."""

    def __init__(self, call: LayerCall) -> None:
        self._layer: Any = call.layer
        self._examples = call.examples
        indices = call.inputs[0].reshape(call.examples, -1)
        self._positions = indices.shape[1]
        rows = torch.arange(call.examples, device=indices.device)[:, None].expand_as(indices)
        counted = torch.ones_like(indices, dtype=torch.bool)
        if self._layer.padding_idx is not None:
            counted = indices != self._layer.padding_idx
        self._indices, self._rows = indices[counted], rows[counted]
        width = call.gradients.shape[-1]
        self._gradients = call.gradients.reshape(call.examples, -1, width)[counted].double()

    def squares(self) -> OfParameters:
        """Of the sums over equal indices."""
        pairs = self._rows * self._layer.num_embeddings + self._indices
        known, place = torch.unique(pairs, return_inverse=True)
        sums = self._gradients.new_zeros(len(known), self._gradients.shape[-1])
        sums.index_add_(0, place, self._gradients)
        squares = self._gradients.new_zeros(self._examples)
        squares.index_add_(0, known // self._layer.num_embeddings, sums.square().sum(dim=1))
        sizes = self._gradients.new_zeros(self._examples)
        sizes.index_add_(0, self._rows, torch.linalg.vector_norm(self._gradients, dim=1))
        norms = _with_rounding(squares.sqrt(), sizes, self._positions)
        return {self._layer.weight: norms.square()}

    def weighted(self, factors: torch.Tensor) -> OfParameters:
        """Added to the rows of their indices."""
        factors = factors.to(self._gradients.device)[self._rows]
        kept = factors > 0
        total = self._gradients.new_zeros(self._layer.weight.shape)
        total.index_add_(0, self._indices[kept], self._gradients[kept] * factors[kept, None])
        return {self._layer.weight: total.flatten()}


def _with_rounding(norms: torch.Tensor, total: torch.Tensor, positions: int) -> torch.Tensor:
    """Norms and what rounding adds, if the sizes of so many positions add up to `total`."""
    return norms if positions == 1 else norms + 2.0 * ROUNDING * MOST_EXAMPLES * positions * total


class _Formed:
    """Any other layer: its per-example gradients are formed, and formed again for the sum."""

    def __init__(self, calls: Sequence[LayerCall], sampler: Sampler, spacing: float | None) -> None:
        self._calls, self._sampler, self._spacing = calls, sampler, spacing
        self._measured: OfParameters = {}

    def rows(self) -> OfParameters:
        """The gradient of each example, for each parameter, over all calls."""
        found: OfParameters = {}
        for call in self._calls:
            for parameter, rows in self._sampler(call.layer, call.inputs, call.gradients).items():
                if not parameter.requires_grad:
                    continue
                if parameter not in found:
                    shape = (call.examples, *parameter.shape)
                    found[parameter] = rows.new_zeros(shape)
                found[parameter][: len(rows)] += rows
        return found

    def squares(self) -> OfParameters:
        """Of the rows."""
        self._measured = {p: squared_norms(rows) for p, rows in self.rows().items()}
        return self._measured

    def weighted(self, factors: torch.Tensor) -> OfParameters:
        """Of the rows, which are as long as they were measured even if a device is not exact."""
        found: OfParameters = {}
        kept = factors > 0
        for parameter, every in self.rows().items():
            rows = every[kept.to(every.device)]
            now = squared_norms(rows).clamp(min=torch.finfo(torch.float64).tiny)
            shorter = (self._measured[parameter][kept] / now).sqrt().clamp(max=1.0)
            weights = factors[kept] * shorter
            found[parameter] = weighted_sum(rows, weights, spacing=self._spacing)
        return found


def _embedding_rows(layer: Any, inputs: Any, gradients: torch.Tensor) -> Any:
    """Per-example gradients of an embedding; that of the padding index is zero, as in PyTorch."""
    rows = compute_embedding_grad_sample(layer, inputs, gradients)
    if layer.padding_idx is not None:
        rows[layer.weight][:, layer.padding_idx] = 0.0
    return rows


def _linear_rows(layer: Any, inputs: Any, gradients: torch.Tensor) -> Any:
    """The same products as Opacus' for one position, without the search for their order."""
    if gradients.ndim != 2 or inputs[0].ndim != 2:
        return compute_linear_grad_sample(layer, inputs, gradients)
    rows = {}
    if layer.weight.requires_grad:
        rows[layer.weight] = gradients[:, :, None] * inputs[0].to(gradients.dtype)[:, None]
    if layer.bias is not None and layer.bias.requires_grad:
        rows[layer.bias] = gradients
    return rows


# In the place of Opacus' own.
SAMPLERS: dict[type[nn.Module], Sampler] = {
    nn.Embedding: _embedding_rows,
    nn.Linear: _linear_rows,
}
