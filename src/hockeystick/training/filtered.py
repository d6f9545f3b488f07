"""Runs with a privacy filter: its description in a statement, and the plans it accounts for."""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping
from typing import Any

from hockeystick import filters
from hockeystick.errors import InvalidParameter, UnsupportedPlan
from hockeystick.guarantee import Guarantee
from hockeystick.plan import Plan
from hockeystick.schemes import Missing, Sampling

__all__ = [
    "BUDGET",
    "WITHOUT_FILTER",
    "describe_filter",
    "facts_of_filter",
    "filter_guarantee",
    "filter_of",
    "rate_for_filters",
    "scheme_at",
    "shared_budget",
    "warn_of_no_step",
    "warn_of_unexpected",
]

# Why a run without a filter cannot change its settings.
WITHOUT_FILTER = (
    "Settings change between steps only in a run with a filter, which accounts for every step as "
    "it is taken; without one what was accounted is fixed: give filter= to the run, or plan the "
    "phases beforehand."
)

# Beside a filter's description in a record: which budget the run spent.
BUDGET = "budget_id"

AnyFilter = filters.Filter | filters.Individual


def describe_filter(privacy_filter: AnyFilter) -> dict[str, object]:
    """What the filter guarantees, as plain values.

    Nothing about spending: what individual examples have spent may not be released.

    Parameters
    ----------
    privacy_filter
        A filter or individual budgets. One whose budget is a profile is refused, because plain
        values do not describe it; call this before the run.

    Returns
    -------
    dict
        What a `RunRecord` takes as its `filter`.

    Examples
    --------
    >>> import hockeystick as hs
    >>> hs.training.describe_filter(hs.filters.Gaussian(mu=1.0))
    {'filter': 'Gaussian', 'mu': 1.0}
    """
    if not isinstance(privacy_filter, AnyFilter):
        raise InvalidParameter("filter", "a filter, Individual budgets or None", privacy_filter)
    return privacy_filter.describe()


def facts_of_filter(privacy_filter: AnyFilter) -> dict[str, object]:
    """What a run records about its filter: the description, and the number of a shared budget."""
    described = describe_filter(privacy_filter)
    if isinstance(privacy_filter, filters.Filter):
        described[BUDGET] = privacy_filter.budget_id
    return described


def shared_budget(described: Mapping[str, Any] | None) -> str | None:
    """What runs on one budget have in common and no others; None if the record names no budget."""
    if described is None or described.get(BUDGET) is None:
        return None
    return json.dumps(dict(described), sort_keys=True)


def filter_of(described: Mapping[str, Any]) -> Any:
    """The recorded filter, with nothing spent."""
    return filters.from_description({k: v for k, v in described.items() if k != BUDGET})


def warn_of_unexpected(
    privacy_filter: AnyFilter | None, *, rate: float | None, noise_multiplier: float
) -> None:
    """A warning before the first step, if the filter was built for other steps than the run's."""
    if isinstance(privacy_filter, filters.Filter) and rate is not None:
        said = privacy_filter.unexpected(rate=rate, noise_multiplier=noise_multiplier)
        if said:
            warnings.warn(said, UserWarning, stacklevel=3)


def warn_of_no_step() -> None:
    """A warning where a run ends before its first step: a loop over no batches shows nothing."""
    text = (
        "The filter permits no step, and the run ends with 0 steps: its budget is spent, or the "
        "first step alone is more than the budget (`hockeystick docs stopping` says what may "
        "still fit)."
    )
    warnings.warn(text, UserWarning, stacklevel=4)


def filter_guarantee(described: Mapping[str, Any]) -> Guarantee:
    """The guarantee of the filter that `describe_filter` described."""
    guarantee: Guarantee = filter_of(described).guarantee()
    return guarantee


def rate_for_filters(plan: Plan) -> float:
    """The sampling rate with which a filter is charged for a step of the plan.

    Filters account for steps one at a time: independent noise, and batches that are independent of
    each other.

    Parameters
    ----------
    plan
        The plan of a run with a filter.

    Returns
    -------
    float
        The probability that an example takes part in a step.

    Raises
    ------
    UnsupportedPlan
        For plans whose steps depend on each other.

    Examples
    --------
    >>> import hockeystick as hs
    >>> hs.training.rate_for_filters(hs.Plan(sampling=hs.Poisson(rate=0.1), steps=5))
    0.1
    """
    rate = plan.sampling.rate_for_filters(plan)
    other = plan.correlated or plan.mechanism is not None or plan.adjacency != "add-remove"
    if isinstance(rate, Missing) or other:
        raise UnsupportedPlan(
            "A filter accounts for steps one at a time: it needs poisson sampling (without "
            "max_participations) or full-batch sampling, independent Gaussian noise, and "
            "adjacency='add-remove'.",
            page="docs/stopping.md#change-settings-while-it-runs",
        )
    return rate


def scheme_at(plan: Plan, rate: float) -> Sampling:
    """The plan's scheme with another rate, for the steps of a run whose rate changes.

    Parameters
    ----------
    plan
        The plan of a run with a filter.
    rate
        The probability that an example takes part in a step.

    Returns
    -------
    Sampling
        A scheme whose steps are independent of those before.

    Raises
    ------
    UnsupportedPlan
        For schemes whose rate cannot change.

    Examples
    --------
    >>> import hockeystick as hs
    >>> plan = hs.Plan(sampling=hs.Poisson(rate=0.1), steps=5)
    >>> hs.training.filtered.scheme_at(plan, 0.2).rate
    0.2
    """
    if rate == rate_for_filters(plan):
        return plan.sampling
    found = plan.sampling.at_rate(rate)
    if isinstance(found, Missing):
        raise UnsupportedPlan(
            f"The rate stays as it is: {found.reason}. A plan with Poisson sampling can change it.",
            page="docs/adapting.md",
        )
    return found
