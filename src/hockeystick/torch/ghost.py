"""Ghost clipping: clipped sums without the gradients of single examples."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import torch

from hockeystick.errors import PlanMismatch
from hockeystick.torch.clipping import (
    Contribution,
    backward,
    clip_factors,
    excess_within,
    refuse_counts,
    summed_squares,
)
from hockeystick.torch.layer_gradients import (
    MOST_EXAMPLES,
    LayerCall,
    LayerGradients,
    layer_gradients,
)
from hockeystick.torch.layouts import Layout, zero_sum
from hockeystick.torch.per_sample_module import PerSampleModule, forget_gradients
from hockeystick.torch.progress import ClipLimit, PhysicalBatch
from hockeystick.training.clip_rules import ClipParts

__all__ = ["GhostClipping"]

# How far, relatively, norms may be below those of the gradients themselves, which are rounded to
# the type of the parameters: a few units in the last place.
NORM_ERROR = {torch.bfloat16: 2e-2, torch.float16: 2e-2}
NORM_ERROR_OTHERS = 1e-3


class GhostModule(PerSampleModule):
    """Opacus' module, which here keeps the inputs and output gradients of each layer."""

    def __init__(self, model: torch.nn.Module, *, formed: bool, spacing: float | None) -> None:
        super().__init__(model)
        self._formed, self._spacing = formed, spacing
        self.layer_calls: list[LayerCall] = []

    def capture_backprops_hook(
        self, module: Any, _: Any, gradients: Any, loss_reduction: str, batch_first: bool
    ) -> None:
        """Called in the backward pass for each forward call of a layer."""
        if not self.hooks_enabled:
            return
        inputs, found = self.rearrange_grad_samples(
            module=module,
            backprops=gradients[0].detach(),
            loss_reduction=loss_reduction,
            batch_first=batch_first,
        )
        self.layer_calls.append(LayerCall(module, inputs, found, module.max_batch_len))
        if not module.activations:
            del module.max_batch_len

    def take_layers(self) -> list[LayerGradients]:
        """The layers of the batch, each with all of its calls."""
        calls, self.layer_calls = self.layer_calls, []
        by_layer: dict[torch.nn.Module, list[LayerCall]] = {}
        for call in calls:
            by_layer.setdefault(call.layer, []).append(call)
        return [
            layer_gradients(some, self.sampler(layer), formed=self._formed, spacing=self._spacing)
            for layer, some in by_layer.items()
        ]

    def take_rows(self, parameters: list[torch.Tensor]) -> list[torch.Tensor]:
        """The gradients of single examples after all, for a few examples."""
        calls, self.layer_calls = self.layer_calls, []
        found: dict[torch.Tensor, torch.Tensor] = {}
        for call in calls:
            rows = self.sampler(call.layer)(call.layer, call.inputs, call.gradients)
            for parameter, own in rows.items():
                if parameter not in found:
                    found[parameter] = own.new_zeros((call.examples, *parameter.shape))
                found[parameter][: len(own)] += own
        examples = calls[0].examples if calls else 0
        return [
            found[p].detach()
            if p in found
            else torch.zeros((examples, *p.shape), dtype=p.dtype, device=p.device)
            for p in parameters
        ]


class GhostClipping:
    """Clipping with less memory: per-example gradients of one layer at a time.

    Those of linear layers and embeddings are never formed [Li21]. The sum is that of per-sample
    clipping, up to rounding; under autocast Opacus rounds per-example gradients to half precision,
    and ghost clipping does not.

    `formed`: those of every layer are formed, still one layer at a time. So "per-sample" clipping
    is done where parameters are sharded and no rank has room for the gradients of all layers. With
    a `spacing` they are rounded to its multiples, which needs them formed.
    """

    def __init__(
        self,
        model: torch.nn.Module,
        layout: Layout,
        *,
        parts: ClipParts,
        formed: bool = False,
        spacing: float | None = None,
    ) -> None:
        formed, self._parts = formed or spacing is not None, parts
        self.model, self._layout = GhostModule(model, formed=formed, spacing=spacing), layout

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
        if physical_batch.size > MOST_EXAMPLES:
            raise PlanMismatch(
                f"Ghost clipping takes at most {MOST_EXAMPLES:,} examples at once, got "
                f"{physical_batch.size:,}; give physical_batch_size to make_private."
            )
        used = self._backward(losses, parameters)
        calls = self.model.layer_calls
        if any(call.examples != physical_batch.size for call in calls):
            names = {layer: name for name, layer in self.model._module.named_modules()}
            refuse_counts({names[call.layer]: call.examples for call in calls}, physical_batch)
        kept = _some(self.model.layer_calls, keep)
        layers = self.model.take_layers()
        own = [layer.squares() for layer in layers]
        squares = self._collected(own)
        _check_used(used, squares)
        of_each = [squares[p].cpu() if p in squares else None for p in parameters]
        totals = summed_squares(of_each, self._parts, physical_batch)
        factors, _ = clip_factors(totals, self._parts, limit, physical_batch)
        layer_of = {p: layer for layer, some in zip(layers, own, strict=True) for p in some}
        sums = self._sums(parameters, layer_of, factors)
        self.model.layer_calls = kept
        rows = self.model.take_rows(parameters) if keep else []
        return Contribution(sums, rows, partial(excess_within, totals, limit, physical_batch))

    def _sums(
        self,
        parameters: list[torch.Tensor],
        layer_of: dict[torch.Tensor, LayerGradients],
        factors: list[torch.Tensor],
    ) -> list[torch.Tensor]:
        """Clipped sums; of one layer at a time where ranks exchange them."""
        waiting: dict[torch.Tensor, torch.Tensor] = {}
        groups = dict(zip(parameters, self._parts.groups, strict=True))
        found = []
        for number, parameter in enumerate(parameters):
            if parameter in layer_of and parameter not in waiting:
                # A module without a formula of its own may have several layers inside.
                group = groups[parameter]
                some = layer_of[parameter].weighted(factors[group])
                waiting.update({p: own for p, own in some.items() if groups.get(p) == group})
            total = waiting.pop(parameter, None)
            if total is None:
                total = zero_sum(parameter.numel(), parameter.device)
            found.append(self._layout.scattered(number, total.to(parameter.device)))
        return found

    def gradients(self, losses: torch.Tensor, parameters: list[torch.Tensor]) -> list[torch.Tensor]:
        """The gradients themselves; `PlanMismatch` if the norms are others than theirs."""
        used = self._backward(losses, parameters)
        calls = list(self.model.layer_calls)
        squares = self._collected([layer.squares() for layer in self.model.take_layers()])
        _check_used(used, squares)
        self.model.layer_calls = calls
        rows = self.model.take_rows(parameters)
        norms = [torch.linalg.vector_norm(own.double().flatten(1), dim=1) for own in rows]
        size = torch.linalg.vector_norm(torch.stack(norms), dim=0)
        for parameter, norm in zip(parameters, norms, strict=True):
            error = NORM_ERROR.get(parameter.dtype, NORM_ERROR_OTHERS) * size
            if parameter in squares and bool((squares[parameter].sqrt() < norm - error).any()):
                raise PlanMismatch(
                    "The norms that ghost clipping computes are smaller than those of the "
                    'gradients; use clipping="per-sample".'
                )
        return rows

    def _collected(
        self, parts: list[dict[torch.Tensor, torch.Tensor]]
    ) -> dict[torch.Tensor, torch.Tensor]:
        """Of all layers; `PlanMismatch` for a parameter that is in two of them."""
        found: dict[torch.Tensor, torch.Tensor] = {}
        for part in parts:
            if shared := found.keys() & part.keys():
                every = self.model._module.named_parameters(remove_duplicate=False)
                names = [name for name, p in every if p in shared]
                raise PlanMismatch(
                    f"Layers share a parameter ({' and '.join(names)}), which ghost clipping does "
                    'not handle; use clipping="per-sample", or untie it.'
                )
            found.update(part)
        return found

    def _backward(self, losses: torch.Tensor, parameters: list[torch.Tensor]) -> set[torch.Tensor]:
        """One backward pass; returns the parameters that took part in it."""
        self.model.layer_calls = []
        forget_gradients(self.model)
        backward(losses.sum())
        used = {p for p in parameters if p.grad is not None}
        forget_gradients(self.model)
        return used


def _some(calls: list[LayerCall], rows: Sequence[int]) -> list[LayerCall]:
    """The same calls for some examples only."""
    if not rows:
        return []
    # A recurrent layer has fewer and fewer examples: those that last so long come first.
    return [
        LayerCall(
            call.layer,
            [_first(t, rows) for t in call.inputs],
            _first(call.gradients, rows),
            len(rows),
        )
        for call in calls
    ]


def _first(values: torch.Tensor, rows: Sequence[int]) -> torch.Tensor:
    return values[[row for row in rows if row < len(values)]]


def _check_used(used: set[torch.Tensor], known: dict[torch.Tensor, torch.Tensor]) -> None:
    """Every parameter that took part did so in its own layer."""
    if not used <= known.keys():
        raise PlanMismatch(
            "A parameter was used outside of its own layer, or its layer was called without the "
            "run's model, so that its gradient for single examples is not known."
        )
