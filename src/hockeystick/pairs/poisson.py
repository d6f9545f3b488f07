"""Poisson sampling: an independent coin in every step."""

from __future__ import annotations

from typing import cast

from hockeystick.pairs.registry import DominatingPair, pair_of
from hockeystick.plan import Plan
from hockeystick.profile import Profile
from hockeystick.sampling import Poisson

__all__ = ["poisson"]


@pair_of(Poisson)
def poisson(plan: Plan, step: Profile) -> DominatingPair:
    """The subsampled pair, composed over the steps (Zhu, Dong & Wang 2022, Theorem 11)."""
    scheme = cast("Poisson", plan.sampling)
    return DominatingPair(step.subsample(scheme.rate).self_compose(plan.steps), tight=True)
