"""What permits a step: the plan alone, a filter, or a budget for each example."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from hockeystick._numerics.law import FloatArray
from hockeystick.errors import (
    BudgetExceeded,
    HockeystickError,
    InvalidParameter,
    PlanMismatch,
    shown,
)
from hockeystick.filters import Filter, Individual, Permit
from hockeystick.torch.clipping import Clipping
from hockeystick.torch.progress import Budget, ClipLimit
from hockeystick.torch.run_group import RunGroup
from hockeystick.torch.sums import per_example_norms
from hockeystick.training.filtered import describe_filter
from hockeystick.training.schedules import StepSettings

__all__ = [
    "DatasetNorms",
    "FilterBudget",
    "GroupBudget",
    "IndividualBudget",
    "Loss",
    "PlanBudget",
]

Loss = Callable[[torch.nn.Module, Any], torch.Tensor]
# Examples whose gradients are held at a time by default: as many as a common batch.
AT_ONCE = 64


class PlanBudget:
    """No filter: the number of steps is the only limit."""

    def __init__(self, clip: float) -> None:
        self._limit = ClipLimit(clip)

    def use(self, now: StepSettings) -> None:
        """The clip norm may follow released counts."""
        self._limit = ClipLimit(now.max_grad_norm)

    def permit(self, step: int) -> ClipLimit:
        """The clip norm, always."""
        return self._limit

    def done(self) -> None:
        """Nothing is charged."""

    def state(self) -> dict[str, Any]:
        """Nothing was spent."""
        return {}

    def check(self, state: dict[str, Any]) -> None:
        """A run with a filter does not continue without it."""
        if state != {}:
            raise PlanMismatch("The saved run had a filter; it cannot continue without one.")


class FilterBudget:
    """A filter's permit for each step; it is requested when the batch is loaded."""

    def __init__(
        self, privacy_filter: Filter, *, rate: float, noise_multiplier: float, clip: float
    ) -> None:
        self._filter = privacy_filter
        self._rate, self._noise_multiplier, self._clip = rate, noise_multiplier, clip
        # A batch that comes again after an interrupted pass has its permit already.
        self._held: tuple[int, Permit] | None = None

    def use(self, now: StepSettings) -> None:
        """What the next permits are requested for."""
        assert now.rate is not None
        self._rate, self._noise_multiplier = now.rate, now.noise_multiplier
        self._clip = now.max_grad_norm

    def permit(self, step: int) -> ClipLimit:
        """The clip norm, scaled down where the budget does not suffice for the whole step."""
        if self._held is None or self._held[0] != step:
            permit = self._filter.request(rate=self._rate, noise_multiplier=self._noise_multiplier)
            self._held = (step, permit)
        return ClipLimit(self._clip * self._held[1].clip_scale)

    def done(self) -> None:
        """Commit the charge."""
        assert self._held is not None
        self._held[1].commit()
        self._held = None

    def state(self) -> dict[str, Any]:
        """Which filter it is, and what it has spent."""
        return {**_identity(self._filter), "spent": self._filter.spent}

    def check(self, state: dict[str, Any]) -> None:
        """It is the same filter and has spent at least as much; a ledger keeps what was spent."""
        _check_same(_identity(self._filter), state)
        _check_remembered(self._filter.spent, state.get("spent"))


class GroupBudget:
    """Permits of the first rank, for all ranks: a step is charged once.

    `own` is the budget that the first rank asks; the filters of other ranks are not charged.
    """

    def __init__(self, own: Budget, group: RunGroup) -> None:
        self._own, self._group = own, group

    def use(self, now: StepSettings) -> None:
        """All ranks know the settings."""
        self._own.use(now)

    def permit(self, step: int) -> ClipLimit:
        """What the first rank is permitted."""
        answer: dict[str, Any] = {}
        if self._group.first:
            try:
                answer = {"clip": self._own.permit(step).clip}
            except HockeystickError as error:
                answer = {"refusal": str(error), "over": isinstance(error, BudgetExceeded)}
            except Exception as error:
                # A disk, a server: the others would wait for ever.
                self._group.of_first({"refusal": f"Rank 0: {error}", "over": False})
                raise
        answer = self._group.of_first(answer)
        if "clip" in answer:
            return ClipLimit(answer["clip"])
        raise (BudgetExceeded if answer["over"] else HockeystickError)(answer["refusal"])

    def done(self) -> None:
        """The first rank commits."""
        if self._group.first:
            self._own.done()

    def state(self) -> dict[str, Any]:
        """That of the first rank."""
        found: dict[str, Any] = self._group.of_first(self._own.state())
        return found

    def check(self, state: dict[str, Any]) -> None:
        """The first rank checks."""
        refusal = None
        if self._group.first:
            try:
                self._own.check(state)
            except PlanMismatch as error:
                refusal = str(error)
        refusal = self._group.of_first(refusal)
        if refusal is not None:
            raise PlanMismatch(refusal)


class IndividualBudget:
    """A budget for each example; all are charged, by the norms of their gradients, in each step."""

    def __init__(
        self,
        privacy_filter: Individual,
        norms: Callable[[], FloatArray],
        *,
        rate: float,
        noise_multiplier: float,
        clip: float,
    ) -> None:
        self._filter, self._norms = privacy_filter, norms
        self._rate, self._noise_multiplier, self._clip = rate, noise_multiplier, clip
        self._held: tuple[int, ClipLimit] | None = None

    def use(self, now: StepSettings) -> None:
        """What the next steps are charged for."""
        assert now.rate is not None
        self._rate, self._noise_multiplier = now.rate, now.noise_multiplier
        self._clip = now.max_grad_norm

    def permit(self, step: int) -> ClipLimit:
        """A length for each example: its clipped norm, or what its budget still allows."""
        if self._held is None or self._held[0] != step:
            norms = self._norms()
            charged = self._filter.step(
                norms,
                rate=self._rate,
                noise_multiplier=self._noise_multiplier,
                clip_norm=self._clip,
            )
            # The gradients of the step itself may differ, by dropout or rounding: they are clipped
            # to the lengths that were charged.
            lengths = np.where(charged.active, charged.factors * norms, 0.0)
            self._held = (step, ClipLimit(self._clip, torch.from_numpy(lengths)))
        return self._held[1]

    def done(self) -> None:
        """The charge was made beforehand."""
        self._held = None

    def state(self) -> dict[str, Any]:
        """Which budgets these are, and how many steps were charged."""
        return {**_identity(self._filter), "charged": self._filter.steps}

    def check(self, state: dict[str, Any]) -> None:
        """The same budgets, charged at least as often; `save` and `load` keep their state."""
        _check_same(_identity(self._filter), state)
        _check_remembered(self._filter.steps, state.get("charged"))


class DatasetNorms:
    """The norms of all examples' gradients, a pass over the data set for each step.

    Individual accounting charges every example in every step, in the batch or not.
    """

    def __init__(
        self,
        clipping: Clipping,
        parameters: list[torch.Tensor],
        dataset: Any,
        *,
        loss: Loss,
        collate: Callable[[list[Any]], Any],
        most: int | None,
    ) -> None:
        self._clipping, self._parameters, self._dataset = clipping, parameters, dataset
        self._loss, self._collate = loss, collate
        self._most = AT_ONCE if most is None else most

    def __call__(self) -> FloatArray:
        """At the present parameters, unclipped, in the order of the data set."""
        total = len(self._dataset)
        parts = [
            self._norms(range(start, min(start + self._most, total)))
            for start in range(0, total, self._most)
        ]
        norms = torch.cat(parts).double().cpu().numpy()
        # One that is not finite contributes nothing but is charged the full norm.
        return np.where(np.isfinite(norms), norms, np.finfo(np.float64).max)

    def _norms(self, which: range) -> torch.Tensor:
        batch = self._collate([self._dataset[i] for i in which])
        with torch.enable_grad(), self._clipping.model.of_examples(len(which)):
            losses = self._loss(self._clipping.model, batch)
            if not isinstance(losses, torch.Tensor) or losses.shape != (len(which),):
                allowed = "loss(model, batch) with one value for each example of the batch"
                got = tuple(losses.shape) if isinstance(losses, torch.Tensor) else type(losses)
                raise InvalidParameter("loss", allowed, got)
            rows = self._clipping.gradients(losses, self._parameters)
        if any(len(gradient) != len(which) for gradient in rows):
            allowed = "loss(model, batch), which gives every example of the batch a gradient"
            raise InvalidParameter("loss", allowed, self._loss)
        return per_example_norms(rows)


def _identity(privacy_filter: Filter | Individual) -> dict[str, Any]:
    """What a filter guarantees, and its name in a ledger if it has one.

    Where the ledger is does not count: it may have been moved together with the run.
    """
    store = getattr(privacy_filter, "_store", None)
    return {"filter": describe_filter(privacy_filter), "name": getattr(store, "name", None)}


def _check_same(mine: dict[str, Any], saved: dict[str, Any]) -> None:
    if "filter" not in saved:
        raise PlanMismatch("The saved run had another kind of filter, or none.")
    for part, value in mine.items():
        if saved.get(part) != value:
            raise PlanMismatch(
                f"The saved run had another filter: its {part} was "
                f"{shown(saved.get(part))}, not {shown(value)}."
            )


def _check_remembered(now: float, saved: Any) -> None:
    if isinstance(saved, bool) or not isinstance(saved, (int, float)) or not saved >= 0:
        raise PlanMismatch(f"The saved run does not say what its filter spent, but {shown(saved)}.")
    # Sums of the same charges may be rounded differently.
    if not now >= saved * (1 - 1e-9):
        raise PlanMismatch(
            f"The filter has forgotten what the saved run spent ({now:.6g} instead of "
            f"{saved:.6g}); give a filter a ledger, or load the state of individual budgets."
        )
