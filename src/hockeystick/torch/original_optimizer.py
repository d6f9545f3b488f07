"""The optimizer that the user gave: what it trains, who may step it, and when settings change."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch

from hockeystick.errors import InvalidParameter, PlanMismatch
from hockeystick.torch.progress import Progress

__all__ = ["GroupSettings", "StepGuard", "trained_parameters"]


class GroupSettings:
    """Refuses changes of the loop within a pass, if batches come in physical parts.

    How many parts a batch has depends on who is in the data. A learning rate that follows the
    iterations of the loop would tell, and no noise covers that. Between passes, and by hooks after
    each update, settings follow the steps of the plan.

    Parameters
    ----------
    optimizer
        The one whose settings are compared.
    progress
        Which pass it is.
    in_parts
        Whether batches come in physical parts; otherwise the loop has an iteration for each step,
        and nothing is refused.
    """

    def __init__(
        self, optimizer: torch.optim.Optimizer, progress: Progress, *, in_parts: bool
    ) -> None:
        self._optimizer, self._progress, self._in_parts = optimizer, progress, in_parts
        self._seen: tuple[int, list[dict[str, Any]]] | None = None

    def check(self) -> None:
        """Before a physical batch is added: `PlanMismatch` if something changed in this pass."""
        if not self._in_parts:
            return
        iteration, now = self._progress.iteration, self._now()
        if self._seen is not None and self._seen[0] == iteration and self._seen[1] != now:
            raise PlanMismatch(
                "The loop has changed the optimizer's settings within a pass, and with "
                "physical_batch_size the number of its iterations depends on who is in the data; "
                "change them between passes, or after each step of the plan: "
                "run.optimizer.register_step_post_hook(lambda *_: scheduler.step()) "
                "(`hockeystick docs training`)."
            )
        self._seen = iteration, now

    def updated(self) -> None:
        """After an update and its hooks, whose changes are the plan's."""
        if self._in_parts:
            self._seen = self._progress.iteration, self._now()

    def _now(self) -> list[dict[str, Any]]:
        return [
            {
                name: float(value) if isinstance(value, torch.Tensor) else value
                for name, value in group.items()
                if name != "params"
            }
            for group in self._optimizer.param_groups
        ]


class StepGuard:
    """Refuses steps of the original optimizer that the run does not make.

    It does not refer to the run, so that a run that nobody holds any more is known to be gone.
    """

    def __init__(self, original: torch.optim.Optimizer) -> None:
        self._open = False
        self._handle = original.register_step_pre_hook(self._refuse)

    @contextmanager
    def open(self) -> Iterator[None]:
        """Inside, a step is the run's own."""
        self._open = True
        try:
            yield
        finally:
            self._open = False

    def remove(self) -> None:
        """The optimizer is an ordinary one again."""
        self._handle.remove()

    def _refuse(self, *_: Any) -> None:
        if not self._open:
            raise PlanMismatch(
                "The optimizer that was given to make_private belongs to the run now; its own "
                "step() would use gradients without noise."
            )


def trained_parameters(optimizer: torch.optim.Optimizer) -> list[torch.Tensor]:
    """All parameters of the optimizer that require gradients, in its order."""
    found = [p for group in optimizer.param_groups for p in group["params"] if p.requires_grad]
    if not found:
        raise InvalidParameter("optimizer", "one with trainable parameters", optimizer)
    return found
