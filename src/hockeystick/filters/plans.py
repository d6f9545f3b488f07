"""A whole plan as one mechanism: permission for an amplified run, as a step of an adaptive one."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from hockeystick.errors import InvalidParameter, UnsupportedPlan
from hockeystick.guarantee import ADJACENCY
from hockeystick.profile import Profile

__all__ = ["profile_of_plan"]


def profile_of_plan(plan: Any, noise_multiplier: Any) -> Profile:
    """The profile of a run of the plan, a pair that dominates it in both directions.

    What is fixed within the plan, correlated noise and any sampling scheme included, is accounted
    for by `account`; only what comes after may depend on its outputs.
    """
    if noise_multiplier is None:
        raise InvalidParameter("noise_multiplier", "given with a plan", noise_multiplier)
    # Accounting stands above filters: it is looked up when somebody asks for a plan.
    account = import_module("hockeystick.accounting.account").account
    found = account(plan, noise_multiplier=noise_multiplier)
    if (found.kind, found.unit, found.adjacency) != ("proven", "example", ADJACENCY):
        raise UnsupportedPlan(
            f"A filter needs a proven guarantee for one example, {ADJACENCY}; this plan has a "
            f"{found.kind} one for one {found.unit}, {found.adjacency}.",
            page="docs/adaptive.md#whole-plans",
        )
    profile: Profile = found.profile
    return profile
