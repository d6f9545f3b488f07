"""ChangingRun: the settings of a NumPy run, and how they change between steps."""

from __future__ import annotations

from abc import abstractmethod

from hockeystick._process import SingleUse
from hockeystick.audit import AuditReport
from hockeystick.errors import PlanMismatch
from hockeystick.training.filtered import WITHOUT_FILTER
from hockeystick.training.gradients import ClippingRule
from hockeystick.training.run_sources import RunSources
from hockeystick.training.schedules import Schedule, StepSettings

__all__ = ["ChangingRun"]


class ChangingRun(SingleUse):
    """The part of a `PrivateRun` that knows its settings and changes them."""

    _now: StepSettings
    _schedule: Schedule
    _taken: int
    _sources: RunSources
    _clipping: ClippingRule

    @abstractmethod
    def _check_open(self) -> None:
        """`PlanMismatch` if no step may follow."""

    @property
    def noise_multiplier(self) -> float:
        """Standard deviation of Z over the clip norm."""
        return self._now.noise_multiplier

    @property
    def max_grad_norm(self) -> float:
        """The clip norm."""
        return self._now.max_grad_norm

    @property
    def rate(self) -> float | None:
        """The sampling rate that a filter is charged for; None without a filter."""
        return self._now.rate

    @property
    def taken_steps(self) -> int:
        """How many steps have been taken."""
        return self._taken

    @property
    def history(self) -> Schedule:
        """The steps that were taken, equal ones in a row together."""
        return self._schedule

    @property
    def expected_batch_size(self) -> float:
        """What sums of gradients are divided by."""
        return self._sources.expected_batch_size

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
        if self._sources.canaries is None:
            raise PlanMismatch("The run has no canaries: make it with canaries=1000.")
        return self._sources.canaries.recorder.audit(seed=seed)

    def set(
        self,
        *,
        noise_multiplier: float | None = None,
        rate: float | None = None,
        max_grad_norm: float | None = None,
    ) -> None:
        """Other settings from the next step on, in a run with a filter.

        The next batch is drawn at the new rate and divided by its expected size, noise has the
        standard deviation noise_multiplier * max_grad_norm, and the filter is charged for that.
        Base them on what was released, never on the size or the loss of a batch.

        Parameters
        ----------
        noise_multiplier, rate, max_grad_norm
            Those that change.

        Raises
        ------
        PlanMismatch
            Without a filter.
        UnsupportedPlan
            For the rate of full batches.
        """
        self._check_open()
        if self._clipping.filter_description is None:
            raise PlanMismatch(WITHOUT_FILTER, page="docs/adapting.md")
        wanted = self._now.changed(
            noise_multiplier=noise_multiplier, rate=rate, max_grad_norm=max_grad_norm
        )
        self._sources.change(self._now, wanted)
        self._now = wanted
