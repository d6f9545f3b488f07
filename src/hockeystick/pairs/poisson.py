"""Poisson sampling: an independent coin in every step."""

from __future__ import annotations

from typing import cast

from hockeystick.pairs.registry import DominatingPair, Step, pair_of
from hockeystick.pairs.turns import composed_turns, too_many_bands
from hockeystick.plan import Plan
from hockeystick.sampling import Poisson

__all__ = ["poisson"]


@pair_of(Poisson, objection=lambda plan: too_many_bands(plan, 1))
def poisson(plan: Plan, step: Step) -> DominatingPair:
    """The subsampled pair, composed over the steps (Zhu, Dong & Wang 2022, Theorem 11)."""
    return composed_turns(plan, step, rate=cast("Poisson", plan.sampling).rate, groups=1)
