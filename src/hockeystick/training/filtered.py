"""Runs that a filter governs: what is written down about it, and which plans it can price."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from hockeystick import _validate as check
from hockeystick import filters
from hockeystick.errors import InvalidParameter, UnsupportedPlan
from hockeystick.filters.individual.rules import RenyiRule
from hockeystick.filters.renyi.charge import LARGEST_ORDER
from hockeystick.guarantee import Guarantee
from hockeystick.plan import Plan
from hockeystick.schemes import FullBatch, Poisson

__all__ = ["describe_filter", "filter_guarantee", "rate_for_filters"]

Governing = filters.Filter | filters.Individual


def _renyi_rule(order: float, budget: float) -> filters.Individual:
    allowed = f"in (1, {LARGEST_ORDER}]"
    rule = RenyiRule(check.real("order", order, allowed), check.positive("budget", budget))
    if not 1 < rule.order <= LARGEST_ORDER:
        raise InvalidParameter("order", allowed, order)
    return filters.Individual(examples=1, rule=rule)


def _levy(epsilon: float, delta: float, process: str) -> filters.Levy:
    return filters.Levy(
        epsilon=epsilon, delta=delta, process=filters.LevyProcess.from_text(process)
    )


# What a filter is built from; a new filter whose guarantee numbers alone describe is a line here.
_FILTERS: dict[str, tuple[Callable[..., Governing], tuple[str, ...]]] = {
    "Renyi": (filters.Renyi, ("epsilon", "delta", "order")),
    "Gaussian": (filters.Gaussian, ("mu",)),
    "Levy": (_levy, ("epsilon", "delta", "process")),
    "ApproximateGaussian": (filters.ApproximateGaussian, ("mu", "regime")),
    "Individual renyi": (_renyi_rule, ("order", "budget")),
    "Individual gaussian": (partial(filters.Individual.gaussian, examples=1), ("mu",)),
    "Individual approximate": (
        partial(filters.Individual.approximate, examples=1),
        ("mu", "regime"),
    ),
}


def describe_filter(governing: Governing) -> dict[str, object]:
    """What the filter guarantees, as plain values from which `filter_guarantee` finds it again.

    Nothing about spending: what individual examples have spent may not be released. A filter whose
    budget is a profile is refused, because numbers alone do not describe it; ask before the run.
    """
    name, values = _named(governing)
    if name not in _FILTERS:
        raise InvalidParameter("filter", f"one of {', '.join(_FILTERS)}", governing)
    _, parameters = _FILTERS[name]
    return {"filter": name, **{one: values[one] for one in parameters}}


def filter_guarantee(described: Mapping[str, Any]) -> Guarantee:
    """The guarantee of the filter that `describe_filter` described.

    Exactly its parameters are taken: a description that names others is refused.
    """
    given = dict(described)
    name = str(given.pop("filter", None))
    plain = all(isinstance(value, (int, float, str)) for value in given.values())
    if name not in _FILTERS or set(given) != set(_FILTERS[name][1]) or not plain:
        allowed = "a description that `describe_filter` made"
        raise InvalidParameter("filter", allowed, dict(described))
    build, _ = _FILTERS[name]
    return build(**given).guarantee()


def _named(governing: Governing) -> tuple[str, Mapping[str, Any]]:
    """The name in the table, and everything from which its parameters are taken."""
    if isinstance(governing, filters.Individual):
        described = governing.rule.describe()
        return f"Individual {described['rule']}", described
    values = {
        name: value.as_text() if isinstance(value, filters.LevyProcess) else value
        for name, value in vars(governing).items()
    }
    return type(governing).__name__, values


def rate_for_filters(plan: Plan) -> float:
    """The sampling rate at which a filter prices a step of the plan.

    Filters price steps one at a time: independent noise, and batches that are independent of each
    other. `UnsupportedPlan` for any other plan.
    """
    sampling: Any = plan.sampling
    rates: dict[type, Callable[[], float | None]] = {
        FullBatch: lambda: 1.0,
        Poisson: lambda: sampling.rate if sampling.max_participations is None else None,
    }
    rate = rates.get(type(sampling), lambda: None)()
    if rate is None or plan.correlated or plan.mechanism is not None:
        raise UnsupportedPlan(
            "A filter prices steps one at a time: it needs poisson sampling (without "
            "max_participations) or full-batch sampling, and independent Gaussian noise."
        )
    return rate
