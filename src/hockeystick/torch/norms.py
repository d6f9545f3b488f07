"""Norms of the gradients of all examples, which individual budgets are charged by."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from hockeystick._numerics.law import FloatArray
from hockeystick.errors import InvalidParameter
from hockeystick.torch.clipping import per_example_norms
from hockeystick.torch.loader import Collate

__all__ = ["AllNorms", "Loss"]

Loss = Callable[[torch.nn.Module, Any], torch.Tensor]
# Examples whose gradients are held at a time if nothing else is said.
AT_ONCE = 64


class AllNorms:
    """Goes through the whole data set once for each step: the price of individual accounting."""

    def __init__(
        self,
        model: torch.nn.Module,
        parameters: list[torch.Tensor],
        dataset: Any,
        *,
        loss: Loss,
        collate: Any,
        most: int | None,
    ) -> None:
        self._model, self._parameters, self._dataset = model, parameters, dataset
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
        self._clear()
        with torch.enable_grad():
            self._loss(self._model, self._collate([self._dataset[i] for i in which])).backward()
        rows: list[Any] = [getattr(p, "grad_sample", None) for p in self._parameters]
        if any(g is None or len(g) != len(which) for g in rows):
            allowed = "loss(model, batch), which gives every example of the batch a gradient"
            raise InvalidParameter("loss", allowed, self._loss)
        norms = per_example_norms(rows)
        self._clear()
        return norms

    def _clear(self) -> None:
        for parameter in self._parameters:
            parameter.grad = None
            parameter.grad_sample = None
