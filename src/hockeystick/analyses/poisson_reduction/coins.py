"""Poisson and b-min-sep sampling as Poisson sampling with independent noise.

Nobody joins without a coin that shows heads.

An example that rests has its coin thrown and ignored, so under one and the same throw of all coins
the participation vector x of the run is entry by entry at most the vector x' of the coins; for a
user x' counts the heads of all its examples. Larger shifts dominate, in both directions
(mathematics.md, "Larger shifts leak more"), and all entries of C are non-negative, so C x + z is
dominated by C x' + z, whatever makes examples rest, and whether or not they stop.

The coins of different steps are independent, but their columns may meet. With D = diag(C^T C 1),
D - C^T C is positive semidefinite (it is diagonally dominant), so C x' + z is a post-processing of
D^(1/2) x' + z. That is the composition of all steps, each Poisson sampled with the sensitivity
sqrt(D_jj), which for a Toeplitz strategy is at most the sum of its coefficients.

The bound is good at high noise, where no more than the means count, and poor at low noise, where it
counts participations together that the rest keeps apart; there, see blocks.py.
"""

from __future__ import annotations

from functools import lru_cache, reduce

import numpy as np

from hockeystick._numerics.law import FloatArray
from hockeystick._numerics.series import multiply, padded
from hockeystick.analyses.poisson_reduction.blocks import block_profile, block_sizes
from hockeystick.bounds.bound import Bound
from hockeystick.bounds.combined import BestOf
from hockeystick.bounds.profiles import upper_side
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

__all__ = ["coin_bound", "coin_profile", "missing_coins", "separate_lengths"]

# Floating point in the sums of products, relatively.
ROUNDING = 1e-11


def missing_coins(plan: Plan) -> str | None:
    """The objection to other schemes, and to what several examples at once would do unknown."""
    sampling = plan.sampling.independent_sampling(plan)
    if isinstance(sampling, Missing):
        return sampling.reason
    if sampling.exact and not plan.correlated:
        return "it is Poisson sampling already"
    if plan.correlated and too_many_steps(plan) is not None:
        return too_many_steps(plan)
    return None if sampling.copies == 1 else needs_gaussian(plan)


@lru_cache(maxsize=4)
def coin_bound(plan: Plan, noise_multiplier: float | None) -> Bound:
    """Upper bounds for a plan to which `missing_coins` has no objection.

    The best of single steps and blocks, in each direction. Remembered, with its laws, because two
    methods ask.
    """
    profiles = [coin_profile(plan, noise_multiplier)]
    profiles += [block_profile(plan, noise_multiplier, size) for size in block_sizes(plan)]
    return BestOf([upper_side(profile) for profile in profiles])


def coin_profile(plan: Plan, noise_multiplier: float | None) -> Profile:
    """The composition over all steps; as many different ones as lengths are told apart."""
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
