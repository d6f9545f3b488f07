"""Participation known: every participation is composed in full."""

from __future__ import annotations

from hockeystick.accounting.baselines.baseline import Baseline, correlated_noise
from hockeystick.bounds.profiles import ProfileBound
from hockeystick.plan import Plan
from hockeystick.schemes.pairs import step_of

__all__ = ["BASELINE"]


def _bound(plan: Plan, noise_multiplier: float | None) -> ProfileBound:
    """As many participations as the scheme allows."""
    step = step_of(plan, noise_multiplier)(1.0)
    return ProfileBound(step.self_compose(plan.sampling.most_participations(plan.steps)))


BASELINE = Baseline(
    name="no-amplification",
    summary="the steps of each example known to all: what sampling buys is the difference",
    objection=correlated_noise,
    bound=_bound,
)
