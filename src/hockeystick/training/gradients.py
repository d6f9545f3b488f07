"""Gradients of a batch: checked, probed for independence, clipped and summed.

Every gradient is clipped to the same norm, or to the norm that a filter permits for the step, or to
what the budget of its own example allows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial, singledispatch
from typing import Any, NamedTuple, Protocol

import numpy as np

from hockeystick._numerics.law import FloatArray
from hockeystick.errors import InvalidParameter, PlanMismatch
from hockeystick.filters import Filter, Individual
from hockeystick.schemes import Indices
from hockeystick.training.filtered import facts_of_filter
from hockeystick.training.linear_models import OuterProducts, lengths_of_rows
from hockeystick.training.schedules import StepSettings
from hockeystick.training.sum_lattice import SumLattice, usable_weights

__all__ = [
    "BatchSum",
    "ClippingRule",
    "Gradients",
    "checked_rows",
    "clipped_sum",
    "clipping_rule",
    "halves",
    "lengths",
    "probe_gradients",
]

# A row for each example, or the factors of such rows.
Rows = Any
Gradients = Callable[[Indices], Rows]
Summing = Callable[[Indices, Gradients], "BatchSum"]

# Examples of a batch that are compared: with four, two ways to halve them separate every two.
PROBED = 4
# Largest relative change that rounding in single precision explains: a thousand units of it.
TOLERANCE = 1e-4
# A gradient this much shorter than the longest is compared relative to the longest: rounding is
# relative to the terms that cancel in it.
NEGLIGIBLE = 1e-3


class BatchSum(NamedTuple):
    """The sum of clipped gradients, and by how many more of them were within the clip norm."""

    total: FloatArray
    excess: int


class ClippingRule(Protocol):
    """How long a gradient may be in each step."""

    @property
    def filter_description(self) -> dict[str, object] | None:
        """The filter as plain values, if there is one."""

    def permit(self, now: StepSettings, lattice: SumLattice | None) -> tuple[Summing, float]:
        """How to sum the next batch, and its clip norm, which may be stated.

        With a lattice, sums are integers in units of it. `BudgetExceeded`, with nothing drawn, if
        the step may not run.
        """


@dataclass(frozen=True)
class _FixedClipping:
    """Every gradient is clipped to the same norm."""

    gamma: float | None
    filter_description: dict[str, object] | None = None

    def permit(self, now: StepSettings, lattice: SumLattice | None) -> tuple[Summing, float]:
        clip = now.max_grad_norm
        return partial(_sum_of_batch, clip=clip, lattice=lattice, gamma=self.gamma), clip


@dataclass(frozen=True)
class _FilteredClipping:
    """A filter's permit is requested before each step; it may shorten the clip norm."""

    filter: Filter
    gamma: float | None
    filter_description: dict[str, object] | None

    def permit(self, now: StepSettings, lattice: SumLattice | None) -> tuple[Summing, float]:
        assert now.rate is not None
        permit = self.filter.request(rate=now.rate, noise_multiplier=now.noise_multiplier)
        permit.commit()
        clip = now.max_grad_norm * permit.clip_scale
        return partial(_sum_of_batch, clip=clip, lattice=lattice, gamma=self.gamma), clip


@dataclass(frozen=True)
class _IndividualClipping:
    """Every example has a budget of its own and is charged in every step, in the batch or not.

    An exhausted example contributes nothing any more. The run continues as planned: stopping
    because of what is left would reveal it.
    """

    budgets: Individual
    gamma: float | None
    filter_description: dict[str, object] | None

    def __post_init__(self) -> None:
        if self.gamma is not None:
            raise InvalidParameter("clipping", "flat for individual budgets", "automatic")

    def permit(self, now: StepSettings, lattice: SumLattice | None) -> tuple[Summing, float]:
        return partial(self._sum, now=now, lattice=lattice), now.max_grad_norm

    def _sum(
        self, batch: Indices, gradients: Gradients, *, now: StepSettings, lattice: SumLattice | None
    ) -> BatchSum:
        rows = gradients(np.arange(self.budgets.examples))
        rows = rows if lattice is None else _dense(rows)
        found = lengths(rows)
        assert now.rate is not None
        step = self.budgets.step(
            found,
            rate=now.rate,
            noise_multiplier=now.noise_multiplier,
            clip_norm=now.max_grad_norm,
        )
        factors, found, rows = usable_weights(step.factors[batch]), found[batch], rows[batch]
        if lattice is not None:
            # Where a length overflows, the factor is zero.
            allowed = np.multiply(factors, found, out=np.zeros_like(found), where=factors > 0)
            return BatchSum(lattice.sum(rows, lattice.weights(found, allowed)), 0)
        return BatchSum(factors @ rows, 0)


def clipping_rule(
    privacy_filter: Filter | Individual | None, *, examples: int, gamma: float | None = None
) -> ClippingRule:
    """The rule of a filter, of individual budgets, or of the run's clip norm alone.

    With a gamma clipping is automatic.
    """
    if privacy_filter is None:
        return _FixedClipping(gamma)
    rule = _rule_for(privacy_filter, examples)
    return rule(privacy_filter, gamma, facts_of_filter(privacy_filter))


@singledispatch
def _rule_for(privacy_filter: Any, examples: int) -> Callable[..., ClippingRule]:  # noqa: ARG001
    raise InvalidParameter("filter", "a filter, Individual budgets or None", privacy_filter)


@_rule_for.register
def _(privacy_filter: Filter, examples: int) -> Callable[..., ClippingRule]:  # noqa: ARG001
    return _FilteredClipping


@_rule_for.register
def _(privacy_filter: Individual, examples: int) -> Callable[..., ClippingRule]:
    if privacy_filter.examples != examples:
        raise InvalidParameter("filter", f"budgets of {examples} examples", privacy_filter.examples)
    return _IndividualClipping


def checked_rows(batch: Indices, gradients: Callable[[Indices], object], *, dimension: int) -> Rows:
    """The gradients of the batch: a finite row for each example, or the factors of such rows."""
    found = gradients(batch)
    rows: Rows = found.measured() if isinstance(found, OuterProducts) else _numbers(found)
    if rows.shape != (batch.size, dimension) or not np.isfinite(_extent(rows)).all():
        allowed = f"finite numbers of shape {(batch.size, dimension)}"
        raise InvalidParameter("gradients", allowed, rows.shape)
    return rows


def _numbers(found: object) -> FloatArray:
    given = np.asarray(found)
    # Refusals show the shape and not the gradients: messages end up in logs.
    if given.dtype.kind not in "biuf":
        raise InvalidParameter("gradients", "rows of numbers", f"an array of {given.dtype}")
    return given.astype(np.float64)


def _extent(rows: Rows) -> FloatArray:
    """Finite if the rows are; of products the lengths, which are not if a number overflows."""
    return rows.lengths() if isinstance(rows, OuterProducts) else rows


def _dense(rows: Rows) -> FloatArray:
    return rows.rows() if isinstance(rows, OuterProducts) else rows


def clipped_sum(
    rows: Rows,
    clip: float,
    lattice: SumLattice | None = None,
    *,
    gamma: float | None = None,
) -> FloatArray:
    """The sum of the rows, each shortened to the norm `clip` if it is longer.

    With a lattice rows are rounded to it, within the norm, and sums are in units of it. With a
    gamma every row g is multiplied by clip / (|g| + gamma).
    """
    found = lengths(rows)
    if gamma is not None:
        longest = clip if lattice is None else lattice.shortened(clip)
        weights = usable_weights(longest / (found + gamma))
        return weights @ rows if lattice is None else lattice.sum(rows, weights)
    if lattice is not None:
        return lattice.sum(rows, lattice.weights(found, clip))
    total: FloatArray = usable_weights(clip / np.maximum(found, clip)) @ rows
    return total


def lengths(rows: Rows) -> FloatArray:
    """The Euclidean length of each row, also where squares would overflow or vanish."""
    return rows.lengths() if isinstance(rows, OuterProducts) else lengths_of_rows(rows)


def _sum_of_batch(
    batch: Indices,
    gradients: Gradients,
    *,
    clip: float,
    lattice: SumLattice | None,
    gamma: float | None = None,
) -> BatchSum:
    rows = gradients(batch) if lattice is None else _dense(gradients(batch))
    # Each example counts for +1 or -1, whatever its gradient is.
    within = int(np.count_nonzero(lengths(rows) <= clip))
    return BatchSum(clipped_sum(rows, clip, lattice, gamma=gamma), 2 * within - len(rows))


def probe_gradients(gradients: Gradients, batch: Indices, *, step: int) -> dict[str, object] | None:
    """Compare rows of `gradients` for a few examples together, in halves, and in the whole batch.

    Each two of the examples are together once and apart once. Returns what a statement reports, or
    None if nothing can be said: there is one example, or the function gives other rows each time.
    `PlanMismatch` if a row changes with the other examples. Costs seven calls with few examples and
    one with the whole batch.
    """
    if batch.size < 2:
        return None
    rows = np.unique(np.linspace(0, batch.size - 1, min(batch.size, PROBED)).astype(np.int64))
    sample = batch[rows]
    whole = _dense(gradients(sample))
    if not np.array_equal(_dense(gradients(sample)), whole, equal_nan=True):
        return None
    changes = [
        _change(_dense(gradients(sample[part])), whole[part]) for part in halves(sample.size)
    ]
    worst = max(*changes, _change(_dense(gradients(batch)[rows]), whole))
    if not worst <= TOLERANCE:
        raise PlanMismatch(
            f"Examples of a batch influence each other: a row of the gradients changes by "
            f"{worst:.2g} of its length with the others that are there; each row has to be the "
            "gradient of one example alone.",
            page="docs/training.md#the-same-with-your-own-model",
        )
    return {
        "step": step,
        "examples": int(sample.size),
        "largest_change": worst,
        "inputs_as_loaded": True,
    }


def halves(size: int) -> list[list[int]]:
    """Halves of range(size), by each bit: every two numbers are separated by one of the bits."""
    bits = range((size - 1).bit_length())
    return [[i for i in range(size) if i >> bit & 1 == side] for bit in bits for side in (0, 1)]


def _change(now: FloatArray, expected: FloatArray) -> float:
    """The largest change of a row, relative to its length; rows that are no numbers are equal."""
    now, expected = np.nan_to_num(now), np.nan_to_num(expected)
    sizes = np.minimum(lengths(expected), np.finfo(np.float64).max)
    least = max(float(sizes.max()) * NEGLIGIBLE, float(np.finfo(np.float32).tiny))
    with np.errstate(over="ignore", invalid="ignore"):
        moved = lengths(now - expected)
    return float(np.max(moved / np.maximum(sizes, least)))
