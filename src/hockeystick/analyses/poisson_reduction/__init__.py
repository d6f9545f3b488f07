"""`poisson-reduction`: the plan as Poisson sampling, of which the whole law is known.

Random allocation takes a raised rate, and the chance that the rate is too low is added to delta
(allocation.py). Schemes in which nobody takes part without being sampled in the step, such as
b-min-sep sampling of examples and of users, need no raised rate.

That is Poisson sampling with independent noise in the place of correlated noise and exclusion:

**Single steps.** An excluded example is sampled too and the draw is ignored, so under one and the
same draws the participation vector x of the run is entry by entry at most the vector x' of the
draws; for a user x' counts all its examples that are sampled. Larger shifts dominate, in both
directions (mathematics.md, "Larger shifts leak more"), and all entries of C are non-negative, so
C x + z is dominated by C x' + z, whatever excludes examples, and whether or not they stop.

The draws of different steps are independent, but their columns may overlap. With D = diag(C^T C 1),
D - C^T C is positive semidefinite (it is diagonally dominant), so C x' + z is a post-processing of
D^(1/2) x' + z. That is the composition of all steps, each Poisson sampled with the sensitivity
sqrt(D_jj), which for a Toeplitz strategy is at most the sum of its coefficients. Good at high
noise, where no more than the means count, and poor at low noise, where it counts participations
together that the exclusion keeps apart.

**Blocks of steps.** Within a block of at most `separation` steps nobody takes part twice. Assign
the blocks to R classes in turn, as many as it takes for columns of two blocks of one class never to
overlap, and share the variance of the noise in each row among the classes: the run is a
post-processing of the R parts. Within a block the inner products of columns, each row divided by
its share, are at most the largest squared length, and larger inner products leak more [Kahane86],
so all steps of a block may as well have one and the same column; that is the only place where the
exclusion is used. Then nothing is left but how many examples joined the one step of the block, at
most the largest number sampled in any of its steps: independent blocks, each Poisson sampled
(mathematics.md, "Blocks"). Longer blocks are better at low noise, where a participation costs what
its column is long, and worse at high noise, where it matters that a block is joined more often.

**Shares of the noise.** Step i of a block of L steps has the entries c_0, c_1, ... in the rows i,
i + 1, ... of the block, which reach into the next ones. Row u of a block, of all L + bands - 1,
gets the share w_u of the noise's variance; the rows u, u + L, u + 2L, ... belong to different
blocks and are the same row of the run, so their shares add up to one. The squared length of step i
becomes sum_d c_d^2 / w_(i+d), and the longest step counts. All shares are valid; the best ones are
a saddle point: for weights v on the steps the best share is in proportion to
sqrt(sum_i v_i c_(u-i)^2), and the weights move to the longest steps.
"""

from __future__ import annotations

import math
from functools import lru_cache, reduce

import numpy as np

from hockeystick._numerics.law import FloatArray
from hockeystick._numerics.series import multiply, padded
from hockeystick.analyses.method import Method, Request
from hockeystick.analyses.poisson_reduction.allocation import ReductionBound
from hockeystick.bounds import Bound
from hockeystick.bounds.combined import BestOf
from hockeystick.bounds.profiles import upper_side
from hockeystick.guarantee import Analysis
from hockeystick.plan import Plan
from hockeystick.profile import Profile
from hockeystick.schemes import Missing
from hockeystick.schemes.capabilities import offered
from hockeystick.schemes.pairs import (
    counted_lengths,
    needs_gaussian,
    several_sampled,
    step_of,
    too_many_steps,
)
from hockeystick.strategies import Strategy

__all__ = [
    "METHOD",
    "block_lengths",
    "block_profile",
    "block_sizes",
    "independent_bound",
    "missing_draws",
    "separate_lengths",
    "shared_length",
    "step_profile",
]

# Floating point in lengths of columns and in sums of products, relatively: 1e5 roundings.
ROUNDING = 1e-11
# The search for shares: rounds, after which the length is within 0.2 % of its limit for up to 64
# bands, and the power with which weights follow the lengths; with 1 they would oscillate.
SHARE_ROUNDS, SHARE_RATE = 100, 0.5


def missing_draws(plan: Plan) -> str | None:
    """Why the plan has no such bound, in one clause; None if it has one."""
    sampling = plan.sampling.independent_sampling(plan)
    if isinstance(sampling, Missing):
        return sampling.reason
    if sampling.exact and not plan.correlated:
        return "it is Poisson sampling already"
    if plan.correlated and too_many_steps(plan) is not None:
        return too_many_steps(plan)
    return None if sampling.copies == 1 else needs_gaussian(plan)


@lru_cache(maxsize=4)
def independent_bound(plan: Plan, noise_multiplier: float | None) -> Bound:
    """Upper bounds for a plan to which `missing_draws` has no objection.

    The best of single steps and blocks, in each direction. Remembered, with its laws, because two
    methods use it.
    """
    profiles = [step_profile(plan, noise_multiplier)]
    profiles += [block_profile(plan, noise_multiplier, size) for size in block_sizes(plan)]
    return BestOf([upper_side(profile) for profile in profiles])


def step_profile(plan: Plan, noise_multiplier: float | None) -> Profile:
    """The composition over all steps; equal lengths are composed at once."""
    sampling = offered(plan.sampling.independent_sampling(plan))
    step = step_of(plan, noise_multiplier)
    lengths = {1.0: plan.steps}
    if plan.correlated:
        lengths, _ = counted_lengths(separate_lengths(plan.strategy))
    parts = [
        several_sampled(step(length), rate=sampling.rate, copies=sampling.copies).self_compose(
            count
        )
        for length, count in lengths.items()
    ]
    return reduce(Profile.compose, parts)


def separate_lengths(strategy: Strategy) -> FloatArray:
    """sqrt((C^T C 1)_j): the sensitivities of steps that together dominate C x + z, for all x."""
    coefficients = strategy.coefficients
    if coefficients is None:
        matrix = strategy.to_matrix()
        squares = matrix.T @ matrix.sum(axis=1)
    else:
        rows = np.cumsum(padded(coefficients, strategy.steps))
        squares = multiply(coefficients, rows[::-1], strategy.steps)[::-1]
    lengths: FloatArray = np.sqrt(squares) * (1 + ROUNDING)
    return lengths


def block_sizes(plan: Plan) -> list[int]:
    """Powers of two up to the separation and the bands, and the smaller of these."""
    largest = min(plan.strategy.bands, plan.sampling.least_gap)
    if largest < 2 or plan.mechanism is not None:
        return []
    powers = (2**power for power in range(1, largest.bit_length()))
    return sorted({largest, *powers})


def block_profile(plan: Plan, noise_multiplier: float | None, size: int) -> Profile:
    """The composition over all blocks of so many steps."""
    sampling = offered(plan.sampling.independent_sampling(plan))
    step = step_of(plan, noise_multiplier)
    lengths, _ = counted_lengths(block_lengths(plan.strategy, size))
    parts = [
        several_sampled(
            step(length), rate=sampling.rate, copies=sampling.copies, tries=size
        ).self_compose(count)
        for length, count in lengths.items()
    ]
    return reduce(Profile.compose, parts)


def block_lengths(strategy: Strategy, size: int) -> FloatArray:
    """The sensitivity of each block.

    In a Toeplitz strategy with shares that suit its coefficients; otherwise every class has the
    same share, and a block the square root of their number times its longest column.
    """
    starts = np.arange(0, strategy.steps, size)
    if strategy.coefficients is not None:
        return np.full(starts.size, shared_length(strategy.coefficients, size) * (1 + ROUNDING))
    classes = 1 - (1 - strategy.bands) // size
    longest = np.maximum.reduceat(strategy.column_norms, starts)
    lengths: FloatArray = longest * (classes**0.5 * (1 + ROUNDING))
    return lengths


def shared_length(coefficients: FloatArray, size: int) -> float:
    """The longest step of a block with the best shares that are found: O(size * bands) a round."""
    squares = coefficients**2
    rows = size + squares.size - 1
    weights = np.full(size, 1.0 / size)
    best = math.inf
    for _ in range(SHARE_ROUNDS):
        shares = _best_shares(np.convolve(squares, weights), size)
        lengths = np.correlate(1 / np.maximum(shares[:rows], 1e-300), squares, mode="valid")
        longest = float(lengths.max())
        best = min(best, longest)
        weights *= (lengths / longest) ** SHARE_RATE
        weights /= weights.sum()
    return math.sqrt(best)


def _best_shares(energy: FloatArray, size: int) -> FloatArray:
    """In proportion to the square root of the energy, among rows that are the same in the run."""
    blocks = -(-energy.size // size)
    roots = np.zeros(blocks * size)
    roots[: energy.size] = np.sqrt(energy)
    by_row = roots.reshape(blocks, size)
    shares: FloatArray = (by_row / by_row.sum(axis=0)).ravel()
    return shares


def _condition(plan: Plan) -> str | None:
    allocations = plan.sampling.parallel_allocations(plan)
    return missing_draws(plan) if isinstance(allocations, Missing) else None


def _analyse(request: Request) -> Analysis:
    """For allocation about ten times the cost of Poisson sampling, otherwise once its cost."""
    plan, noise_multiplier = request.plan, request.noise_multiplier
    draws = plan.sampling.parallel_allocations(plan)
    if isinstance(draws, Missing):
        return Analysis(METHOD.name, METHOD.kind, independent_bound(plan, noise_multiplier))
    step = step_of(plan, noise_multiplier)(1.0)
    return Analysis(METHOD.name, METHOD.kind, ReductionBound(step, draws))


METHOD = Method(
    name="poisson-reduction",
    kind="proven",
    summary="Poisson sampling at a raised rate, plus the chance that the rate is too low",
    analyse=_analyse,
    needs=("parallel_allocations", "independent_sampling"),
    condition=_condition,
    second_to=("profile",),
)
