"""How far a run is: the batch that is out, what it may contribute, the steps that were taken."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch

from hockeystick.errors import BudgetExceeded, PlanMismatch
from hockeystick.plan import Plan
from hockeystick.torch.budgets import Budget
from hockeystick.torch.limits import Limit
from hockeystick.torch.reloading import Reloaded

__all__ = ["Piece", "Progress", "Settings"]


@dataclass(frozen=True, kw_only=True)
class Settings:
    """What was accounted and may not change during the run."""

    plan: Plan
    noise_multiplier: float
    max_grad_norm: float
    expected_batch_size: float
    examples: int
    clipping: str
    seeded: bool


@dataclass(frozen=True, eq=False)
class Piece:
    """A physical batch: all examples of a step, or some of them."""

    step: int
    indices: torch.Tensor
    first: bool
    last: bool

    @property
    def size(self) -> int:
        """The number of examples."""
        return self.indices.numel()


class Progress:
    """What the loader hands out and the optimizer takes, so that neither can go its own way.

    The loader announces every physical batch, and the optimizer's step takes exactly that one: a
    step without a batch of the run, or a batch without a step, is a `PlanMismatch`.
    """

    def __init__(self, settings: Settings, budget: Budget) -> None:
        self.settings = settings
        self.budget = budget
        self.taken = 0
        self.exhausted = False
        self._iteration = 0
        self._out: Piece | None = None
        self._limit: Limit | None = None
        self.listener: Callable[[Piece, Reloaded], None] | None = None

    @property
    def finished(self) -> bool:
        """Whether no step may follow."""
        return self.exhausted or self.taken >= self.settings.plan.steps

    @property
    def out(self) -> Piece | None:
        """The batch that is out, if there is one."""
        return self._out

    def begin_iteration(self) -> int:
        """A new pass of the loader; a batch whose step was not taken is handed out again."""
        if self.exhausted:
            raise BudgetExceeded(
                f"The filter's budget was at an end after {self.taken} steps; the run is over."
            )
        if self.finished:
            raise PlanMismatch(self._no_more())
        self._iteration += 1
        self._out = None
        return self._iteration

    def check_pass(self, iteration: int) -> None:
        """`PlanMismatch` if this pass of the loader is not the latest."""
        if iteration != self._iteration:
            raise PlanMismatch(
                "Another pass over the run's loader has begun, or a state was restored; this pass "
                "is no longer the run's."
            )

    def hand_out(self, piece: Piece) -> bool:
        """Announce the batch; False if the filter does not permit another step."""
        if self._out is not None:
            raise PlanMismatch(
                f"The batch of step {self._out.step + 1} was handed out, but the run's optimizer "
                "did not take a step with it; use the optimizer that make_private returned, and "
                "call its step() once for every batch of the loader."
            )
        if piece.step != self.taken:
            raise PlanMismatch(
                f"Step {self.taken + 1} of the run was interrupted after its batch was used; "
                "restore a saved state."
            )
        if piece.first:
            try:
                self._limit = self.budget.permit(piece.step)
            except BudgetExceeded:
                self.exhausted = True
                return False
        self._out = piece
        return True

    def loaded(self, batch: Reloaded) -> None:
        """The examples of the batch that is out are there."""
        if self.listener is not None and self._out is not None:
            self.listener(self._out, batch)

    def current(self) -> tuple[Piece, Limit]:
        """The batch that is out, and what its examples may contribute."""
        if self._out is None or self._limit is None:
            if self.finished:
                raise PlanMismatch(self._no_more())
            raise PlanMismatch(
                "The gradients do not come from a batch of the run's loader; iterate over the "
                "loader that make_private returned, and take one step for every batch."
            )
        return self._out, self._limit

    def piece_done(self) -> None:
        """The gradients of the batch that was out are in the sum."""
        self._out = None

    def step_done(self) -> None:
        """Noise was added: the step counts from now on, whatever becomes of the update."""
        self._out = self._limit = None
        self.taken += 1
        self.budget.done()

    def go_on_from(self, taken: int) -> None:
        """A state was restored; passes of the loader that are under way end."""
        self._iteration += 1
        self._out = self._limit = None
        self.taken = taken

    def _no_more(self) -> str:
        return (
            f"All {self.taken} steps that were planned and accounted are taken; a longer run needs "
            "a plan with more steps."
        )
