"""Random allocation: in every block of steps a fresh uniform set of participations.

One pick out of t: the likelihood ratio is the average of t independent copies of the step's
(random_allocation, Lemma 3.1). Several picks: see allocations.py.
"""

from __future__ import annotations

from functools import reduce
from typing import cast

from hockeystick._numerics.mixed_ratio import rate_of_counts
from hockeystick.plan import Plan
from hockeystick.profile import Profile
from hockeystick.schemes import RandomAllocation
from hockeystick.schemes.pairs.registry import DominatingPair, Step, pair_of
from hockeystick.schemes.random_allocation.allocations import Allocation, parallel_allocations

__all__ = ["random_allocation"]


@pair_of(RandomAllocation)
def random_allocation(plan: Plan, step: Step) -> DominatingPair:
    """Independent draws composed; exact for one pick, and where every step is picked."""
    scheme = cast("RandomAllocation", plan.sampling)
    once = step(1.0)
    parts = [_profile(once, draws) for draws in parallel_allocations(scheme, plan.steps)]
    everywhere = scheme.picks in (1, scheme.out_of)
    return DominatingPair(reduce(Profile.compose, parts), tight=everywhere)


def _profile(step: Profile, draws: Allocation) -> Profile:
    one = step.allocate(draws.run).subsample(rate_of_counts(draws.run, draws.length))
    return one.self_compose(draws.count)
