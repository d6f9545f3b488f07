"""Policies: what to change, and when to stop, by a validation loss; for NumPy and PyTorch runs.

A policy decides by what it is told. So the loss has to be of public data, or of a release that was
accounted for, such as `private_loss`. The loss or the size of a training batch is neither.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, Protocol

from hockeystick import _validate as check
from hockeystick.errors import InvalidParameter, PlanMismatch
from hockeystick.training.filtered import WITHOUT_FILTER
from hockeystick.training.private_losses import private_loss

__all__ = ["AdaptedRun", "ChangeAtLoss", "ChangeOnPlateau", "StopOnPlateau", "private_loss"]

SETTINGS = ("noise_multiplier", "rate", "max_grad_norm")


class AdaptedRun(Protocol):
    """A run whose settings can change: `PrivateRun` or `TorchRun`, with a filter."""

    @property
    def noise_multiplier(self) -> float:
        """The present one."""

    @property
    def rate(self) -> float | None:
        """The present one."""

    @property
    def max_grad_norm(self) -> float:
        """The present one."""

    def set(
        self,
        *,
        noise_multiplier: float | None = None,
        rate: float | None = None,
        max_grad_norm: float | None = None,
    ) -> None:
        """Other settings from the next step on."""


class _Plateau:
    """How many losses in a row were no better than the best one."""

    def __init__(self, *, patience: int = 5, threshold: float = 0.0) -> None:
        self._patience = check.positive_integer("patience", patience)
        self._threshold = check.at_least("threshold", threshold, 0.0)
        self._best, self._waited = math.inf, 0

    def _seen(self, loss: float) -> bool:
        """Whether `patience` losses in a row were no better; counting then begins again."""
        # A loss that is no number is no better either.
        if loss < self._best - self._threshold:
            self._best, self._waited = float(loss), 0
            return False
        self._waited += 1
        if self._waited < self._patience:
            return False
        self._waited = 0
        return True

    def state_dict(self) -> dict[str, Any]:
        """What to keep beside the state of a run: the best loss and how long ago it was."""
        return {"best": self._best, "waited": self._waited}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from a saved state."""
        self._best, self._waited = float(state["best"]), int(state["waited"])


class StopOnPlateau(_Plateau):
    """Say when to stop: after `patience` losses in a row that are no better than the best one.

    The guarantee does not depend on when a run stops.

    Parameters
    ----------
    patience
        How many losses in a row have to be no better.
    threshold
        By how much a loss has to be below the best one to be better.

    Examples
    --------
    >>> import hockeystick as hs
    >>> stop = hs.training.policies.StopOnPlateau(patience=2)
    >>> [stop(loss) for loss in (1.0, 0.5, 0.6, 0.7)]
    [False, False, False, True]
    """

    def __call__(self, loss: float) -> bool:
        """Whether to stop now."""
        return self._seen(loss)


class ChangeOnPlateau(_Plateau):
    """Multiply settings of a run by a factor whenever the loss stops improving.

    Parameters
    ----------
    noise_multiplier, rate, max_grad_norm
        The factors; 1 leaves a setting as it is. Less noise and more examples cost more of the
        budget.
    patience, threshold
        As for `StopOnPlateau`.
    limits
        For some settings the smallest and the largest value, such as {"rate": (0.001, 0.05)}.
        Rates are at most 1 in any case.

    Examples
    --------
    >>> import numpy as np
    >>> import hockeystick as hs
    >>> run = hs.training.PrivateRun(
    ...     hs.Plan(sampling=hs.Poisson(rate=0.1), steps=9),
    ...     examples=100,
    ...     dimension=1,
    ...     noise_multiplier=2.0,
    ...     max_grad_norm=1.0,
    ...     filter=hs.filters.Renyi(epsilon=2.0, delta=1e-5),
    ... )
    >>> less_noise = hs.training.policies.ChangeOnPlateau(noise_multiplier=0.8, patience=1)
    >>> [less_noise(run, loss) for loss in (0.7, 0.6, 0.65)], run.noise_multiplier
    ([False, False, True], 1.6)
    """

    def __init__(
        self,
        *,
        noise_multiplier: float = 1.0,
        rate: float = 1.0,
        max_grad_norm: float = 1.0,
        patience: int = 3,
        threshold: float = 0.0,
        limits: Mapping[str, tuple[float, float]] | None = None,
    ) -> None:
        given = {"noise_multiplier": noise_multiplier, "rate": rate, "max_grad_norm": max_grad_norm}
        factors = {name: check.positive(name, factor) for name, factor in given.items()}
        self._factors = {name: factor for name, factor in factors.items() if factor != 1.0}
        if not self._factors:
            raise InvalidParameter("noise_multiplier", "a factor other than 1, or rate's", 1.0)
        self._limits = {"rate": (0.0, 1.0), **(limits or {})}
        _check_names(self._limits)
        super().__init__(patience=patience, threshold=threshold)

    def __call__(self, run: AdaptedRun, loss: float) -> bool:
        """Take note of a loss, between two steps; whether settings were changed."""
        if not self._seen(loss):
            return False
        if run.rate is None:
            raise PlanMismatch(WITHOUT_FILTER, page="docs/adapting.md")
        wanted = {}
        for name, factor in self._factors.items():
            low, high = self._limits.get(name, (0.0, math.inf))
            wanted[name] = min(max(getattr(run, name) * factor, low), high)
        if all(value == getattr(run, name) for name, value in wanted.items()):
            return False
        run.set(**wanted)
        return True


class ChangeAtLoss:
    """Settings for stages of training: each begins when the loss is at or below its level.

    Parameters
    ----------
    stages
        (loss, settings) with falling losses, such as [(0.6, {"noise_multiplier": 1.2})].

    Examples
    --------
    >>> import hockeystick as hs
    >>> stages = hs.training.policies.ChangeAtLoss([(0.6, {"rate": 0.02}), (0.4, {"rate": 0.04})])
    >>> stages.state_dict()
    {'reached': 0}
    """

    def __init__(self, stages: Sequence[tuple[float, Mapping[str, float]]]) -> None:
        self._stages = [(float(level), dict(settings)) for level, settings in stages]
        levels = [level for level, _ in self._stages]
        if not levels or not all(a > b for a, b in pairwise(levels)):
            raise InvalidParameter("stages", "with falling losses, one or more", levels)
        for _, settings in self._stages:
            _check_names(settings)
        self._reached = 0

    def __call__(self, run: AdaptedRun, loss: float) -> bool:
        """Take note of a loss, between two steps; whether settings were changed."""
        left = self._stages[self._reached :]
        passed = sum(1 for level, _ in left if loss <= level)
        if not passed:
            return False
        merged: dict[str, float] = {}
        for _, settings in left[:passed]:
            merged |= settings
        run.set(**merged)
        self._reached += passed
        return True

    def state_dict(self) -> dict[str, Any]:
        """What to keep beside the state of a run."""
        return {"reached": self._reached}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from a saved state."""
        self._reached = int(state["reached"])


def _check_names(settings: Mapping[str, Any]) -> None:
    for name in settings:
        check.choice("settings", name, SETTINGS)
