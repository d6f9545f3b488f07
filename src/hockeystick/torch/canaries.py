"""Canaries of a PyTorch run: batches that hold them too, noise with coordinates for them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch

from hockeystick.errors import PlanMismatch
from hockeystick.plan import Plan
from hockeystick.randomness import RandomSource
from hockeystick.schemes import Attribution, Indices
from hockeystick.torch.batch_sampler import BatchSampler
from hockeystick.torch.noise_stream import TorchNoiseStream
from hockeystick.torch.progress import RunSettings
from hockeystick.training.canaries import RunCanaries

__all__ = ["CanaryBatches", "CanaryNoise", "sampler_of"]


class CanaryBatches(BatchSampler):
    """The plan's batches of examples and members; it gives the examples and keeps the members.

    Loaders draw ahead, so the members of each step are kept until its noise is drawn.
    """

    def __init__(self, canaries: RunCanaries, plan: Plan, **options: Any) -> None:
        self.canaries = canaries
        self._members: dict[int, Indices] = {}
        super().__init__(plan, examples=canaries.drawn_from, **options)

    def batch(self, step: int) -> Indices:
        """The examples of the step's batch."""
        drawn = super().batch(step)
        first = self.canaries.drawn_from - self.canaries.members
        self._members[step] = drawn[drawn >= first] - first
        return drawn[drawn < first]

    def members(self, step: int) -> Indices:
        """Who of the canaries was in the batch of a step, asked for once."""
        return self._members.pop(step)


class CanaryNoise(TorchNoiseStream):
    """A stream with a last tensor for the canaries, whose noisy sums are recorded in each step."""

    def __init__(
        self, batches: CanaryBatches, plan: Plan, like: Iterable[torch.Tensor], **options: Any
    ) -> None:
        self._canary_batches = batches
        like = list(like)
        # In double precision only if a parameter has it, as without canaries.
        wide = any(p.dtype == torch.float64 for p in like)
        kind = torch.float64 if wide else torch.float32
        own = torch.zeros(batches.canaries.coordinates, dtype=kind, device=like[0].device)
        super().__init__(plan, [*like, own], **options)

    def __next__(self) -> list[torch.Tensor]:
        step = self.step
        *noise, own = super().__next__()
        canaries, spacing = self._canary_batches.canaries, self.lattice
        sums = canaries.gradients(self._canary_batches.members(step), spacing)
        noisy = sums + own.double().cpu().numpy()
        canaries.recorder.add(noisy * (1.0 if spacing is None else spacing))
        return noise

    def head(self) -> dict[str, Any]:
        """Refused: what was recorded so far is not a part of states."""
        raise PlanMismatch("A run with canaries cannot be saved or restored: run it in one go.")


def sampler_of(
    settings: RunSettings,
    graph: int | Attribution,
    canaries: int | None,
    *,
    rng: RandomSource,
    constant: bool,
) -> BatchSampler:
    """The batches of the run, with canaries if any were asked for."""
    own = RunCanaries.of(
        canaries,
        settings.plan,
        examples=settings.examples,
        noise_multiplier=settings.noise_multiplier,
        max_grad_norm=settings.max_grad_norm,
        constant=constant,
    )
    if own is None:
        return BatchSampler(settings.plan, examples=graph, rng=rng)
    return CanaryBatches(own, settings.plan, rng=rng)
