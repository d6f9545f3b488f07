"""How the gradients of a batch are summed: clipped alike, as a filter permits, or one by one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial, singledispatch
from typing import Any, Protocol

import numpy as np

from hockeystick import _validate as check
from hockeystick._numerics.law import FloatArray
from hockeystick.errors import InvalidParameter
from hockeystick.filters import Filter, Individual
from hockeystick.plan import Plan
from hockeystick.schemes import Indices
from hockeystick.training.filtered import describe_filter, rate_for_filters

__all__ = ["Governor", "Gradients", "checked_rows", "clipped_sum", "governor_of", "lengths"]

Gradients = Callable[[Indices], FloatArray]
Summing = Callable[[Indices, Gradients], FloatArray]


class Governor(Protocol):
    """Who decides how much of a gradient may enter a step."""

    @property
    def described(self) -> dict[str, object] | None:
        """The filter as plain values, if there is one."""

    def permit(self) -> Summing:
        """How to sum the next batch; `BudgetExceeded`, with nothing drawn, if there is none."""


@dataclass(frozen=True)
class _Alike:
    """Every gradient is clipped to the same norm, in every step."""

    clip: float
    described: dict[str, object] | None = None

    def permit(self) -> Summing:
        return partial(_sum_of_batch, clip=self.clip)


@dataclass(frozen=True)
class _Permitted:
    """A filter is asked before each step, and may shorten the clip norm."""

    filter: Filter
    clip: float
    rate: float
    noise_multiplier: float
    described: dict[str, object] | None

    def permit(self) -> Summing:
        permit = self.filter.request(rate=self.rate, noise_multiplier=self.noise_multiplier)
        permit.commit()
        return partial(_sum_of_batch, clip=self.clip * permit.clip_scale)


@dataclass(frozen=True)
class _OneByOne:
    """Every example has a budget of its own, and pays in every step, in the batch or not.

    An exhausted example contributes nothing any more. The run goes on as planned: to stop because
    of what is left would reveal it.
    """

    budgets: Individual
    clip: float
    rate: float
    noise_multiplier: float
    described: dict[str, object] | None

    def permit(self) -> Summing:
        return self._sum

    def _sum(self, batch: Indices, gradients: Gradients) -> FloatArray:
        rows = gradients(np.arange(self.budgets.examples))
        step = self.budgets.step(
            lengths(rows),
            rate=self.rate,
            noise_multiplier=self.noise_multiplier,
            clip_norm=self.clip,
        )
        total: FloatArray = step.factors[batch] @ rows[batch]
        return total


def governor_of(
    governing: Filter | Individual | None,
    plan: Plan,
    *,
    examples: int,
    noise_multiplier: float,
    max_grad_norm: float,
) -> Governor:
    """The governor that stands for a filter, for individual budgets, or for none of them."""
    if governing is None:
        return _Alike(max_grad_norm)
    kind = _kind_for(governing, examples)
    described, rate = describe_filter(governing), rate_for_filters(plan)
    return kind(governing, max_grad_norm, rate, noise_multiplier, described)


@singledispatch
def _kind_for(governing: Any, examples: int) -> Callable[..., Governor]:  # noqa: ARG001
    raise InvalidParameter("filter", "a filter, Individual budgets or None", governing)


@_kind_for.register
def _(governing: Filter, examples: int) -> Callable[..., Governor]:  # noqa: ARG001
    return _Permitted


@_kind_for.register
def _(governing: Individual, examples: int) -> Callable[..., Governor]:
    if governing.examples != examples:
        raise InvalidParameter("filter", f"budgets of {examples} examples", governing.examples)
    return _OneByOne


def checked_rows(
    batch: Indices, gradients: Callable[[Indices], object], *, dimension: int
) -> FloatArray:
    """The gradients of the batch: a finite row for each example."""
    rows = check.vector("gradients", gradients(batch), "rows of numbers")
    if rows.shape != (batch.size, dimension) or not np.isfinite(rows).all():
        allowed = f"finite numbers of shape {(batch.size, dimension)}"
        raise InvalidParameter("gradients", allowed, rows.shape)
    return rows


def clipped_sum(rows: FloatArray, clip: float) -> FloatArray:
    """The sum of the rows, each shortened to the norm `clip` if it is longer."""
    total: FloatArray = clip / np.maximum(lengths(rows), clip) @ rows
    return total


def lengths(rows: FloatArray) -> FloatArray:
    """The Euclidean length of each row, also where squares would overflow or vanish."""
    largest = np.maximum(np.abs(rows).max(axis=1, initial=0.0), np.finfo(np.float64).tiny)
    with np.errstate(over="ignore"):
        norms: FloatArray = largest * np.linalg.norm(rows / largest[:, None], axis=1)
    return norms


def _sum_of_batch(batch: Indices, gradients: Gradients, *, clip: float) -> FloatArray:
    return clipped_sum(gradients(batch), clip)
