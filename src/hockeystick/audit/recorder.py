"""Recorder: projections of a run, one step at a time, from any training loop."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt
from numpy.typing import NDArray

from hockeystick import _validate as check_
from hockeystick._numerics.law import FloatArray
from hockeystick.audit.checking import FEWEST, check
from hockeystick.audit.report import AuditReport
from hockeystick.errors import InvalidParameter, PlanMismatch
from hockeystick.plan import Plan, require_plan

__all__ = ["Recorder"]


class Recorder:
    """Takes what each step released along the canaries, and audits the run.

    Parameters
    ----------
    plan
        What is said to be run.
    noise_multiplier, max_grad_norm
        The standard deviation of Z over the clip norm, and the clip norm.
    members
        For each canary whether it is in the data.

    Examples
    --------
    >>> import numpy as np
    >>> import hockeystick as hs
    >>> plan = hs.Plan(sampling=hs.FullBatch(), steps=3)
    >>> members = np.arange(200) < 100
    >>> recorder = hs.audit.Recorder(plan, noise_multiplier=1, max_grad_norm=0.5, members=members)
    >>> rng = np.random.default_rng(0)
    >>> for step in range(3):
    ...     noisy_sum = 0.5 * members + rng.normal(scale=0.5, size=200)
    ...     recorder.add(noisy_sum)
    >>> recorder.audit().consistent
    True
    """

    def __init__(
        self, plan: Plan, *, noise_multiplier: float, max_grad_norm: float, members: npt.ArrayLike
    ) -> None:
        require_plan(plan)
        self.plan = plan
        self.noise_multiplier = check_.positive("noise_multiplier", noise_multiplier)
        self.max_grad_norm = check_.positive("max_grad_norm", max_grad_norm)
        self.members: NDArray[np.bool_] = np.asarray(members)
        if self.members.ndim != 1 or self.members.dtype != np.bool_ or self.members.size < FEWEST:
            allowed = f"at least {FEWEST} booleans"
            raise InvalidParameter("members", allowed, self.members.shape)
        self._rows: list[FloatArray] = []

    def add(self, noisy_sum: npt.ArrayLike) -> None:
        """Record a step.

        Parameters
        ----------
        noisy_sum
            The sum of clipped gradients and noise along each canary: not divided by a batch size,
            not by the clip norm.
        """
        row = np.asarray(noisy_sum, dtype=np.float64)
        if row.shape != self.members.shape or not np.isfinite(row).all():
            allowed = f"{self.members.size} finite numbers"
            raise InvalidParameter("noisy_sum", allowed, row.shape)
        if len(self._rows) >= self.plan.steps:
            raise PlanMismatch(f"The plan has {self.plan.steps} steps, and all are recorded.")
        self._rows.append(row / self.max_grad_norm)

    @property
    def projections(self) -> FloatArray:
        """What was recorded: canaries by steps, in units of the clip norm."""
        if not self._rows:
            return np.empty((self.members.size, 0))
        return np.stack(self._rows, axis=1)

    def audit(self, *, seed: int = 0) -> AuditReport:
        """Compare what was recorded with the plan; before the last step with `plan.prefix`.

        Parameters
        ----------
        seed
            As for `check`.

        Returns
        -------
        AuditReport
            That of `check`.
        """
        if not self._rows:
            raise PlanMismatch("No step is recorded yet.")
        return check(
            self.plan.prefix(len(self._rows)),
            noise_multiplier=self.noise_multiplier,
            projections=self.projections,
            members=self.members,
            seed=seed,
        )

    def save(self, file: str | Path) -> None:
        """Write projections and members for `hockeystick audit`.

        Parameters
        ----------
        file
            A name that ends with .npz.
        """
        np.savez(Path(file), projections=self.projections, members=self.members)
