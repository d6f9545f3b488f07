"""The charge of a mechanism: the smallest time at which a Levy process provably dominates it.

What makes a charge valid is `covers`: at the time that is returned the profile of the process, with
its catalyst, was compared with an upper bound on the mechanism's at every g > 0. docs/levy.md has
the theorem and defines the catalyst (a Gaussian pair beside both) and killing (with a small
probability the process shows which of P and Q is the case).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from hockeystick._numerics.envelope import deltas
from hockeystick._numerics.law import FloatArray, Law, Resolution, Side, reverse
from hockeystick.filters.levy.pair import LevyPair
from hockeystick.filters.levy.process import LevyProcess
from hockeystick.profile.expressions import Expression
from hockeystick.profile.expressions.composed import compose
from hockeystick.profile.expressions.mechanisms import GaussianPair

__all__ = [
    "LARGEST_NOISE",
    "UNSEEN",
    "HalfProfile",
    "beside_catalyst",
    "block_of",
    "block_variance",
    "catalyst_for",
    "charge_of",
    "covers",
    "curves_of",
    "rounded_up",
    "smallest_time",
]

# Relative errors of floating point in the mechanism's profile, and in slopes: sums of up to 1e5
# positive terms.
HEIGHT_ERROR, SLOPE_ERROR = 1e-9, 1e-9
# Up to this variance every slope is known to SLOPE_ERROR; beyond, tails that the kernel drops may
# count.
LARGEST_VARIANCE = 64.0
# The rarest jumps may be left out (`unseen`), up to this share of what is killed: the profile of
# the process is then too small, the safe side.
UNSEEN = 1e-3
# A catalyst of more than this many times the mechanism's own variance would hide it in rounding.
LARGEST_CATALYST = 100.0
# Rates below and noise above these are charged like these; so are variances below the last.
SMALLEST_RATE, LARGEST_NOISE, SMALLEST_VARIANCE = 1e-9, 1e6, 1e-12
# Settings are rounded to so many significant digits, so that close ones share a charge; that costs
# up to 0.1 % of it.
DIGITS = 4
# A charge is found to the first, which it is then too large by at most; brackets are widened by the
# second.
TIME_ACCURACY, WIDER = 5e-4, 1.25
# Charges below this share of the first guess are not distinguished.
SMALLEST_SHARE = 1e-9
# Rounding may add this share to the mechanism's variance, and so about as much to its charge.
ROUNDING_SHARE = 1e-3
# No grid is coarser than the first, nor finer than the second, which bounds its cost.
COARSEST_STEP, FINEST_STEP = 0.02, 0.004
# The mechanism's tails are cut where they are this share of what is killed, or at the second.
TAIL_SHARE, SMALLEST_TAIL = 1e-3, 1e-40
# One step of the grid for this many nats of a tail: what is killed pays for far tails, which may
# be coarse.
NATS = 24.0
# A loss above this counts as this in the rough variance of a profile: e^6 would drown the rest.
LARGEST_LOSS = 3.0


class HalfProfile(NamedTuple):
    """H at e^loss for losses from 0 on, linear in e^loss between them, and its limit."""

    loss: FloatArray
    height: FloatArray
    limit: float


def curves_of(law: Law) -> tuple[HalfProfile, HalfProfile]:
    """The profile of a law as two curves: from (P, Q), and from (Q, P)."""
    return _curve(law), _curve(reverse(law))


def covers(pair: LevyPair, curves: tuple[HalfProfile, HalfProfile]) -> bool:
    """Whether the profile of the pair is at least that of the law, at every g > 0.

    The pair's profile is convex, so between two corners of the law it lies above the tangents at
    both; the law's is the chord. The larger of the two tangents minus the chord is smallest at a
    corner or where the tangents meet; those points are compared. Corners that lie below the pair's
    limit need no comparison. Orders g < 1 are those g > 1 of the exchanged pair.
    """
    if pair.variance > LARGEST_VARIANCE:
        return False
    return all(_covers(pair, curve, reverse=n == 1) for n, curve in enumerate(curves))


def smallest_time(
    process: LevyProcess,
    curves: tuple[HalfProfile, HalfProfile],
    *,
    catalyst: float,
    guess: float,
    limit: float,
) -> float:
    """A time up to `limit` at which the process covers the curves, hardly above the smallest.

    Infinite if there is none. The time that is returned was tested itself.
    """

    def enough(time: float) -> bool:
        return covers(process.pair(time, catalyst=catalyst), curves)

    high = min(guess, limit)
    low = high / WIDER
    while not enough(high):
        if high >= limit:
            return math.inf
        low, high = high, min(high * WIDER, limit)
    smallest = SMALLEST_SHARE * high
    while low > smallest and enough(low):
        low, high = low / WIDER, low
    while high > low * (1 + TIME_ACCURACY):
        middle = math.sqrt(low * high)
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def _curve(law: Law) -> HalfProfile:
    """The profile of a law at g >= 1, heights rounded up."""
    loss = np.concatenate(([0.0], law.loss[law.loss > 0]))
    return HalfProfile(loss, deltas(law, loss) * (1 + HEIGHT_ERROR), law.p_infinite)


def _covers(pair: LevyPair, curve: HalfProfile, *, reverse: bool) -> bool:
    """Whether the pair's profile, reversed or not, is at least the curve at every g >= 1.

    The proof behind every charge. With k = `killed` the pair has H = (1 - k) H' + k, H' without
    killing: at least k everywhere, so that only corners above k matter, up to the first one that is
    not, and the limit of the curve has to be at most k. `call` is a lower bound on H at the
    corners, minus errors and unseen jumps; slopes are taken too steep at the left corner and too
    flat at the right one, which lowers both tangents. Where the lines through two corners meet,
    the larger of them minus the chord is smallest; at the corners it was compared before.
    """
    if curve.limit > pair.killed:
        return False
    below = np.flatnonzero(curve.height <= pair.killed)
    last = int(below[0]) if below.size else curve.loss.size - 1
    loss, height = curve.loss[: last + 1], curve.height[: last + 1]
    found = pair.calls(loss, reverse=reverse, unseen=UNSEEN * pair.killed)
    kept = 1 - pair.killed
    call = (found.call - found.error) * kept + pair.killed
    if not np.all(call >= height):
        return False
    # In units of e^(loss_k): the next corner is `width` away; minus the slope of the tangent is
    # `here` at this corner and `there` at the next one.
    width = np.expm1(np.diff(loss))
    here = found.other[:-1] * kept * (1 + SLOPE_ERROR)
    there = found.other[1:] * kept * np.exp(-np.diff(loss)) * (1 - SLOPE_ERROR)
    with np.errstate(divide="ignore", invalid="ignore"):
        meet = (call[:-1] - call[1:] - there * width) / (here - there)
    meet = np.clip(np.where(here > there, meet, 0.0), 0.0, width)
    tangent = np.maximum(call[:-1] - here * meet, call[1:] + there * (width - meet))
    chord = height[:-1] + (height[1:] - height[:-1]) * (meet / width)
    return bool(np.all(tangent >= chord))


def rounded_up(rate: float, noise: float) -> tuple[float, float]:
    """A setting with few digits that dominates the given one: a larger rate and less noise."""
    rate, noise = max(rate, SMALLEST_RATE), min(noise, LARGEST_NOISE)
    return min(-_floor(-rate), 1.0), _floor(noise)


def block_of(rate: float, noise: float, steps: int) -> Expression:
    """The pair of `steps` steps of the sampled Gaussian."""
    return compose([(GaussianPair(1 / noise).subsample(rate), steps)])


def block_variance(rate: float, noise: float, steps: int) -> float:
    """About the variance of the loss of a block: large likelihood ratios count less."""
    # So that e^square is finite. Such squares are no more than a start of the search.
    square = min((1 / noise) * (1 / noise), 700.0)
    return steps * min(rate**2 * math.expm1(square), square)


def catalyst_for(process_catalyst: float, variance: float) -> float:
    """The part of the catalyst that is used: any part is valid."""
    return min(process_catalyst, LARGEST_CATALYST * variance)


def beside_catalyst(mechanism: Expression, *, catalyst: float, variance: float, tail: float) -> Law:
    """The upper law of the mechanism, together with a Gaussian pair of variance `catalyst`."""
    factors = [(mechanism, 1)]
    if catalyst > 0:
        factors.append((GaussianPair(math.sqrt(catalyst)), 1))
    allowed = math.sqrt(6 * ROUNDING_SHARE / (1 + catalyst / variance))
    step = min(max(allowed, FINEST_STEP), COARSEST_STEP)
    resolution = Resolution(step, max(tail, SMALLEST_TAIL), NATS)
    return compose(factors).law(Side.UPPER, resolution)


def charge_of(
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
    # Beside a catalyst charges are often 2 or 3 % above the variance (docs/levy.md, The catalyst).
    # Only the number of tests depends on where the search begins.
    return smallest_time(
        process, curves_of(law), catalyst=catalyst, guess=1.03 * guess, limit=limit
    )


def _variance_of(mechanism: Expression) -> float:
    """About the variance of the loss, from a coarse law.

    It decides the part of the catalyst, the grid and where the search begins: any value is valid.
    """
    law = mechanism.law(Side.UPPER, Resolution(COARSEST_STEP, 1e-12, NATS))
    square = np.minimum(np.abs(law.loss), LARGEST_LOSS) ** 2
    return float(np.minimum(law.p, law.q) @ square)


def _floor(value: float) -> float:
    """The next number below (towards -inf) with four significant digits."""
    digits = DIGITS - 1 - math.floor(math.log10(abs(value)))
    near = round(value, digits)
    return near if near <= value else round(near - 10.0**-digits, digits)
