"""PrivateRun: model, optimizer and loader of one run, and what can be said about it afterwards."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from torch import nn

from hockeystick.errors import PlanMismatch
from hockeystick.filters import Filter, Individual
from hockeystick.torch.clipping import Clipping
from hockeystick.torch.ghost import GhostClipping, GhostLoss
from hockeystick.torch.loader import PlanLoader
from hockeystick.torch.optimizer import PlanOptimizer
from hockeystick.torch.progress import Progress
from hockeystick.training.filtered import describe_filter
from hockeystick.training.record import RunRecord, versions_of
from hockeystick.training.stated import Statement
from hockeystick.training.statement import statement

__all__ = ["PrivateRun"]


class PrivateRun:
    """What `make_private` made: `model, optimizer, loader = run` unpacks it.

    The three belong together. The model's `_module` is the one that was given, trained in place.
    """

    def __init__(
        self,
        *,
        clipping: Clipping,
        optimizer: PlanOptimizer,
        loader: PlanLoader,
        progress: Progress,
        governing: Filter | Individual | None,
    ) -> None:
        self._clipping, self._optimizer, self._loader = clipping, optimizer, loader
        self._progress, self._filter = progress, governing

    @property
    def model(self) -> nn.Module:
        """The module to call in the loop."""
        return self._clipping.model

    @property
    def optimizer(self) -> PlanOptimizer:
        """The optimizer to step."""
        return self._optimizer

    @property
    def loader(self) -> PlanLoader:
        """The loader to iterate over."""
        return self._loader

    def __iter__(self) -> Iterator[Any]:
        return iter((self.model, self.optimizer, self.loader))

    def loss(self, criterion: Any) -> Any:
        """The criterion to use in the loop: as it is, or for ghost clipping one that clips."""
        if isinstance(self._clipping, GhostClipping):
            return GhostLoss(criterion, self._clipping.model, self._optimizer, self._progress)
        return criterion

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
        """What ended the run: "plan", "filter", or None while it may go on."""
        if self._progress.exhausted:
            return "filter"
        return "plan" if self._progress.finished else None

    @property
    def expected_batch_size(self) -> float:
        """What sums of gradients are divided by."""
        return self._progress.settings.expected_batch_size

    def record(self) -> RunRecord:
        """What happened so far, as plain facts."""
        settings = self._progress.settings
        return RunRecord(
            plan=settings.plan,
            noise_multiplier=settings.noise_multiplier,
            max_grad_norm=settings.max_grad_norm,
            taken_steps=self._progress.taken,
            filter=None if self._filter is None else describe_filter(self._filter),
            seeded=settings.seeded,
            versions=versions_of("torch", "opacus"),
        )

    def statement(self, *, delta: float, **options: Any) -> Statement:
        """The privacy statement of the run; options are those of `training.statement`."""
        return statement(self.record(), delta=delta, **options)

    def state_dict(self) -> dict[str, Any]:
        """Model and optimizer with noise and batches: everything needed to go on elsewhere.

        As secret as the data. The state of a filter is not in it: give the filter a ledger.
        """
        model: nn.Module = self._clipping.model
        return {"model": model.state_dict(), "optimizer": self._optimizer.state_dict()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on from a saved state; see `PlanOptimizer.load_state_dict`."""
        if set(state) != {"model", "optimizer"}:
            raise PlanMismatch("The state was not saved by a private run.")
        self._optimizer.load_state_dict(state["optimizer"])
        self._clipping.model.load_state_dict(state["model"])
