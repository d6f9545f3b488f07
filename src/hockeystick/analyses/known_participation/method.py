"""`known-participation`: the mean over the sampling of what a Gaussian mechanism leaks.

All Bernoulli draws are revealed, also those of others, so that it does not matter whether others
reveal them through what they contribute. See mathematics.md, "Known participation".
"""

from __future__ import annotations

from functools import reduce

from hockeystick.analyses.known_participation.pair import RevealedCounts
from hockeystick.analyses.method import Method, Request
from hockeystick.bounds.profiles import ProfileBound
from hockeystick.guarantee import Analysis
from hockeystick.plan import Plan
from hockeystick.profile import Profile
from hockeystick.schemes.capabilities import offered
from hockeystick.schemes.pairs import too_many_steps

__all__ = ["METHOD"]

# Each number of examples of a user is one law of participation: 32 of them take
# four seconds for 2,000 steps.
MOST_EXAMPLES = 32
# Operations of a law of participation, in budgets: it is computed once for all noise levels, from
# additions and multiplications alone.
BUDGETS = 10.0


def _condition(plan: Plan) -> str | None:
    scheme = plan.sampling
    if plan.mechanism is not None:
        return "it needs the Gaussian mechanism"
    if plan.strategy.bands > scheme.least_gap:
        return f"columns of participations must not overlap: at most {scheme.least_gap} bands"
    if scheme.most_copies > MOST_EXAMPLES:
        return f"it takes at most {MOST_EXAMPLES} examples of a user"
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
    participants = list(offered(scheme.participants(plan)))
    length = float(plan.strategy.column_norms.max()) / noise_multiplier
    longest = sensitivity / noise_multiplier
    pairs = [
        Profile(
            RevealedCounts(
                participant=one,
                length=length,
                longest=longest * (len(one.copy_probabilities) - 1),
                operations=BUDGETS * request.budget / len(participants),
            )
        )
        for one in participants
    ]
    return Analysis(METHOD.name, METHOD.kind, ProfileBound(reduce(Profile.maximum, pairs)))


METHOD = Method(
    name="known-participation",
    kind="proven",
    summary="participation known but random: the mean of Gaussian mechanisms, no amplification",
    analyse=_analyse,
    needs=("participants",),
    condition=_condition,
)
