"""Cyclic Poisson sampling with independent noise."""

from __future__ import annotations

from typing import cast

from hockeystick.pairs.registry import DominatingPair, pair_of
from hockeystick.plan import Plan
from hockeystick.profile import Profile
from hockeystick.sampling import CyclicPoisson

__all__ = ["cyclic_poisson"]


@pair_of(CyclicPoisson)
def cyclic_poisson(plan: Plan, step: Profile) -> DominatingPair:
    """The worst group has the most turns; in each of them it is Poisson sampled.

    Groups are public, so the group of the example is known and there is no amplification over
    groups; steps of other groups have the same law with and without the example.
    """
    scheme = cast("CyclicPoisson", plan.sampling)
    turns = scheme.most_participations(plan.steps)
    return DominatingPair(step.subsample(scheme.rate).self_compose(turns), tight=True)
