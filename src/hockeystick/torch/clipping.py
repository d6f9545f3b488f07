"""Factors of clipping and sums of clipped gradients, from gradients as Opacus computes them.

Each group of parameters has one factor for each example.
"""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, NoReturn, Protocol

import torch
from torch import nn

from hockeystick.errors import HockeystickError, PlanMismatch
from hockeystick.torch.per_sample_module import PerSampleModule, forget_gradients
from hockeystick.torch.progress import ClipLimit, PhysicalBatch
from hockeystick.torch.sums import grouped_squares, weighted_sum
from hockeystick.training.clip_rules import ClipParts

__all__ = [
    "Clipping",
    "Contribution",
    "PerSampleClipping",
    "as_mismatch",
    "backward",
    "clip_factors",
    "excess_within",
    "layers_of",
    "refuse_counts",
    "summed_squares",
]


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
    # Lengths are not negative: their sum is finite only if all of them are.
    if math.isfinite(norms.sum()):
        return factors, None
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


@dataclass(frozen=True, eq=False)
class Contribution:
    """What a physical batch adds to the sum, flat and in double precision for each parameter.

    With exact arithmetic in units of the lattice: integers.
    `rows` are the gradients of the examples to `keep`, `excess` counts how many more gradients were
    within the clip norm than not, for whoever adapts it.
    """

    sums: list[torch.Tensor]
    rows: list[torch.Tensor]
    excess: Callable[[], int]


# As `warnings` keeps it: action, message, category, module, line.
_HOOK_WITHOUT_INPUT = ("ignore", re.compile("Full backward hook is firing", re.I), Warning, None, 0)


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


class PerSampleClipping:
    """Gradients of all examples are held at once, then clipped and summed."""

    def __init__(
        self, model: torch.nn.Module, *, parts: ClipParts, spacing: float | None = None
    ) -> None:
        self.model, self._parts, self._spacing = PerSampleModule(model), parts, spacing

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
        if any(len(gradient) != physical_batch.size for gradient in rows):
            names = {id(p): name for name, p in self.model._module.named_parameters()}
            counts = {names[id(p)]: len(g) for p, g in zip(parameters, rows, strict=True)}
            refuse_counts(counts, physical_batch)
        kept = [g[list(keep)].clone() for g in rows] if keep else []
        rows = [g.detach().flatten(1) for g in rows]
        squares = grouped_squares(rows, self._parts.groups)
        factors, finite = clip_factors(squares, self._parts, limit, physical_batch)
        excess = partial(excess_within, squares, limit, physical_batch)
        if finite is not None:
            # Zero times infinity is not zero.
            rows, factors = [g[finite.to(g.device)] for g in rows], [f[finite] for f in factors]
        sums = [
            weighted_sum(g, factors[group], spacing=self._spacing)
            for g, group in zip(rows, self._parts.groups, strict=True)
        ]
        return Contribution(sums, kept, excess)

    def gradients(self, losses: torch.Tensor, parameters: list[torch.Tensor]) -> list[torch.Tensor]:
        """The gradient of each example."""
        forget_gradients(self.model)
        backward(losses.sum())
        rows = [_of_examples(p, len(losses)) for p in parameters]
        forget_gradients(self.model)
        return rows


def backward(loss: torch.Tensor, *, retain_graph: bool = False) -> None:
    """The backward pass, without PyTorch's warning about hooks of layers that are given data.

    Nothing is lost there: the gradient that such a hook lacks is that of the data. The filter for
    this one message stays, because putting it on and off in every step makes Python look through
    all filters again for every warning, some tenths of a millisecond.
    """
    if _HOOK_WITHOUT_INPUT not in warnings.filters:
        warnings.filterwarnings("ignore", message=_HOOK_WITHOUT_INPUT[1].pattern)
    loss.backward(retain_graph=retain_graph)


def refuse_counts(found: Mapping[str, int], physical_batch: PhysicalBatch) -> NoReturn:
    """`PlanMismatch`, because there are not as many gradients as the batch has examples.

    `found` has their number for each parameter or layer. If it is right for some of them, the batch
    is the right one, and the others were given something without a row for each example.
    """
    size = physical_batch.size
    name = next(name for name, count in found.items() if count != size)
    if size not in found.values():
        raise PlanMismatch(
            f"The gradients are of {found[name]} examples, but the batch that the plan drew has "
            f"{size}."
        )
    raise PlanMismatch(
        f"The gradients of {name} are of {found[name]} examples, but the batch has {size}: its "
        "layer was given something that is computed once for all examples, such as positions; give "
        "it a row for each example, as in positions.expand(len(tokens), -1), or freeze it before "
        "make_private by requires_grad_(False) (`hockeystick docs training`)."
    )


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


@contextmanager
def as_mismatch() -> Iterator[None]:
    """Turns errors of layers that Opacus or PyTorch cannot handle into a `PlanMismatch`."""
    try:
        yield
    except (HockeystickError, MemoryError):
        raise
    except Exception as error:
        raise PlanMismatch(
            "The gradients of single examples could not be computed "
            f"({type(error).__name__}: {' '.join(str(error).split())[:200]})."
        ) from error
