"""Norms of the gradients of all examples, which individual budgets are charged by."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from hockeystick._numerics.law import FloatArray
from hockeystick.errors import InvalidParameter
from hockeystick.torch.clipping import Clipping
from hockeystick.torch.loader import Collate
from hockeystick.torch.sums import per_example_norms

__all__ = ["AllNorms", "Loss"]

Loss = Callable[[torch.nn.Module, Any], torch.Tensor]
# Examples whose gradients are held at a time if nothing else is said.
AT_ONCE = 64


class AllNorms:
    """Goes through the whole data set once for each step: the price of individual accounting."""

    def __init__(
        self,
        clipping: Clipping,
        parameters: list[torch.Tensor],
        dataset: Any,
        *,
        loss: Loss,
        collate: Any,
        most: int | None,
    ) -> None:
        self._clipping, self._parameters, self._dataset = clipping, parameters, dataset
        self._loss, self._collate = loss, Collate(dataset, collate)
        self._most = AT_ONCE if most is None else most

    def __call__(self) -> FloatArray:
        """The norms at the present parameters, unclipped, in the order of the data set."""
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
        with torch.enable_grad():
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
