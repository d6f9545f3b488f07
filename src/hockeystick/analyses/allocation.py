"""What the analyses of random allocation share."""

from __future__ import annotations

from hockeystick.plan import Plan
from hockeystick.schemes import RandomAllocation
from hockeystick.schemes.pairs import missing_pair

__all__ = ["needs_allocation"]


def needs_allocation(plan: Plan) -> str | None:
    """The objection to every other scheme, and to correlated noise."""
    if not isinstance(plan.sampling, RandomAllocation):
        return f"it is an analysis of {RandomAllocation.name}, not of {plan.sampling.name}"
    return missing_pair(plan)
