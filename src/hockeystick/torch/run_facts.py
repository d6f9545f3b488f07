"""RunFacts: what a PyTorch run says about itself."""

from __future__ import annotations

from hockeystick._process import SingleUse
from hockeystick.plan import Plan
from hockeystick.torch.forms import Form
from hockeystick.torch.progress import Progress
from hockeystick.training.schedules import Schedule

__all__ = ["RunFacts"]


class RunFacts(SingleUse):
    """The part of a `TorchRun` that only reads."""

    _progress: Progress
    _form: Form

    @property
    def taken_steps(self) -> int:
        """How many steps have been taken."""
        return self._progress.taken

    @property
    def finished(self) -> bool:
        """Whether the plan's steps are taken or the filter permits no other."""
        return self._progress.finished

    @property
    def stopped_by(self) -> str | None:
        """What ended the run: "plan", "filter", "close", or None while steps may follow."""
        if self._progress.exhausted:
            return "filter"
        if self._progress.closed:
            return "close"
        return "plan" if self._progress.finished else None

    @property
    def plan(self) -> Plan:
        """What draws the batches and the noise."""
        return self._progress.settings.plan

    @property
    def noise_multiplier(self) -> float:
        """Standard deviation of Z over the clip norm."""
        return self._progress.now.noise_multiplier

    @property
    def max_grad_norm(self) -> float:
        """The clip norm."""
        return self._progress.now.max_grad_norm

    @property
    def rate(self) -> float | None:
        """The sampling rate that a filter is charged for; None without a filter."""
        return self._progress.now.rate

    @property
    def history(self) -> Schedule:
        """The steps that were taken, equal ones in a row together."""
        return self._progress.schedule

    @property
    def arithmetic(self) -> str:
        """What was given to make_private: "float" or "exact"."""
        return self._progress.settings.arithmetic

    @property
    def delta(self) -> float | None:
        """The delta for which plan and noise were chosen; None if they were given."""
        return self._form.delta

    @property
    def choice(self) -> str | None:
        """What was chosen and why, in one line; None if the plan was given."""
        return self._form.choice

    @property
    def expected_batch_size(self) -> float:
        """What sums of gradients are divided by."""
        return self._progress.expected_batch_size
