"""Likelihood ratios of Poisson sampling: log(1 - r + r LR) and its inverse, for every rate r < 1.

For a rate near 1 the ratio may be as small as 1 - r. A form that counts it from 1, r (LR - 1), is
then off by 2^-53 / (1 - r), relatively. Where the result is below 1/2 it is therefore counted from
1 - r, which floating point gives exactly for r >= 1/2; for smaller rates no result is below 1/2.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "argument_growth",
    "mixed_loss",
    "mixed_losses",
    "rate_of_counts",
    "rounded_up",
    "unmixed_loss",
]

# From here on e^l - 1 is e^l.
LARGE_LOSS = 30.0
# Beyond this e^x is not a number any more.
LARGEST_EXPONENT = 700.0
LOG_2 = math.log(2.0)
# What a probability that comes from a logarithm and an exponential may have lost, in units of its
# last place.
RATE_ROUNDING = 3


def mixed_losses(rate: float, loss: NDArray[np.float64]) -> NDArray[np.float64]:
    """log(1 - rate + rate e^loss): exact up to a few units in the last place; 0 < rate < 1."""
    # r e^l is formed in the exponent where e^l alone would overflow.
    top = np.log(rate) + loss
    above = np.maximum(top, 0.0)
    change = rate * np.expm1(np.minimum(loss, LARGE_LOSS))
    small = np.where(
        change > -0.5,
        np.log1p(np.maximum(change, -0.5)),
        np.log((1 - rate) + rate * np.exp(np.minimum(loss, 0.0))),
    )
    large = np.where(
        top > 0,
        above + np.log1p((1 - rate) * np.exp(-above)),
        np.log1p(np.exp(np.minimum(top, 0.0)) - rate),
    )
    result: NDArray[np.float64] = np.where(loss <= LARGE_LOSS, small, large)
    return result


def mixed_loss(rate: float, loss: float) -> float:
    """`mixed_losses` of one loss."""
    return float(mixed_losses(rate, np.array(loss)))


def unmixed_loss(rate: float, loss: float) -> float:
    """log((e^loss - (1 - rate)) / rate), the inverse of `mixed_loss`; -inf where there is none.

    What floating point takes from it is less than a change of `loss` by 1e-15 of itself makes,
    times `argument_growth`.
    """
    if loss < -LOG_2:
        level = math.exp(loss) - (1 - rate)
        return math.log(level / rate) if level > 0 else -math.inf
    if loss > LARGEST_EXPONENT:
        return loss - math.log(rate)
    change = math.expm1(loss) / rate
    if math.isinf(change):
        return loss - math.log(rate)
    return math.log1p(change) if change > -1 else -math.inf


def argument_growth(rate: float) -> float:
    """By how much a relative change of the mixed loss exceeds one of the loss that it comes from.

    For x > 0 and f(x) = `unmixed_loss` the quotient f(x) / (x f'(x)) is at most 1 + log(1/rate); it
    is at most 1 for x < 0, where f is concave with f(0) = 0.
    """
    return 1.0 - math.log(rate)


def rounded_up(rate: float) -> float:
    """A computed probability, moved up by its rounding: near 1, that may be much of 1 - rate."""
    return min(rate + RATE_ROUNDING * math.ulp(rate), 1.0)


def rate_of_counts(part: int, whole: int) -> float:
    """part / whole; the next larger number where the quotient was rounded down."""
    rate = part / whole
    return rate if Fraction(rate) >= Fraction(part, whole) else math.nextafter(rate, math.inf)
