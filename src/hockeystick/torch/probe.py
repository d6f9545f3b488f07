"""The independence probe: nothing of an example may change when others leave the batch.

Clipping bounds what an example adds to the sum. That is all of its influence only if the losses and
gradients of the *other* examples do not depend on it. Layers, functional calls, losses and hooks
that use statistics of the batch break this, and so do buffers that are updated from data. The probe
computes losses and gradients of a few examples together and in parts of the group, so that each two
of them are together once and apart once, and compares.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

from hockeystick.errors import PlanMismatch
from hockeystick.torch.buffers import kept_buffers
from hockeystick.torch.clipping import Clipping
from hockeystick.torch.mixing_layer import first_mixing_layer
from hockeystick.torch.rowwise import kept_random_states
from hockeystick.torch.sample import Sample

__all__ = ["IndependenceProbe", "ProbeReport"]

# Largest relative change that rounding explains: other batch sizes sum in another order. Measured
# by tests/pytorch/test_random_networks.py, which prints it.
TOLERANCE = {torch.float32: 3e-4, torch.float64: 1e-9}
# A loss or gradient this much smaller than the largest of the sample is measured by the largest.
NEGLIGIBLE = 1e-3
# How far the gradients that Opacus computes may be from those of the losses, by rounding.
WRONG = 2e-3


@dataclass(frozen=True)
class ProbeReport:
    """A probe that found no influence of one example on another.

    `largest_change` is the largest relative change of a loss or gradient that was seen;
    `whole_batch` says whether the whole batch of the step was compared as well, which randomness
    such as dropout and reduced precision prevent.
    """

    step: int
    examples: int
    largest_change: float
    whole_batch: bool
    changing_buffers: frozenset[str] = frozenset()

    def describe(self) -> dict[str, Any]:
        """For the statement."""
        return {
            "step": self.step,
            "examples": self.examples,
            "largest_change": self.largest_change,
            "whole_batch": self.whole_batch,
        }


@dataclass(frozen=True, eq=False)
class Outcome:
    """Losses and gradients of some examples, and the buffers that their pass has changed."""

    losses: torch.Tensor
    gradients: list[torch.Tensor]
    buffers: dict[str, torch.Tensor]

    def select(self, part: Sequence[int]) -> Outcome:
        """The same for some of them."""
        rows = list(part)
        return Outcome(self.losses[rows], [g[rows] for g in self.gradients], self.buffers)


class IndependenceProbe:
    """Runs on a sample of a recorded batch: seven forward and backward passes of few examples."""

    def __init__(self, clipping: Clipping, parameters: list[torch.Tensor]) -> None:
        self._clipping, self._parameters = clipping, parameters
        self._module: torch.nn.Module = clipping.model._module
        wide = all(p.dtype == torch.float64 for p in parameters)
        self._tolerance = TOLERANCE[torch.float64 if wide else torch.float32]

    def __call__(
        self,
        sample: Sample,
        *,
        batch: tuple[torch.Tensor, list[torch.Tensor]] | None,
        step: int,
    ) -> ProbeReport:
        """`PlanMismatch` if an example influences another.

        `batch` has the losses and gradients of the sample as the whole batch gave them.
        """
        with kept_random_states([p.device for p in self._parameters]), torch.enable_grad():
            whole = self._pass(sample, range(len(sample)))
            changes = []
            parts = halves(len(sample))
            # The first part again, last: something may be kept from pass to pass.
            for part in (*parts, parts[0]):
                outcome = self._pass(sample, part)
                changes.append(self._change(outcome, whole.select(part), sample))
            compared = batch is not None and not (
                sample.random_operations or sample.in_reduced_precision
            )
            if batch is not None and compared:
                changes.append(self._change(Outcome(*batch, whole.buffers), whole, sample))
            self._check_gradients(sample, whole)
        return ProbeReport(
            step=step,
            examples=len(sample),
            largest_change=max(changes),
            whole_batch=compared,
            changing_buffers=frozenset(whole.buffers),
        )

    def _pass(self, sample: Sample, part: Sequence[int]) -> Outcome:
        """These examples alone; afterwards buffers are as they were."""
        with kept_buffers(self._module) as buffers:
            losses = sample.losses(part)
            gradients = self._clipping.gradients(losses, self._parameters)
            return Outcome(losses.detach(), gradients, buffers.changed())

    def _change(self, now: Outcome, expected: Outcome, sample: Sample) -> float:
        """The largest relative change; `PlanMismatch` if it is not rounding."""
        of_losses = _relative([now.losses], [expected.losses])
        of_gradients = _relative(now.gradients, expected.gradients)
        for what, change in (("loss", of_losses), ("gradient", of_gradients)):
            if not change <= self._tolerance:
                where = first_mixing_layer(self._module, sample, self._tolerance)
                raise PlanMismatch(
                    f"Examples of a batch influence each other: the {what} of one changes by "
                    f"{change:.2g} of its size with the others that are there, first seen in "
                    f"{where}; each example's loss has to depend on that example alone."
                )
        for name in {*now.buffers, *expected.buffers}:
            one, other = now.buffers.get(name), expected.buffers.get(name)
            if one is None or other is None or not torch.equal(one, other):
                raise PlanMismatch(
                    f"The buffer {name} is updated from the examples of a batch; what it keeps "
                    "would leave the run without noise."
                )
        return max(of_losses, of_gradients)

    def _check_gradients(self, sample: Sample, whole: Outcome) -> None:
        """The gradients that are clipped are those of the examples' losses."""
        true = self._clipping.from_gradients(self._true_gradients(sample))
        errors = [
            torch.linalg.vector_norm(_rows(a) - _rows(b), dim=1)
            for a, b in zip(whole.gradients, true, strict=True)
        ]
        size = torch.linalg.vector_norm(torch.cat([_rows(t) for t in true], dim=1), dim=1)
        size = size.clamp(min=torch.finfo(torch.float32).tiny)
        names = {id(p): name for name, p in self._module.named_parameters()}
        for parameter, error in zip(self._parameters, errors, strict=True):
            if not bool((error <= WRONG * size).all()):
                raise PlanMismatch(
                    "The gradients of single examples that Opacus computes for "
                    f"{names[id(parameter)]} are not those of the examples' losses (wrong by "
                    f"{float((error / size).max()):.2g} of their size); a parameter that is shared "
                    "between layers, or used outside of its own, is a usual cause."
                )

    def _true_gradients(self, sample: Sample) -> list[torch.Tensor]:
        """By PyTorch alone, one example after the other; for each parameter a row for each."""
        model = self._clipping.model
        model.disable_hooks()
        try:
            with kept_buffers(self._module):
                losses = sample.losses(range(len(sample)))
            each = [
                torch.autograd.grad(one, self._parameters, retain_graph=True, allow_unused=True)
                for one in losses
            ]
        finally:
            model.enable_hooks()
        return [
            torch.stack([torch.zeros_like(p) if g is None else g for g in gradients])
            for p, gradients in zip(self._parameters, zip(*each, strict=True), strict=True)
        ]


def halves(size: int) -> list[list[int]]:
    """Parts of range(size): every two numbers are in different parts of one of the divisions."""
    bits = range((size - 1).bit_length())
    return [[i for i in range(size) if i >> bit & 1 == side] for bit in bits for side in (0, 1)]


def _relative(now: list[torch.Tensor], expected: list[torch.Tensor]) -> float:
    """The largest change of a row, relative to its length (or that of the longest)."""
    one = torch.cat([_rows(rows) for rows in now], dim=1)
    other = torch.cat([_rows(rows) for rows in expected], dim=1)
    size = torch.linalg.vector_norm(other, dim=1)
    floor = max(float(size.max()) * NEGLIGIBLE, torch.finfo(torch.float32).tiny)
    return float((torch.linalg.vector_norm(one - other, dim=1) / size.clamp(min=floor)).max())


def _rows(values: torch.Tensor) -> torch.Tensor:
    """One row for each example, finite and in double precision."""
    finite = values.detach().double().nan_to_num(posinf=1e30, neginf=-1e30)
    return finite.reshape(len(values), -1).cpu()
