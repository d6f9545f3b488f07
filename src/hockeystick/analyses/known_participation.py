"""Participation known, but random: the mean over the coins of what a Gaussian mechanism leaks.

All coins are revealed, also those of others, so that it does not matter whether others reveal them
through what they contribute. See mathematics.md, "Known participation".
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import reduce
from typing import cast

from hockeystick._numerics.participation_counts import Participant
from hockeystick.analyses.method import Request
from hockeystick.expressions.revealed_counts import RevealedCounts
from hockeystick.plan import Plan
from hockeystick.profile import Profile
from hockeystick.sampling import ConjecturedUserMinSep, MinSep, Sampling, UserMinSep
from hockeystick.simulation.conjectured_user_min_sep import resting_user_law
from hockeystick.simulation.copies import binomial_weights
from hockeystick.simulation.min_sep import resting_law
from hockeystick.simulation.strategy_run import columns_apart
from hockeystick.simulation.user_min_sep import held_by_a_user

__all__ = ["known_participation"]

# Users with more examples than this are not looked at one number of examples at a time.
MOST_EXAMPLES = 32
# Laws of participation are shared by all noise levels, and their operations are simple ones.
BUDGETS = 10.0


def known_participation(request: Request, *, sensitivity: float) -> Profile | None:
    """The worst over the numbers of examples; None where the law of participation is not known.

    Columns of two participations must not meet. Then the squared length of the shift is the sum of
    |c_i|^2 times squared copies, at most the longest |c|^2 times the sum of squared copies, and
    never more than the `sensitivity` of the strategy times the number of examples.
    """
    plan, noise_multiplier = request.plan, request.noise_multiplier
    assert noise_multiplier is not None
    scheme = plan.sampling
    if type(scheme) not in PARTICIPANTS or not columns_apart(plan):
        return None
    if scheme.most_copies > MOST_EXAMPLES:
        return None
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
    return reduce(Profile.maximum, pairs) if pairs else None


def _examples(plan: Plan) -> Iterator[Participant]:
    """A single example."""
    scheme = cast("MinSep", plan.sampling)
    starts = tuple(resting_law(plan).priors.tolist())
    copies = (1 - scheme.rate, scheme.rate)
    yield Participant(copies, scheme.separation, plan.steps, starts=starts)


def _users(plan: Plan) -> Iterator[Participant]:
    """A user alone, who joins whatever the same coins let it join beside others."""
    scheme = cast("UserMinSep", plan.sampling)
    for held in held_by_a_user(plan):
        copies = tuple(binomial_weights(held, scheme.rate).tolist())
        yield Participant(copies, scheme.separation, plan.steps, scheme.warm_up)


def _resting_users(plan: Plan) -> Iterator[Participant]:
    """A user alone; beside others that share examples it may join what it would not join alone."""
    if not plan.sampling.others_are_independent:
        return
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
