"""Participation known: every participation is composed in full."""

from __future__ import annotations

from hockeystick.baselines.baseline import Baseline, one_participation
from hockeystick.plan import Plan
from hockeystick.profile import Profile

__all__ = ["BASELINE"]


def _objection(plan: Plan) -> str | None:
    return "it is for independent noise" if plan.correlated else None


def _price(plan: Plan, noise_multiplier: float | None) -> Profile:
    """As many participations as the scheme allows."""
    step = one_participation(plan, noise_multiplier)
    return step.self_compose(plan.sampling.most_participations(plan.steps))


BASELINE = Baseline(
    name="no-amplification",
    summary="the steps of each example known to all: what sampling buys is the difference",
    objection=_objection,
    price=_price,
)
