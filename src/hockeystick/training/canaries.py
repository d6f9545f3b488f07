"""Canaries of a run: coordinates of their own, in which only they have a gradient."""

from __future__ import annotations

from abc import abstractmethod
from typing import Self

import numpy as np

from hockeystick import _validate as check
from hockeystick._numerics.law import FloatArray
from hockeystick.audit import FEWEST, AuditReport, Recorder
from hockeystick.audit.crowd import crowd_possible
from hockeystick.errors import InvalidParameter, PlanMismatch
from hockeystick.plan import Plan
from hockeystick.schemes import Indices

__all__ = ["AuditedRun", "RunCanaries"]


# One canary in so many is in the crowd: a third of them alone, a third others, a third in the crowd.
CROWD = 3


class RunCanaries:
    """Canaries in coordinates behind those of the gradient.

    A third of them, behind the first hundred, is a crowd: members that share the last coordinate.
    Each other one has a coordinate of its own, and the first half of those are members. Members
    are drawn into batches like examples, behind them in the numbering, and add the clip norm in
    their coordinate. The others never take part. Examples have no gradient there, so what is
    released along canaries says nothing about them, and examples are drawn as without canaries.

    A crowd is at most as large as the data, for which sums are exact on the lattice of the run.
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
        crowd = min(count // CROWD, max(0, count - FEWEST), examples)
        # One member is no crowd: it would be a canary of its own.
        self._crowd = crowd if crowd > 1 and crowd_possible(plan) else 0
        alone = count - self._crowd
        self._alone = alone // 2
        self._examples = examples
        counts = [np.arange(alone) < self._alone, np.full(min(self._crowd, 1), self._crowd)]
        self.recorder = Recorder(
            plan,
            noise_multiplier=noise_multiplier,
            max_grad_norm=max_grad_norm,
            members=np.concatenate(counts),
        )
        self._present: Indices = np.empty(0, dtype=np.int64)

    @property
    def coordinates(self) -> int:
        """How many follow those of the gradient."""
        return self.recorder.members.size

    @property
    def members(self) -> int:
        """How many canaries are drawn into batches."""
        return self._alone + self._crowd

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
        return self._examples + self.members

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
        """The clip norm times the canaries present, in units of the spacing if any."""
        clip = self.recorder.max_grad_norm
        one = clip if spacing is None else np.floor(clip / spacing)
        own = np.zeros(self.coordinates)
        own[present[present < self._alone]] = one
        if self._crowd:
            own[-1] = one * np.count_nonzero(present >= self._alone)
        return own

    def split(self, released: FloatArray) -> FloatArray:
        """What was released without the canaries' coordinates, which are recorded."""
        self.recorder.add(released[-self.coordinates :])
        return released[: -self.coordinates]


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
