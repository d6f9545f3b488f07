"""Cyclic Poisson sampling with a strategy of at most as many bands as there are groups."""

from __future__ import annotations

from typing import cast

from hockeystick.plan import Plan
from hockeystick.schemes import CyclicPoisson
from hockeystick.schemes.pairs.registry import DominatingPair, Step, pair_of
from hockeystick.schemes.pairs.turns import composed_turns, too_many_bands

__all__ = ["cyclic_poisson"]


def _objection(plan: Plan) -> str | None:
    return too_many_bands(plan, cast("CyclicPoisson", plan.sampling).groups)


@pair_of(CyclicPoisson, objection=_objection)
def cyclic_poisson(plan: Plan, step: Step) -> DominatingPair:
    """The worst group has the most turns; in each of them it is Poisson sampled.

    Groups are public, so the group of the example is known and there is no amplification over
    groups; steps of other groups have the same law with and without the example. If the group is
    secret, the run is a mixture over the groups, which by joint convexity is at most as bad as the
    worst of them: a bound, not an exact pair.
    """
    scheme = cast("CyclicPoisson", plan.sampling)
    pair = composed_turns(plan, step, rate=scheme.rate, groups=scheme.groups)
    secret = scheme.random_phase and scheme.groups > 1
    return pair._replace(tight=pair.tight and not secret)
