"""JaxFacts: what a JAX run says about itself."""

from __future__ import annotations

from hockeystick._process import SingleUse
from hockeystick.plan import Plan
from hockeystick.training.canaries import AuditedRun, RunCanaries
from hockeystick.training.clip_rules import ClipParts

__all__ = ["JaxFacts"]


class JaxFacts(SingleUse, AuditedRun):
    """The part of a `JaxRun` that only reads."""

    _canaries: RunCanaries | None
    _plan: Plan
    _parts: ClipParts
    _taken: int
    _noise_multiplier: float
    _expected: float
    _exhausted: bool

    @property
    def canaries(self) -> RunCanaries | None:
        """Those of the run."""
        return self._canaries

    @property
    def plan(self) -> Plan:
        """What is run."""
        return self._plan

    @property
    def taken_steps(self) -> int:
        """How many steps have been taken."""
        return self._taken

    @property
    def max_grad_norm(self) -> float:
        """The clip norm."""
        return self._parts.max_grad_norm

    @property
    def noise_multiplier(self) -> float:
        """Standard deviation of Z over the clip norm."""
        return self._noise_multiplier

    @property
    def expected_batch_size(self) -> float:
        """What sums of gradients are divided by."""
        return self._expected

    @property
    def finished(self) -> bool:
        """Whether no step may follow."""
        return self._exhausted or self._taken >= self._plan.steps
