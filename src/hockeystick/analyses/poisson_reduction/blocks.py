"""b-min-sep sampling as Poisson sampling of blocks of steps, for strategies whose columns meet.

Within a block of at most `separation` steps nobody takes part twice. Let the blocks take turns in R
classes, as many as it takes for columns of two blocks of one class never to meet, and share the
variance of the noise in each row among the classes: the run is a post-processing of the R parts.
Within a block the inner products of columns, each row divided by its share, are at most the largest
squared length, and larger inner products leak more (Kahane's inequality), so all steps of a block
may as well have one and the same column; that is the only place where the rest is used. Then
nothing is left but how many examples joined the one step of the block, at most the largest number
of heads in any of its steps: independent blocks, each Poisson sampled (mathematics.md, "Blocks").

Longer blocks are better at low noise, where a participation costs what its column is long, and
worse at high noise, where it matters that a block is taken more often.
"""

from __future__ import annotations

from functools import reduce

import numpy as np

from hockeystick._numerics.law import FloatArray
from hockeystick.analyses.poisson_reduction.row_shares import shared_length
from hockeystick.plan import Plan
from hockeystick.profile import Profile
from hockeystick.schemes.capabilities import offered
from hockeystick.schemes.pairs import counted_lengths, several_sampled, step_of
from hockeystick.strategies import Strategy

__all__ = ["block_lengths", "block_profile", "block_sizes"]

# Floating point in lengths of columns, relatively.
ROUNDING = 1e-11


def block_sizes(plan: Plan) -> list[int]:
    """Powers of two up to the rest and the bands, and the smaller of these; none without either."""
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
