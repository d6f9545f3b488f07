"""b-min-sep sampling where it is another scheme under another name.

Without rest it is Poisson sampling. At rate 1 chance only decides where an example begins: with a
warm start that is balls-in-bins with one bin for each step of the separation, from a cold start
everyone takes the turns of the first of `separation` groups. In between no pair is known.
"""

from __future__ import annotations

from typing import NamedTuple, cast

from hockeystick.plan import Plan
from hockeystick.schemes import BallsInBins, CyclicPoisson, MinSep, Poisson, Sampling
from hockeystick.schemes.pairs.registry import (
    DominatingPair,
    Step,
    dominating_pair,
    missing_pair,
    pair_of,
)

__all__ = ["Renamed", "min_sep", "renamed"]


class Renamed(NamedTuple):
    """A plan with the same batches, or with batches that contain them if `exact` is False."""

    plan: Plan
    exact: bool


def renamed(plan: Plan) -> Renamed | None:
    """The plan with the scheme that its b-min-sep sampling is; None if it is none of the others.

    Poisson sampling can stop after some participations, the others cannot: without the stop an
    example joins a larger set of steps, which dominates.
    """
    scheme = cast("MinSep", plan.sampling)
    other: Sampling
    stops = scheme.max_participations
    if scheme.separation == 1:
        other = Poisson(rate=scheme.rate, max_participations=stops)
    elif scheme.rate == 1 and scheme.warm_start:
        other = BallsInBins(bins=scheme.separation)
    elif scheme.rate == 1:
        other = CyclicPoisson(rate=1.0, groups=scheme.separation)
    else:
        return None
    same = Plan(sampling=other, steps=plan.steps, strategy=plan.strategy, mechanism=plan.mechanism)
    stays = other.most_participations(plan.steps) == scheme.most_participations(plan.steps)
    # Other groups may have longer columns than the first, unless all are alike.
    alike = plan.strategy.coefficients is not None or not isinstance(other, CyclicPoisson)
    return Renamed(same, stays and alike)


def _objection(plan: Plan) -> str | None:
    other = renamed(plan)
    if other is not None:
        return missing_pair(other.plan)
    return f"no dominating pair is known for {MinSep.name} unless separation or rate is 1"


@pair_of(MinSep, objection=_objection)
def min_sep(plan: Plan, step: Step) -> DominatingPair:
    """That of the scheme which it is."""
    other = renamed(plan)
    assert other is not None
    pair = dominating_pair(other.plan, step)
    return pair._replace(tight=pair.tight and other.exact)
