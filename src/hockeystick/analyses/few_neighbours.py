"""`few-neighbours`: users who share examples, where few others can reveal when they were drawn.

Given what others reveal, a user's participations are those that are revealed and those that are
not. The noise is shared between the two: a part `a` of its variance covers the first ones, which
are a Gaussian mechanism with a random shift that is known (`known-participation`), the rest covers
the others, who take part only if they are drawn, as in `poisson-reduction` for a user alone. The
run is a post-processing of both. See mathematics.md, "What few neighbours can reveal".
"""

from __future__ import annotations

import math
from dataclasses import replace

from hockeystick.analyses.known_participation import RevealedCounts
from hockeystick.analyses.method import Method, Request
from hockeystick.analyses.poisson_reduction import (
    block_profile,
    block_sizes,
    missing_draws,
    step_profile,
)
from hockeystick.bounds.combined import BestOf
from hockeystick.bounds.profiles import upper_side
from hockeystick.guarantee import Analysis
from hockeystick.plan import Plan
from hockeystick.profile import Profile
from hockeystick.schemes.capabilities import SparseSharing, offered
from hockeystick.schemes.pairs import too_many_steps

__all__ = ["METHOD"]

# Shares of the variance for what is revealed; every one is valid, and the best is taken.
SHARES = (0.45, 0.65, 0.85)
# Operations of the law of what is revealed, in budgets, as for `known-participation`.
BUDGETS = 10.0
# The variances of the two parts add up to less than that of the noise by this, relatively.
ROUNDING = 1e-12


def _condition(plan: Plan) -> str | None:
    if plan.mechanism is not None:
        return "it needs the Gaussian mechanism"
    if plan.strategy.bands > plan.sampling.least_gap:
        most = plan.sampling.least_gap
        return f"columns of participations must not overlap: at most {most} bands"
    found = offered(plan.sampling.sparse_sharing(plan))
    return too_many_steps(plan) or missing_draws(replace(plan, sampling=found.alone))


def _analyse(request: Request) -> Analysis:
    """A composition for each share and each length of blocks."""
    assert request.noise_multiplier is not None
    sharing = offered(request.plan.sampling.sparse_sharing(request.plan))
    profiles = [profile for share in SHARES for profile in _profiles(request, sharing, share)]
    bound = BestOf([upper_side(profile) for profile in profiles])
    return Analysis(METHOD.name, METHOD.kind, bound)


def _profiles(request: Request, sharing: SparseSharing, share: float) -> list[Profile]:
    noise = request.noise_multiplier
    assert noise is not None
    plan = replace(request.plan, sampling=sharing.alone)
    hidden = noise * math.sqrt(1 - share) * (1 - ROUNDING)
    seen = _revealed(request, sharing, noise * math.sqrt(share) * (1 - ROUNDING))
    others = [step_profile(plan, hidden)]
    others += [block_profile(plan, hidden, size) for size in block_sizes(plan)]
    return [seen.compose(one) for one in others]


def _revealed(request: Request, sharing: SparseSharing, noise: float) -> Profile:
    """The mean over what is revealed of Gaussian mechanisms."""
    plan, participant = request.plan, sharing.revealed
    scheme, strategy = plan.sampling, plan.strategy
    sensitivity = strategy.sensitivity(
        separation=scheme.least_gap, participations=scheme.most_participations(plan.steps)
    )
    return Profile(
        RevealedCounts(
            participant=participant,
            length=float(strategy.column_norms.max()) / noise,
            longest=sensitivity / noise * participant.most_copies,
            operations=BUDGETS * request.budget,
        )
    )


METHOD = Method(
    name="few-neighbours",
    kind="proven",
    summary="shared examples: what few neighbours reveal is known, the rest is sampled",
    analyse=_analyse,
    needs=("sparse_sharing",),
    condition=_condition,
)
