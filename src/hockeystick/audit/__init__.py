"""Audit: whether a run did what its plan says, from canaries in its data.

`check` takes a run's projections on its canaries, beside its plan; a `Recorder` collects them one
step at a time, from any training loop.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
from numpy.typing import NDArray

from hockeystick import _validate as check_
from hockeystick._numerics.law import FloatArray
from hockeystick.audit.crowd import Crowd, crowd_possible
from hockeystick.audit.fit import fit_of
from hockeystick.audit.hypotheses import decorrelated, log_ratios
from hockeystick.audit.lower_bounds import epsilon_of_guesses, epsilon_of_losses
from hockeystick.audit.report import AuditReport, Finding
from hockeystick.errors import InvalidParameter, PlanMismatch, UnsupportedPlan
from hockeystick.plan import Plan, require_plan

__all__ = ["AuditReport", "Finding", "Recorder", "check", "epsilon_of_guesses", "epsilon_of_losses"]

# The laws of sums over fewer canaries are too far from what their moments say.
FEWEST = 100
# Strategies are matrices here.
MOST_STEPS = 8_000


def check(
    plan: Plan,
    *,
    noise_multiplier: float,
    projections: npt.ArrayLike,
    members: npt.ArrayLike,
    seed: int = 0,
) -> AuditReport:
    """Whether a run did what its plan says, from its canaries.

    Each canary is one independent draw of the pair that the accountant bounds (docs/audit.md), so
    its log likelihood ratio by the plan is the best score there is. Sums over the canaries are
    compared with draws of the plan: the noise, its correlation, the participation in every step,
    and the likelihood of other plans.

    Parameters
    ----------
    plan
        What was planned, with Gaussian noise; its unit is an example.
    noise_multiplier
        What was planned: the standard deviation of Z over the clip norm.
    projections
        Canaries by steps: the released noisy sums along the direction of each canary, in units of
        the clip norm. At least 100 canaries.
    members
        For each canary whether it was in the data; or how many canaries were, that have this
        direction: 0, 1, and for at most one direction more, a crowd.
    seed
        For the draws of the plan that the run is compared with.

    Returns
    -------
    AuditReport
        `consistent`, `p_value`, `findings`, `epsilon_lower(delta)`, `plot()`. Some seconds for a
        thousand canaries and 500 steps, most of them once for each plan.

    Raises
    ------
    UnsupportedPlan
        For users as the unit, mechanisms other than the Gaussian and more than 8,000 steps.

    Examples
    --------
    >>> import numpy as np
    >>> import hockeystick as hs
    >>> plan = hs.Plan(sampling=hs.FullBatch(), steps=5)
    >>> members = np.arange(200) < 100
    >>> noise = np.random.default_rng(3).normal(scale=2.0, size=(200, 5))
    >>> options = {"projections": noise + members[:, None], "members": members}
    >>> hs.audit.check(plan, noise_multiplier=2.0, **options).consistent
    True
    >>> hs.audit.check(plan, noise_multiplier=4.0, **options).findings[0].text
    'the noise is 0.508 times what was planned'
    """
    require_plan(plan)
    noise = check_.positive("noise_multiplier", noise_multiplier)
    if plan.mechanism is not None or plan.sampling.unit != "example" or plan.steps > MOST_STEPS:
        raise UnsupportedPlan(
            f"Audits are for Gaussian noise, examples as the unit and at most {MOST_STEPS:,} steps."
        )
    if plan.sampling.displaces:
        raise UnsupportedPlan(
            "Audits are for batches without a cap: canaries that displace others are not "
            "independent of each other."
        )
    # A canary that is there or not, also where the plan is about replaced ones.
    plan = replace(plan, adjacency="add-remove")
    rows = np.asarray(projections, dtype=np.float64)
    counts = _counts(members)
    crowded = counts > 1
    if rows.ndim != 2 or rows.shape[1] != plan.steps or len(rows) - crowded.sum() < FEWEST:
        allowed = f"at least {FEWEST} canaries by steps={plan.steps}"
        raise InvalidParameter("projections", allowed, rows.shape)
    if not np.isfinite(rows).all():
        raise InvalidParameter("projections", "finite numbers", "something else")
    if counts.shape != (len(rows),):
        raise InvalidParameter("members", f"{len(rows)} booleans or counts", counts.shape)
    crowd = None
    if crowded.any():
        if not crowd_possible(plan):
            raise InvalidParameter("members", "no crowd where public groups take turns", counts)
        crowd = Crowd(int(counts[crowded][0]), rows[crowded][0])
    rows, inside = rows[~crowded], counts[~crowded] == 1
    scores = log_ratios(plan, noise, decorrelated(plan.strategy, rows))
    fit = fit_of(plan, noise, rows, inside, crowd=crowd, seed=seed)
    return AuditReport(plan, noise, scores, inside, fit, rows, crowd)


def _counts(members: npt.ArrayLike) -> NDArray[np.int64]:
    """How many canaries of each direction are in the data; at most one direction has several."""
    found = np.asarray(members)
    if found.ndim == 1 and found.dtype.kind in "bi" and (found >= 0).all() and sum(found > 1) <= 1:
        return found.astype(np.int64)
    allowed = "for each canary a boolean, or 0, 1, and at most once a larger number"
    raise InvalidParameter("members", allowed, found.shape)


class Recorder:
    """Takes what each step released along the canaries, and audits the run.

    Parameters
    ----------
    plan
        What is said to be run.
    noise_multiplier, max_grad_norm
        The standard deviation of Z over the clip norm, and the clip norm.
    members
        As for `check`.

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
        self.members = _counts(members)
        if self.members.size < FEWEST:
            allowed = f"at least {FEWEST} booleans or counts"
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
