"""Budgets for single examples, charged by the norms of their gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from hockeystick._numerics.law import FloatArray
from hockeystick.errors import InvalidParameter
from hockeystick.filters import Individual
from hockeystick.torch.budgets import check_remembered, check_same, identity
from hockeystick.torch.clipping import Clipping
from hockeystick.torch.progress import ClipLimit
from hockeystick.torch.repeated_steps import Witness
from hockeystick.torch.sums import per_example_norms
from hockeystick.training.schedules import StepSettings

__all__ = ["DatasetNorms", "IndividualBudget", "Loss"]

Loss = Callable[[torch.nn.Module, Any], torch.Tensor]
# Examples whose gradients are held at a time by default: as many as a common batch.
AT_ONCE = 64


class IndividualBudget:
    """A budget for each example; all are charged, by the norms of their gradients, in each step."""

    noted: bool = False
    again: str | None = None
    before: Witness | None = None

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
        return {**identity(self._filter), "charged": self._filter.steps}

    def released(self, step: int, witness: Witness) -> None:
        """Charges follow from norms: a repeated step is charged again, and has other noise."""

    def check(self, state: dict[str, Any], run: str) -> None:
        """The same budgets, charged at least as often; `save` and `load` keep their state."""
        check_same(identity(self._filter), state)
        check_remembered(self._filter.steps, state.get("charged"))
        # Less may be left than the first time, and then sums differ: they need noise of their own.
        charged = self._filter.steps
        self.again = None if charged == state.get("charged") else f"charged {charged} steps"

    def restored(self) -> None:
        """What was charged stays charged."""


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
