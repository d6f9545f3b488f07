"""Full batch: the example is in every step."""

from __future__ import annotations

from hockeystick.pairs.registry import DominatingPair, pair_of
from hockeystick.plan import Plan
from hockeystick.profile import Profile
from hockeystick.sampling import FullBatch

__all__ = ["full_batch"]


@pair_of(FullBatch)
def full_batch(plan: Plan, step: Profile) -> DominatingPair:
    """Plain composition of all steps."""
    return DominatingPair(step.self_compose(plan.steps), tight=True)
