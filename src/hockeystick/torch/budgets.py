"""Who permits a step: the plan alone, a filter, or a budget for each example."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
import torch

from hockeystick._numerics.law import FloatArray
from hockeystick.errors import PlanMismatch, shown
from hockeystick.filters import Filter, Individual, Permit
from hockeystick.torch.limits import Limit
from hockeystick.training.filtered import describe_filter

__all__ = ["Budget", "FilterBudget", "IndividualBudget", "PlanBudget"]


class Budget(Protocol):
    """Asked before the batch of a step is handed out, told after its noise was added."""

    def permit(self, step: int) -> Limit:
        """What examples may contribute to the step; `BudgetExceeded` if it may not run."""

    def done(self) -> None:
        """The step has run."""

    def state(self) -> dict[str, Any]:
        """What a restored run has to find spent."""

    def check(self, state: dict[str, Any]) -> None:
        """`PlanMismatch` if what was spent is forgotten."""


class PlanBudget:
    """No filter: the number of steps is the only limit."""

    def __init__(self, clip: float) -> None:
        self._limit = Limit(clip)

    def permit(self, step: int) -> Limit:
        """The clip norm, always."""
        return self._limit

    def done(self) -> None:
        """Nothing is charged."""

    def state(self) -> dict[str, Any]:
        """Nothing was spent."""
        return {}

    def check(self, state: dict[str, Any]) -> None:
        """A run that a filter governed does not go on without it."""
        if state != {}:
            raise PlanMismatch("A filter governed the saved run; it cannot go on without one.")


class FilterBudget:
    """A filter's permit for each step; it is charged when the batch is handed out."""

    def __init__(
        self, governing: Filter, *, rate: float, noise_multiplier: float, clip: float
    ) -> None:
        self._filter = governing
        self._rate, self._noise_multiplier, self._clip = rate, noise_multiplier, clip
        # A batch that is handed out again after an interrupted pass has its permit already.
        self._held: tuple[int, Permit] | None = None

    def permit(self, step: int) -> Limit:
        """The clip norm, scaled down where the budget does not reach for the whole step."""
        if self._held is None or self._held[0] != step:
            permit = self._filter.request(rate=self._rate, noise_multiplier=self._noise_multiplier)
            self._held = (step, permit)
        return Limit(self._clip * self._held[1].clip_scale)

    def done(self) -> None:
        """Commit the charge."""
        assert self._held is not None
        self._held[1].commit()
        self._held = None

    def state(self) -> dict[str, Any]:
        """Which filter it is, and what it has spent."""
        return {**_identity(self._filter), "spent": self._filter.spent}

    def check(self, state: dict[str, Any]) -> None:
        """It is the same filter and has spent at least as much; with a ledger it remembers."""
        _check_same(_identity(self._filter), state)
        _check_remembered(self._filter.spent, state.get("spent"))


class IndividualBudget:
    """A budget for each example; all are charged, by the norms of their gradients, in each step."""

    def __init__(
        self,
        governing: Individual,
        norms: Callable[[], FloatArray],
        *,
        rate: float,
        noise_multiplier: float,
        clip: float,
    ) -> None:
        self._filter, self._norms = governing, norms
        self._rate, self._noise_multiplier, self._clip = rate, noise_multiplier, clip
        self._held: tuple[int, Limit] | None = None

    def permit(self, step: int) -> Limit:
        """A length for each example: its clipped norm, or what it can still pay for."""
        if self._held is None or self._held[0] != step:
            norms = self._norms()
            charged = self._filter.step(
                norms,
                rate=self._rate,
                noise_multiplier=self._noise_multiplier,
                clip_norm=self._clip,
            )
            # The gradients of the step itself may differ, by dropout or rounding: they are clipped
            # to the lengths that were paid for.
            lengths = np.where(charged.active, charged.factors * norms, 0.0)
            self._held = (step, Limit(self._clip, torch.from_numpy(lengths)))
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


def _identity(governing: Filter | Individual) -> dict[str, Any]:
    """What a filter guarantees, and its name in a ledger if it has one.

    Where the ledger is does not count: it may have been moved together with the run.
    """
    store = getattr(governing, "_store", None)
    return {"filter": describe_filter(governing), "name": getattr(store, "name", None)}


def _check_same(mine: dict[str, Any], saved: dict[str, Any]) -> None:
    if "filter" not in saved:
        raise PlanMismatch("The saved run had another kind of filter, or none.")
    for part, value in mine.items():
        if saved.get(part) != value:
            raise PlanMismatch(
                f"Another filter governed the saved run: its {part} was "
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
