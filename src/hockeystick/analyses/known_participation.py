"""`known-participation`: the mean over the coins of what a Gaussian mechanism leaks.

All coins are revealed, also those of others, so that it does not matter whether others reveal them
through what they contribute. See mathematics.md, "Known participation".
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import reduce
from typing import cast

from hockeystick.analyses.method import Method, Request
from hockeystick.bounds.profiles import ProfileBound
from hockeystick.guarantee import Analysis
from hockeystick.plan import Plan
from hockeystick.profile import Profile
from hockeystick.profile.expressions.participation_counts import Participant
from hockeystick.profile.expressions.revealed_counts import RevealedCounts
from hockeystick.schemes import ConjecturedUserMinSep, MinSep, Sampling, UserMinSep
from hockeystick.schemes.pairs.joint_draws import too_many_steps

__all__ = ["METHOD"]

# Users with more examples than this are not looked at one number of examples at a time.
MOST_EXAMPLES = 32
# Laws of participation are shared by all noise levels, and their operations are simple ones.
BUDGETS = 10.0


def _objection(plan: Plan) -> str | None:
    scheme = plan.sampling
    if type(scheme) not in PARTICIPANTS:
        return f"the law of participation is not worked out for {scheme.name}"
    if plan.mechanism is not None:
        return "it needs the Gaussian mechanism"
    if plan.strategy.bands > scheme.least_gap:
        return f"columns of participations must not overlap: at most {scheme.least_gap} bands"
    if scheme.most_copies > MOST_EXAMPLES:
        return f"at most {MOST_EXAMPLES} examples of a user are looked at"
    if type(scheme) is ConjecturedUserMinSep and not scheme.others_are_independent:
        return "users that share examples may join steps that they would not join alone"
    return too_many_steps(plan)


def _analyse(request: Request) -> Analysis:
    """The worst over the numbers of examples.

    Columns of two participations do not meet, so the squared length of the shift is the sum of
    |c_i|^2 times squared copies, at most the longest |c|^2 times the sum of squared copies, and
    never more than the worst pattern has.
    """
    plan, noise_multiplier = request.plan, request.noise_multiplier
    assert noise_multiplier is not None
    scheme = plan.sampling
    sensitivity = plan.strategy.sensitivity(
        separation=scheme.least_gap, participations=scheme.most_participations(plan.steps)
    )
    participants = list(PARTICIPANTS[type(scheme)](plan))
    length = float(plan.strategy.column_norms.max()) / noise_multiplier
    longest = sensitivity / noise_multiplier
    pairs = [
        Profile(
            RevealedCounts(
                participant=one,
                length=length,
                longest=longest * (len(one.copies) - 1),
                operations=BUDGETS * request.budget / len(participants),
            )
        )
        for one in participants
    ]
    return Analysis(METHOD.name, METHOD.kind, ProfileBound(reduce(Profile.maximum, pairs)))


def _examples(plan: Plan) -> Iterator[Participant]:
    """A single example."""
    from hockeystick.schemes.min_sep.simulation import resting_law

    scheme = cast("MinSep", plan.sampling)
    starts = tuple(resting_law(plan).priors.tolist())
    copies = (1 - scheme.rate, scheme.rate)
    yield Participant(copies, scheme.separation, plan.steps, starts=starts)


def _users(plan: Plan) -> Iterator[Participant]:
    """A user alone, who joins whatever the same coins let it join beside others."""
    from hockeystick.schemes.simulation.copies import binomial_weights
    from hockeystick.schemes.user_min_sep.simulation import held_by_a_user

    scheme = cast("UserMinSep", plan.sampling)
    for held in held_by_a_user(plan):
        copies = tuple(binomial_weights(held, scheme.rate).tolist())
        yield Participant(copies, scheme.separation, plan.steps, scheme.warm_up)


def _resting_users(plan: Plan) -> Iterator[Participant]:
    """A user alone."""
    from hockeystick.schemes.conjectured_user_min_sep.simulation import resting_user_law
    from hockeystick.schemes.user_min_sep.simulation import held_by_a_user

    scheme = cast("ConjecturedUserMinSep", plan.sampling)
    for held in held_by_a_user(plan):
        law = resting_user_law(plan, held)
        copies, starts = tuple(law.copies.tolist()), tuple(law.starts.tolist())
        yield Participant(copies, scheme.separation, plan.steps, scheme.warm_up, starts)


PARTICIPANTS: dict[type[Sampling], Callable[[Plan], Iterator[Participant]]] = {
    MinSep: _examples,
    UserMinSep: _users,
    ConjecturedUserMinSep: _resting_users,
}


METHOD = Method(
    name="known-participation",
    kind="proven",
    summary="participation known but random: the mean of Gaussian mechanisms, no amplification",
    objection=_objection,
    analyse=_analyse,
)
