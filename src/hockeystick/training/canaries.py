"""Canaries in a NumPy run: coordinates of their own, which only canaries have a gradient in."""

from __future__ import annotations

import numpy as np

from hockeystick._numerics.law import FloatArray
from hockeystick.audit import Recorder
from hockeystick.plan import Plan
from hockeystick.schemes import Indices

__all__ = ["RunCanaries"]


class RunCanaries:
    """`count` coordinates behind those of the gradient, one for each canary.

    The first half of the canaries are members: they are drawn into batches like examples, behind
    them in the numbering, and add the clip norm in their coordinate. The others never take part.
    Examples have no gradient there, so what is released along canaries says nothing about them,
    and examples are drawn as without canaries.
    """

    def __init__(
        self,
        plan: Plan,
        *,
        examples: int,
        count: int,
        noise_multiplier: float,
        max_grad_norm: float,
    ) -> None:
        self.count = count
        self._examples = examples
        self.recorder = Recorder(
            plan,
            noise_multiplier=noise_multiplier,
            max_grad_norm=max_grad_norm,
            members=np.arange(count) < count // 2,
        )
        self._present: Indices = np.empty(0, dtype=np.int64)

    @property
    def drawn_from(self) -> int:
        """Examples and members."""
        return self._examples + self.count // 2

    def without(self, batch: Indices) -> Indices:
        """The examples of a batch; its canaries are remembered."""
        self._present = batch[batch >= self._examples] - self._examples
        return batch[batch < self._examples]

    def added(self, total: FloatArray, spacing: float | None) -> FloatArray:
        """The sum with the gradients of the canaries that are present."""
        clip = self.recorder.max_grad_norm
        own = np.zeros(self.count)
        own[self._present] = clip if spacing is None else np.floor(clip / spacing)
        return np.concatenate((total, own))

    def split(self, released: FloatArray) -> FloatArray:
        """What was released without the canaries' coordinates, which are recorded."""
        self.recorder.add(released[-self.count :])
        return released[: -self.count]
