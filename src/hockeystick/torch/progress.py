"""How far a run is: the current batch, what its examples may contribute, the steps taken."""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Protocol

import torch

from hockeystick.errors import BudgetExceeded, PlanMismatch
from hockeystick.plan import Plan
from hockeystick.torch.epochs import EpochSplit
from hockeystick.torch.replay import RecollatedBatch
from hockeystick.training.schedules import Schedule, with_step
from hockeystick.training.statement_fields import RUN_DIGITS
from hockeystick.training.sum_lattice import SumLattice

__all__ = ["Budget", "ClipLimit", "PhysicalBatch", "Progress", "RunSettings"]

# Keeps the quotient finite for gradients that vanish; the same number as in Opacus.
SMALLEST_NORM = 1e-6


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
    run_id: str = field(default_factory=partial(secrets.token_hex, RUN_DIGITS // 2))

    @property
    def clip_facts(self) -> dict[str, Any]:
        """The rule of clipping as plain values."""
        facts: dict[str, Any] = json.loads(self.clip_rule)
        return facts


@dataclass(frozen=True, eq=False)
class PhysicalBatch:
    """A physical batch: all examples of a step, or some of them.

    Examples beyond the first `counted` are there for a rank that has too few of its own: models are
    called for them, and they contribute nothing.
    """

    step: int
    indices: torch.Tensor
    first: bool
    last: bool
    counted: int

    @property
    def size(self) -> int:
        """The number of examples."""
        return self.indices.numel()


@dataclass(frozen=True, eq=False)
class ClipLimit:
    """The clip norm of every example, or a length for each of them."""

    clip: float
    lengths: torch.Tensor | None = None

    def before_rounding(self, lattice: SumLattice | None) -> ClipLimit:
        """The limit for gradients that are rounded to the lattice afterwards."""
        if lattice is None:
            return self
        lengths = self.lengths
        if lengths is not None:
            lengths = torch.from_numpy(lattice.shortened(lengths.numpy()))
        return ClipLimit(float(lattice.shortened(self.clip)), lengths)

    def factors(
        self,
        norms: torch.Tensor,
        batch: PhysicalBatch,
        *,
        share: float = 1.0,
        gamma: float | None = None,
    ) -> torch.Tensor:
        """What gradients of these norms are multiplied by: min(1, length / norm).

        Of a length only a `share`, where the norms are those of a layer. With a `gamma` the factor
        is length / (norm + gamma), by which nothing gets as long as the length. A gradient that is
        not finite, or of an example that does not count, contributes nothing.
        """
        longest: float | torch.Tensor = self.clip * share
        if self.lengths is not None:
            lengths = self.lengths[batch.indices].to(device=norms.device, dtype=norms.dtype)
            longest = lengths * share
        if gamma is None:
            factors = (longest / (norms + SMALLEST_NORM)).clamp(max=1.0)
        else:
            factors = longest / (norms + gamma)
        if batch.counted < len(factors):
            factors[batch.counted :] = 0.0
        # Lengths are finite: only a norm that is not a number makes such a factor.
        return factors.nan_to_num_(nan=0.0)


class Budget(Protocol):
    """What permits a step: `permit` before its batch is loaded, `done` after its noise is added."""

    def permit(self, step: int) -> ClipLimit:
        """What examples may contribute to the step; `BudgetExceeded` if it may not run."""

    def done(self) -> None:
        """The step has run."""

    def state(self) -> dict[str, Any]:
        """What was spent, for a restored run to check."""

    def check(self, state: dict[str, Any]) -> None:
        """`PlanMismatch` if what was spent is forgotten."""


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
        passes: EpochSplit | None = None,
        lattice: SumLattice | None = None,
    ) -> None:
        self.settings = settings
        self.budget = budget
        self.lattice = lattice
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
            raise PlanMismatch(self._no_more())
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
                self._before_rounding = self._limit.before_rounding(self.lattice)
            except BudgetExceeded:
                self.exhausted = True
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
                raise PlanMismatch(self._no_more())
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
        noise = self.settings.noise_multiplier
        self.schedule = with_step(self.schedule, noise, self._limit.clip)
        self._current = self._limit = None
        self.taken += 1
        self.budget.done()

    def continue_from(self, taken: int, schedule: Schedule) -> None:
        """A state was restored; passes of the loader that have begun end."""
        self.schedule = schedule
        self._iteration += 1
        self._current = self._limit = None
        self.taken = taken

    def close(self) -> None:
        """No step may follow, nor may the batch that is out have one."""
        if not self.finished:
            self.closed = True
            self._iteration += 1
            self._current = self._limit = None

    def _no_more(self) -> str:
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
