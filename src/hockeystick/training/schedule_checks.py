"""Whether the schedule of a statement is one that its plan, or its filter, allows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from hockeystick.errors import BudgetExceeded
from hockeystick.filters import Filter, from_description
from hockeystick.training.filtered import rate_for_filters
from hockeystick.training.schedules import Schedule, from_lists
from hockeystick.training.statements import Statement

__all__ = ["impossible_schedule"]

# How far a step may be shortened where the schedule says that it was not: another machine rounds
# charges differently.
ROUNDING = 1e-6


def impossible_schedule(statement: Statement) -> Iterator[str]:
    """Steps that were not taken, and other settings than the plan's without a filter."""
    if statement.taken_schedule is None:
        return
    schedule = from_lists(statement.taken_schedule)
    taken = sum(part.steps for part in schedule)
    if taken != statement.taken_steps:
        yield f"taken_schedule has {taken} steps, but {statement.taken_steps} are taken"
    if statement.filter is not None:
        yield from _unpermitted(statement, statement.filter, schedule)
        return
    for part in schedule:
        noise, clip = part.noise_multiplier, part.clip_norm
        # Noise is a multiple of the clip norm, so that it may follow released counts.
        adapted = part.count_noise is not None and not statement.plan.correlated
        if noise != statement.noise_multiplier:
            yield f"steps with noise multiplier {noise:g} need a filter that permits them"
        elif clip != statement.max_grad_norm and not adapted:
            yield f"steps with the clip norm {clip:g} need a filter that permits them"
        if part.rate is not None:
            yield f"steps with the rate {part.rate:g} of their own need a filter"


def _unpermitted(
    statement: Statement, described: Mapping[str, Any], schedule: Schedule
) -> Iterator[str]:
    """Steps that a new filter of this description does not permit, in their order.

    Budgets of single examples permit every step.
    """
    found = from_description(described)
    if not isinstance(found, Filter):
        return
    number, planned = 0, rate_for_filters(statement.plan)
    for part in schedule:
        rate, noise = part.rate, part.noise_multiplier
        if rate is None:
            # Files of earlier versions: the noise is a multiple of the clip norm at the start.
            rate, noise = planned, noise * statement.max_grad_norm / part.clip_norm
        for _ in range(part.steps):
            number += 1
            try:
                permit = found.request(rate=rate, noise_multiplier=noise)
            except BudgetExceeded:
                yield f"the filter permits {number - 1} steps of taken_schedule and no more"
                return
            if not permit.clip_scale >= 1 - ROUNDING:
                yield f"step {number} of taken_schedule is more than the filter permits"
                return
