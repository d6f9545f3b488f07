"""How far a run is: the current batch, what its examples may contribute, the steps taken."""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Protocol

from hockeystick.errors import BudgetExceeded, PlanMismatch
from hockeystick.plan import Plan
from hockeystick.torch.clip_limits import ClipLimit, PhysicalBatch
from hockeystick.torch.forms import EpochSplit
from hockeystick.torch.replay import RecollatedBatch
from hockeystick.training.filtered import warn_of_no_step
from hockeystick.training.schedules import Schedule, StepSettings, with_step
from hockeystick.training.statement_fields import RUN_DIGITS
from hockeystick.training.sum_lattice import SumLattice

__all__ = ["Budget", "ClipLimit", "PhysicalBatch", "Progress", "RunSettings"]


@dataclass(frozen=True, kw_only=True)
class RunSettings:
    """What was accounted and may not change during the run."""

    plan: Plan
    noise_multiplier: float
    max_grad_norm: float
    expected_batch_size: float
    examples: int
    clipping: str
    seeded: bool
    # The rule as JSON: what a saved run and all ranks have in common.
    clip_rule: str = '{"clipping": "flat"}'
    arithmetic: str = "float"
    # How the clip norm is adapted, as a text; empty if it is not.
    policy: str = ""
    run_id: str = field(default_factory=partial(secrets.token_hex, RUN_DIGITS // 2))

    @property
    def clip_facts(self) -> dict[str, Any]:
        """The rule of clipping as plain values."""
        facts: dict[str, Any] = json.loads(self.clip_rule)
        return facts


class Budget(Protocol):
    """What permits a step: `permit` before its batch is loaded, `done` after its noise is added.

    Attributes
    ----------
    noted
        Whether it keeps a witness of what each step releases.
    before
        The witness of the permitted step, if the run was restored and had taken it before.
    again
        After `check`: why steps that were taken before are charged once more, if they are; they
        then need other noise and other batches.
    """

    noted: bool
    again: str | None
    before: tuple[int, ...] | None

    def use(self, now: StepSettings) -> None:
        """Other settings from the next step on."""

    def permit(self, step: int) -> ClipLimit:
        """What examples may contribute to the step; `BudgetExceeded` if it may not run."""

    def done(self) -> None:
        """The step has run."""

    def state(self) -> dict[str, Any]:
        """What was spent, for a restored run to check."""

    def released(self, step: int, witness: tuple[int, ...]) -> None:
        """What the step has released."""

    def check(self, state: dict[str, Any], run: str) -> None:
        """`PlanMismatch` if what was spent is forgotten; reads the charges of the run."""

    def restored(self) -> None:
        """The run that was checked last goes on."""


class Progress:
    """The state that loader and optimizer share, so that batches and steps stay together.

    The loader announces every physical batch, and the optimizer's step takes exactly that one: a
    step without a batch of the run, or a batch without a step, is a `PlanMismatch`.
    """

    def __init__(
        self,
        settings: RunSettings,
        budget: Budget,
        *,
        now: StepSettings,
        passes: EpochSplit | None = None,
        lattice: SumLattice | None = None,
    ) -> None:
        self.settings = settings
        self.budget = budget
        self.now, self.start, self.expected_batch_size = now, now, settings.expected_batch_size
        # How often batches that were drawn ahead became useless.
        self.redrawn = 0
        self.lattice = self._first_lattice = lattice
        self.passes = EpochSplit(settings.plan.steps, 1) if passes is None else passes
        self.taken = 0
        self.schedule: Schedule = ()
        self.exhausted = self.closed = False
        self.end_of_pass = self.passes.end(0)
        self._iteration = 0
        self._current: PhysicalBatch | None = None
        self._limit: ClipLimit | None = None
        self._before_rounding = ClipLimit(0.0)
        self.listener: Callable[[PhysicalBatch, Callable[[], RecollatedBatch]], None] | None = None

    @property
    def finished(self) -> bool:
        """Whether no step may follow."""
        return self.exhausted or self.closed or self.taken >= self.settings.plan.steps

    @property
    def permitted(self) -> ClipLimit | None:
        """What the filter permitted for the step whose batch is out, if there is one."""
        return self._limit

    @property
    def current_batch(self) -> PhysicalBatch | None:
        """The current physical batch, if there is one."""
        return self._current

    @property
    def iteration(self) -> int:
        """The number of the latest pass."""
        return self._iteration

    def begin_iteration(self, end: int) -> int:
        """A new pass of the loader, until `end` steps are taken.

        A batch whose step was not taken comes again.
        """
        if self.exhausted:
            raise BudgetExceeded(
                f"The filter's budget was at an end after {self.taken} steps; the run is over "
                "(`for epoch in run.epochs():` ends there by itself)."
            )
        if self.finished:
            raise PlanMismatch(self.no_more())
        if end <= self.taken:
            raise PlanMismatch("The steps of this epoch are taken; the next one follows it.")
        self._iteration += 1
        self._current = None
        self.end_of_pass = end
        return self._iteration

    def check_pass(self, iteration: int) -> None:
        """`PlanMismatch` if this pass of the loader is not the latest."""
        if iteration != self._iteration:
            raise PlanMismatch(
                "Another pass over the run's loader has begun, or a state was restored; this pass "
                "is no longer the run's."
            )

    def announce(self, physical_batch: PhysicalBatch) -> bool:
        """Announce the next batch; False if the filter does not permit another step."""
        if self._current is not None:
            raise PlanMismatch(
                f"The batch of step {self._current.step + 1} was loaded, but the run's "
                "optimizer did not take a step with it; use the optimizer that make_private "
                "returned, and call its step() once for every batch of the loader (gradients are "
                "not accumulated by hand: physical_batch_size is the most that memory holds)."
            )
        if physical_batch.step != self.taken:
            raise PlanMismatch(
                f"Step {self.taken + 1} of the run was interrupted after its batch was used; "
                "restore a saved state."
            )
        if physical_batch.first:
            try:
                self._limit = self.budget.permit(physical_batch.step)
                unit = 1.0
                if self.lattice is not None and self._first_lattice is not None:
                    unit = self._first_lattice.spacing / self.lattice.spacing
                self._before_rounding = self._limit.before_rounding(self.lattice, unit)
            except BudgetExceeded:
                self.exhausted = True
                if not self.taken:
                    warn_of_no_step()
                return False
        self._current = physical_batch
        return True

    def loaded(self, batch: Callable[[], RecollatedBatch]) -> None:
        """The examples of the current batch are loaded, and can be collated again."""
        if self.listener is not None and self._current is not None:
            self.listener(self._current, batch)

    def current(self) -> tuple[PhysicalBatch, ClipLimit]:
        """The current batch, and what its examples may contribute."""
        if self._current is None or self._limit is None:
            if self.finished:
                raise PlanMismatch(self.no_more())
            raise PlanMismatch(
                "The gradients do not come from a batch of the run's loader; iterate over the "
                "loader that make_private returned, and take one step for every batch."
            )
        return self._current, self._before_rounding

    def physical_batch_done(self) -> None:
        """The gradients of the current batch are in the sum."""
        self._current = None

    def step_done(self) -> None:
        """Noise was added: the step counts from now on, whatever becomes of the update."""
        assert self._limit is not None
        self.schedule = with_step(self.schedule, self.now, self._limit.clip)
        self._current = self._limit = None
        self.taken += 1
        self.budget.done()

    def continue_from(self, taken: int, schedule: Schedule) -> None:
        """A state was restored; passes of the loader that have begun end."""
        self.schedule = schedule
        self._iteration += 1
        self._current = self._limit = None
        self.taken = taken
        self.budget.restored()

    def close(self) -> None:
        """No step may follow, nor may the batch that is out have one."""
        if not self.finished:
            self.closed = True
            self._iteration += 1
            self._current = self._limit = None

    def no_more(self) -> str:
        """Why no step may follow."""
        if self.closed:
            return f"The run was closed after {self.taken} steps; make_private begins another one."
        if self.passes.count > 1:
            return (
                f"All {self.taken} steps of the {self.passes.count} epochs that were planned and "
                "accounted are taken (`for epoch in run.epochs():` ends there by itself); a longer "
                "run needs more epochs from the start."
            )
        return (
            f"All {self.taken} steps that were planned and accounted are taken, and one pass over "
            "the loader was all of them: for a loop over epochs give make_private epochs=..., or "
            "write `for epoch in run.epochs():`; a longer run needs a plan with more steps."
        )
