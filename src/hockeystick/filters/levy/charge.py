"""What a step, a block of steps or a profile costs in the time of a Levy process."""

from __future__ import annotations

import math

import numpy as np

from hockeystick._numerics.law import Law, Resolution, Side
from hockeystick.filters.levy.domination import curves_of, smallest_time
from hockeystick.filters.levy.process import LevyProcess
from hockeystick.profile.expressions.base import Expression
from hockeystick.profile.expressions.composed import compose
from hockeystick.profile.expressions.gaussian import Gaussian

__all__ = ["beside_catalyst", "block_of", "block_variance", "catalyst_for", "price", "rounded_up"]

# A catalyst of more than this many times the mechanism's own variance would hide it in rounding.
LARGEST_CATALYST = 100.0
# Rounding may add this share to the mechanism's variance; no grid is coarser than the second.
ROUNDING_SHARE, COARSEST_STEP, FINEST_STEP = 1e-3, 0.02, 0.004
# The mechanism's tails are cut where they are this share of what is killed.
TAIL_SHARE, SMALLEST_TAIL, NATS = 1e-3, 1e-40, 24.0
# Settings are rounded to so many significant digits before they are priced.
DIGITS = 4
# Rates below and noise above these are priced like these; so are variances below the last.
SMALLEST_RATE, LARGEST_NOISE, SMALLEST_VARIANCE = 1e-9, 1e6, 1e-12
# A loss above this counts as this in a variance.
LARGEST_LOSS = 3.0


def rounded_up(rate: float, noise: float) -> tuple[float, float]:
    """A setting with few digits that dominates the given one: a larger rate and less noise."""
    rate, noise = max(rate, SMALLEST_RATE), min(noise, LARGEST_NOISE)
    return min(-_floor(-rate), 1.0), _floor(noise)


def block_of(rate: float, noise: float, steps: int) -> Expression:
    """The pair of `steps` steps of the sampled Gaussian."""
    return compose([(Gaussian(1 / noise).subsample(rate), steps)])


def block_variance(rate: float, noise: float, steps: int) -> float:
    """About the variance of the loss of a block: large likelihood ratios count less."""
    square = min((1 / noise) * (1 / noise), 700.0)
    return steps * min(rate**2 * math.expm1(square), square)


def catalyst_for(process_catalyst: float, variance: float) -> float:
    """The part of the catalyst that is used: any part is valid."""
    return min(process_catalyst, LARGEST_CATALYST * variance)


def beside_catalyst(mechanism: Expression, *, catalyst: float, variance: float, tail: float) -> Law:
    """The upper law of the mechanism, together with a Gaussian pair of variance `catalyst`."""
    factors = [(mechanism, 1)]
    if catalyst > 0:
        factors.append((Gaussian(math.sqrt(catalyst)), 1))
    allowed = math.sqrt(6 * ROUNDING_SHARE / (1 + catalyst / variance))
    step = min(max(allowed, FINEST_STEP), COARSEST_STEP)
    resolution = Resolution(step, max(tail, SMALLEST_TAIL), NATS)
    return compose(factors).law(Side.UPPER, resolution)


def price(
    process: LevyProcess, mechanism: Expression, *, limit: float, variance: float | None = None
) -> float:
    """The smallest time t up to `limit` with mechanism x C <= D_t x C, C (a part of) the catalyst.

    Infinite if there is none, or if nothing is killed: then no tail can be cut.
    """
    if not process.killing > 0:
        return math.inf
    if variance is None:
        variance = _variance_of(mechanism)
    variance = max(variance, SMALLEST_VARIANCE)
    guess = variance / process.variance
    catalyst = catalyst_for(process.catalyst, variance)
    tail = TAIL_SHARE * process.killing * min(guess, limit)
    law = beside_catalyst(mechanism, catalyst=catalyst, variance=variance, tail=tail)
    return smallest_time(
        process, curves_of(law), catalyst=catalyst, guess=1.03 * guess, limit=limit
    )


def _variance_of(mechanism: Expression) -> float:
    law = mechanism.law(Side.UPPER, Resolution(COARSEST_STEP, 1e-12, NATS))
    square = np.minimum(np.abs(law.loss), LARGEST_LOSS) ** 2
    return float(np.minimum(law.p, law.q) @ square)


def _floor(value: float) -> float:
    """The next number below (towards -inf) with four significant digits."""
    digits = DIGITS - 1 - math.floor(math.log10(abs(value)))
    near = round(value, digits)
    return near if near <= value else round(near - 10.0**-digits, digits)
