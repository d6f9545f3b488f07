"""Learning rates and other settings of the optimizer: when a loop may change them."""

from __future__ import annotations

from typing import Any

import torch

from hockeystick.errors import PlanMismatch
from hockeystick.torch.progress import Progress

__all__ = ["GroupSettings"]


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
                "(docs/training.md)."
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
