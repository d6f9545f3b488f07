"""Results of the passes of the independence probe: their distance, the report, the cause."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch.utils._pytree import tree_leaves

from hockeystick.torch.clipping import backward
from hockeystick.torch.per_sample_module import forget_gradients
from hockeystick.torch.replay import ProbeExamples

__all__ = [
    "SINGLE_FEATURES",
    "PassResult",
    "ProbeReport",
    "first_mixing_layer",
    "joint_report",
    "length_of",
    "one_by_one",
    "relative_change",
]

# A loss or gradient this much smaller than the largest is compared relative to the largest, because
# rounding is relative to the terms that cancel in it.
NEGLIGIBLE = 1e-3


@dataclass(frozen=True, eq=False)
class PassResult:
    """Losses and gradients of some examples in one pass, and the buffers that the pass changed."""

    losses: torch.Tensor
    gradients: list[torch.Tensor]
    buffers: dict[str, torch.Tensor]

    def select(self, part: Sequence[int]) -> PassResult:
        """The same for some of the examples."""
        rows = list(part)
        return PassResult(self.losses[rows], [g[rows] for g in self.gradients], self.buffers)


# Numbers that are in double precision at a time (32 MB); fewer are taken together.
AT_ONCE = 2**22


def relative_change(now: list[torch.Tensor], expected: list[torch.Tensor]) -> float:
    """The largest change of a row, relative to its length (or that of the longest).

    Rows that are not finite contribute nothing to a sum: two of them are equal. Needs little
    memory beside the rows themselves.
    """
    finite = [torch.ones(len(expected[0]), dtype=torch.bool) for _ in range(2)]
    moved, sizes = [], []
    for pair in zip(_pieces(now), _pieces(expected), strict=True):
        for known, rows in zip(finite, pair, strict=True):
            known.logical_and_(torch.isfinite(rows).all(dim=1))
        moved.append(torch.linalg.vector_norm(pair[0] - pair[1], dim=1))
        sizes.append(torch.linalg.vector_norm(pair[1], dim=1))
    if not torch.equal(*finite):
        return math.inf
    if not finite[0].any():
        return 0.0
    change, size = (
        torch.linalg.vector_norm(torch.stack(parts), dim=0)[finite[0]] for parts in (moved, sizes)
    )
    floor = max(float(size.max()) * NEGLIGIBLE, torch.finfo(torch.float32).tiny)
    return float((change / size.clamp(min=floor)).max())


def length_of(values: torch.Tensor, other: torch.Tensor | None = None) -> float:
    """The length of all of them in double precision, or of their distance from others.

    A length of numbers that are not finite is that of the largest finite ones in their place; a
    distance from them is no number.
    """
    found = []
    others = None if other is None else list(other.detach().flatten().split(AT_ONCE))
    for i, part in enumerate(values.detach().flatten().split(AT_ONCE)):
        block = part.double()
        block = block.nan_to_num() if others is None else block - others[i].double()
        found.append(torch.linalg.vector_norm(block))
    return float(torch.linalg.vector_norm(torch.stack(found)))


def one_by_one(
    model: Any,
    parameters: list[torch.Tensor],
    losses_of: Callable[[], torch.Tensor],
    take: Callable[[int, list[torch.Tensor]], None],
) -> torch.Tensor:
    """Losses; `take` gets the gradients of each by PyTorch alone, of one loss at a time."""
    model.disable_hooks()
    try:
        losses = losses_of()
        for row, one in enumerate(losses):
            forget_gradients(model)
            backward(one, retain_graph=True)
            take(row, [torch.zeros_like(p) if p.grad is None else p.grad for p in parameters])
    finally:
        forget_gradients(model)
        model.enable_hooks()
    return losses.detach()


def _pieces(values: list[torch.Tensor]) -> Iterator[torch.Tensor]:
    """One row for each example, in double precision; a few columns at a time if there are many."""
    if sum(rows.numel() for rows in values) <= AT_ONCE:
        yield torch.cat([_flat(rows).double().cpu() for rows in values], dim=1)
        return
    for rows in values:
        for block in _flat(rows).split(max(AT_ONCE // max(len(rows), 1), 1), dim=1):
            yield block.double().cpu()


def _flat(rows: torch.Tensor) -> torch.Tensor:
    return rows.detach().reshape(len(rows), -1)


@dataclass(frozen=True)
class ProbeReport:
    """A probe that found no influence of one example on another; `run.probe()` returns it.

    Attributes
    ----------
    step
        The step in which it ran, counted from 1.
    examples
        How many examples were compared.
    largest_change
        The largest relative change of a loss or gradient, in double precision where single
        precision could not decide.
    inputs_as_loaded
        Whether the model and the criterion got what the loader returned; what the loop did to a
        batch before that is not probed.
    changing_buffers
        Buffers that change in every pass, whatever the data.
    """

    step: int
    examples: int
    largest_change: float
    inputs_as_loaded: bool
    changing_buffers: frozenset[str] = frozenset()

    def describe(self) -> dict[str, Any]:
        """The fields that a statement reports."""
        return {
            "step": self.step,
            "examples": self.examples,
            "largest_change": self.largest_change,
            "inputs_as_loaded": self.inputs_as_loaded,
        }


def joint_report(reports: Sequence[ProbeReport]) -> ProbeReport:
    """What several ranks found in the same step, each with examples of its own."""
    return ProbeReport(
        step=reports[0].step,
        examples=sum(report.examples for report in reports),
        largest_change=max(report.largest_change for report in reports),
        inputs_as_loaded=all(report.inputs_as_loaded for report in reports),
        changing_buffers=frozenset[str]().union(*(report.changing_buffers for report in reports)),
    )


def first_mixing_layer(module: torch.nn.Module, probed: ProbeExamples, tolerance: float) -> str:
    """The first layer whose output for some examples changes when the others are there."""
    part = range((len(probed) + 1) // 2)
    together = _outputs(module, probed, range(len(probed)))
    alone = _outputs(module, probed, part)
    for (name, everyone), (_, some) in zip(together, alone, strict=False):
        if len(everyone) != len(probed) or len(some) != len(part):
            continue
        expected = everyone[list(part)]
        close = tolerance * float(expected.abs().max())
        if expected.shape == some.shape and not bool(((some - expected).abs() <= close).all()):
            return f"the layer {name}{_advice(module.get_submodule(name.partition(' ')[0]))}"
    return "the criterion, the model outside of its layers, or the backward pass"


# In the place of group normalisation with one feature in each group.
SINGLE_FEATURES = "torch.nn.LayerNorm, or fewer groups"


def _advice(layer: torch.nn.Module) -> str:
    """What to do about group normalisation of single values, as `ModuleValidator.fix` makes it."""
    if not isinstance(layer, torch.nn.GroupNorm) or layer.num_groups != layer.num_channels:
        return ""
    return (
        " - each of its groups is one feature, and where that is a single number its output is "
        f"rounding alone; take {SINGLE_FEATURES}"
    )


def _outputs(
    module: torch.nn.Module, probed: ProbeExamples, part: Sequence[int]
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
            probed.losses(part)
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
