"""Poisson sampling: an independent coin in every step."""

from __future__ import annotations

from typing import cast

from hockeystick.plan import Plan
from hockeystick.schemes import Poisson
from hockeystick.schemes.pairs.registry import DominatingPair, Step, pair_of
from hockeystick.schemes.pairs.turns import composed_turns, too_many_bands

__all__ = ["poisson"]


@pair_of(Poisson, objection=lambda plan: too_many_bands(plan, 1))
def poisson(plan: Plan, step: Step) -> DominatingPair:
    """The subsampled pair, composed over the steps (Zhu, Dong & Wang 2022, Theorem 11).

    An example that stops after `max_participations` joins a subset of the steps that it would join
    otherwise, and a smaller random set of steps never leaks more (random_allocation,
    Corollary 4.5; the argument is in analyses/decomposition.py). A bound, not an exact pair.
    """
    scheme = cast("Poisson", plan.sampling)
    pair = composed_turns(plan, step, rate=scheme.rate, groups=1)
    stops = scheme.most_participations(plan.steps) < plan.steps
    return pair._replace(tight=pair.tight and not stops)
