"""Users with several examples, each of which is drawn in every step."""

from __future__ import annotations

from typing import cast

from hockeystick.plan import Plan
from hockeystick.schemes import UserMinSep
from hockeystick.schemes.pairs.joint_draws import SHARED_EXAMPLES, needs_gaussian, several_drawn
from hockeystick.schemes.pairs.registry import (
    DominatingPair,
    Step,
    needs_independent_noise,
    pair_of,
)

__all__ = ["user_min_sep"]


def _objection(plan: Plan) -> str | None:
    scheme = cast("UserMinSep", plan.sampling)
    if scheme.separation > 1:
        return f"no dominating pair is known for {scheme.name} unless separation is 1"
    if not scheme.others_are_independent:
        return SHARED_EXAMPLES
    return needs_gaussian(plan) or needs_independent_noise(plan)


@pair_of(UserMinSep, objection=_objection)
def user_min_sep(plan: Plan, step: Step) -> DominatingPair:
    """Nobody rests: in every step a binomial number of examples, composed over the steps.

    A user with fewer examples draws fewer in every step, so one with all of them is the worst; a
    user that stops after `max_participations` joins fewer steps, and the pair is only a bound.
    """
    scheme = cast("UserMinSep", plan.sampling)
    one = several_drawn(step(1.0), rate=scheme.rate, copies=scheme.most_copies)
    stops = scheme.most_participations(plan.steps) < plan.steps
    return DominatingPair(one.self_compose(plan.steps), tight=not stops)
