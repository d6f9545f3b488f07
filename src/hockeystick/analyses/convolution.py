"""Convex-order numerics on the pair of the whole run: `profile`, `decomposition`.

`profile` evaluates the plan's dominating pair. `decomposition` computes one pick differently:
Poisson sampling as a mixture of allocations [FeldmanShenfeld25, Theorem 4.1].

Poisson sampling over t steps, given that the example takes part at all, is a mixture of k-out-of-t
allocations with k >= 1. One pick is never worse: if a random set of steps always contains another,
it dominates it. (Change one step at a time: as a function of that step's likelihood ratio W, the
larger set turns a + b W into (a - c) + (b + c) W with c >= 0, a spread around the same mean.) So
the pair of the Poisson run, conditioned on taking part, dominates 1-out-of-t; its likelihood ratio
is (LR - (1 - r)) / r with r = 1 - (1 - rate)^t. That is the theorem, in both directions and as a
pair that composes over picks and blocks. (A mechanism with P-mass at infinity is the limit of ones
without.)

The rate is free. A lower one conditions on fewer participations, so by the same argument the bound
falls with the rate and becomes exact as it goes to 0; what keeps other accountants from using
that is the resolution of their grids. Here the expected number of participations is 0.001, which
costs about 0.05 % of epsilon. An independent computation of what `profile` averages directly.
"""

from __future__ import annotations

import math
from functools import reduce

from hockeystick._numerics.mixed_ratio import rate_of_counts
from hockeystick.analyses.method import Method, Request
from hockeystick.bounds import Bound
from hockeystick.bounds.counted_picks import CountedPicksBound
from hockeystick.bounds.profiles import ProfileBound, upper_side
from hockeystick.guarantee import Analysis
from hockeystick.plan import ADJACENCIES
from hockeystick.profile import Profile
from hockeystick.schemes import Allocation
from hockeystick.schemes.capabilities import offered
from hockeystick.schemes.pairs import dominating_pair, missing_pair, step_of

__all__ = ["DECOMPOSITION", "EXPECTED_PARTICIPATIONS", "PROFILE", "decomposed"]


def _convolved(request: Request) -> Analysis:
    """Exact up to the stated accuracy wherever the pair is tight; both directions.

    With several picks the better one of the pair and of Poisson sampling (bounds/counted_picks.py).
    Cost: O(N^2 log steps) for N of about a thousand grid points; independent of delta.
    """
    pair = dominating_pair(request.plan, request.noise_multiplier)
    bound: Bound = ProfileBound(pair.profile, exact=pair.tight, below=pair.below)
    if pair.counted is not None:
        bound = CountedPicksBound(bound, pair.counted)
    return Analysis(PROFILE.name, PROFILE.kind, bound)


PROFILE = Method(
    name="profile",
    kind="proven",
    summary="convex-order numerics on the whole privacy profile",
    analyse=_convolved,
    condition=missing_pair,
    relations=ADJACENCIES,
)

# Of the Poisson run, before conditioning: costs 0.05 % of epsilon, and the grid still resolves it.
EXPECTED_PARTICIPATIONS = 1e-3


def decomposed(step: Profile, steps: int, *, rate: float) -> Profile:
    """A pair that dominates 1-out-of-`steps`: Poisson sampling given at least one participation.

    At low noise almost all of the mass without the example lies where the Poisson run has its
    smallest likelihood ratio, which the grid cannot tell from 0; the step with its participation
    known is a bound as well, and takes over there.
    """
    if steps == 1:
        return step
    takes_part = -math.expm1(steps * math.log1p(-rate))
    poisson = step.subsample(rate).self_compose(steps)
    return Profile(poisson.expression.condition(takes_part)).minimum(step)


def _decomposed_run(request: Request) -> Analysis:
    """As `profile`: O(N^2 log steps) for N of about a thousand grid points."""
    step = step_of(request.plan, request.noise_multiplier)(1.0)
    draws = offered(request.plan.sampling.parallel_allocations(request.plan))
    profile = reduce(Profile.compose, (_blocks(step, allocation) for allocation in draws))
    return Analysis(DECOMPOSITION.name, DECOMPOSITION.kind, upper_side(profile))


def _blocks(step: Profile, draws: Allocation) -> Profile:
    one = decomposed(step, draws.steps_run, rate=EXPECTED_PARTICIPATIONS / draws.steps_run)
    return one.subsample(rate_of_counts(draws.steps_run, draws.length)).self_compose(draws.count)


DECOMPOSITION = Method(
    name="decomposition",
    kind="proven",
    summary="Poisson sampling given that the example takes part",
    analyse=_decomposed_run,
    needs=("parallel_allocations",),
    second_to=("profile",),
)
