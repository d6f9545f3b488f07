"""Full batch: the example is in every step."""

from __future__ import annotations

from hockeystick.plan import Plan
from hockeystick.schemes import FullBatch
from hockeystick.schemes.pairs.registry import DominatingPair, Step, pair_of

__all__ = ["full_batch"]


@pair_of(FullBatch, objection=lambda plan: None)
def full_batch(plan: Plan, step: Step) -> DominatingPair:
    """All columns at once if they overlap, otherwise plain composition of all steps."""
    if plan.correlated:
        return DominatingPair(step(float(plan.strategy.sensitivity())), tight=True)
    return DominatingPair(step(1.0).self_compose(plan.steps), tight=True)
