"""Canaries of a run: coordinates of their own, in which only they have a gradient."""

from __future__ import annotations

from abc import abstractmethod
from typing import Self

import numpy as np

from hockeystick import _validate as check
from hockeystick._numerics.law import FloatArray
from hockeystick.audit import AuditReport, Recorder
from hockeystick.errors import InvalidParameter, PlanMismatch
from hockeystick.plan import Plan
from hockeystick.schemes import Indices

__all__ = ["AuditedRun", "RunCanaries"]


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

    @classmethod
    def of(
        cls,
        count: int | None,
        plan: Plan,
        *,
        examples: int,
        noise_multiplier: float,
        max_grad_norm: float,
        constant: bool,
    ) -> Self | None:
        """Those that were asked for; `constant` says that no setting of the run ever changes."""
        if count is None:
            return None
        scheme = plan.sampling
        if not constant or scheme.unit != "example" or scheme.displaces:
            allowed = (
                "None with a filter, adaptive clipping, users, capped batches or several ranks"
            )
            raise InvalidParameter("canaries", allowed, count)
        return cls(
            plan,
            examples=examples,
            count=check.positive_integer("canaries", count),
            noise_multiplier=noise_multiplier,
            max_grad_norm=max_grad_norm,
        )

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
        return np.concatenate((total, self.gradients(self._present, spacing)))

    def own(self, spacing: float | None) -> FloatArray:
        """The sum of the gradients of the canaries in the latest batch, in units of the spacing."""
        return self.gradients(self._present, spacing)

    def gradients(self, present: Indices, spacing: float | None) -> FloatArray:
        """The clip norm for each canary that is present, in units of the spacing if any."""
        clip = self.recorder.max_grad_norm
        own = np.zeros(self.count)
        own[present] = clip if spacing is None else np.floor(clip / spacing)
        return own

    def split(self, released: FloatArray) -> FloatArray:
        """What was released without the canaries' coordinates, which are recorded."""
        self.recorder.add(released[-self.count :])
        return released[: -self.count]


class AuditedRun:
    """A run with canaries of its own, or without."""

    @property
    @abstractmethod
    def canaries(self) -> RunCanaries | None:
        """Those of the run; None if it was made without."""

    def audit(self, *, seed: int = 0) -> AuditReport:
        """Whether batches and noise so far were those of the plan, from the run's canaries.

        Parameters
        ----------
        seed
            For the draws of the plan that the run is compared with.

        Returns
        -------
        AuditReport
            `consistent`, `p_value`, `findings` and `epsilon_lower(delta)`.

        Raises
        ------
        PlanMismatch
            If the run was made without canaries, or no step was taken.
        """
        if self.canaries is None:
            raise PlanMismatch("The run has no canaries: make it with canaries=1000.")
        return self.canaries.recorder.audit(seed=seed)
