"""Runs that a filter governs: what is written down about it, and which plans it can price."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hockeystick import filters
from hockeystick.errors import InvalidParameter, UnsupportedPlan
from hockeystick.guarantee import Guarantee
from hockeystick.plan import Plan
from hockeystick.schemes import Missing

__all__ = ["describe_filter", "filter_guarantee", "rate_for_filters"]

Governing = filters.Filter | filters.Individual


def describe_filter(governing: Governing) -> dict[str, object]:
    """What the filter guarantees, as plain values from which `filter_guarantee` finds it again.

    Nothing about spending: what individual examples have spent may not be released. A filter whose
    budget is a profile is refused, because plain values do not describe it; ask before the run.
    """
    if not isinstance(governing, Governing):
        raise InvalidParameter("filter", "a filter, Individual budgets or None", governing)
    return governing.describe()


def filter_guarantee(described: Mapping[str, Any]) -> Guarantee:
    """The guarantee of the filter that `describe_filter` described."""
    return filters.from_description(described).guarantee()


def rate_for_filters(plan: Plan) -> float:
    """The sampling rate at which a filter prices a step of the plan.

    Filters price steps one at a time: independent noise, and batches that are independent of each
    other. `UnsupportedPlan` for any other plan.
    """
    rate = plan.sampling.rate_for_filters(plan)
    if isinstance(rate, Missing) or plan.correlated or plan.mechanism is not None:
        raise UnsupportedPlan(
            "A filter prices steps one at a time: it needs poisson sampling (without "
            "max_participations) or full-batch sampling, and independent Gaussian noise."
        )
    return rate
