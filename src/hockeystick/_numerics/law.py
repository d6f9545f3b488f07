"""The law of a likelihood ratio, as atoms: exact operations, and grids that are matched to it.

A pair of distributions (P, Q) is described by the law of LR = dP/dQ. An atom at loss l = log LR
carries Q-mass q and P-mass p = q e^l. P-mass where Q has none is an atom at infinity; Q-mass where
P has none is an atom at LR = 0. Both p and q are stored: either may underflow on its own side
(p far left, q far right), where it no longer matters, without losing the other.
"""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hockeystick._numerics.mixed_ratio import mixed_losses

__all__ = [
    "SAME_LOSS",
    "BoolArray",
    "FloatArray",
    "Law",
    "Moments",
    "Resolution",
    "Side",
    "condition",
    "from_losses",
    "joined",
    "matched_grid",
    "moments",
    "reverse",
    "smallest_loss",
    "subsample",
    "total_by_index",
    "without_atoms",
]

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]

# Losses closer than this, relative to their size, are one atom: a matter of floating point only.
SAME_LOSS = 1e-14
# Losses that are small beside those they are sums of are compared on the scale of these, at most.
LARGEST_SCALE = 1e-3
# No tail is cut at less than this, which floating point still tells from 0.
SMALLEST_TAIL = 1e-300


class Side(Enum):
    """Which side of the true profile a rounded law is on."""

    UPPER = "upper"
    LOWER = "lower"


class Resolution(NamedTuple):
    """How finely a law is computed.

    step: spacing of the grid relative to the law's own scale.
    tail: how much P-mass on the right, and Q-mass on the left, may be cut off (and charged).
    nats: one step of the grid for this many nats of a tail; small values resolve far tails better.
    """

    step: float
    tail: float
    nats: float

    def scaled(self, *, step: float = 1.0, tail: float = 1.0) -> Resolution:
        """The same with step and tail multiplied."""
        return Resolution(self.step * step, max(self.tail * tail, SMALLEST_TAIL), self.nats)


class Law(NamedTuple):
    """Atoms of the likelihood ratio in order of increasing loss."""

    loss: FloatArray
    p: FloatArray
    q: FloatArray
    p_infinite: float = 0.0
    q_zero: float = 0.0


class Moments(NamedTuple):
    """Mean and standard deviation of the loss, under Q and under P."""

    mean_q: float
    sd_q: float
    mean_p: float
    sd_p: float


def from_losses(
    loss: FloatArray, main: FloatArray, *, p_infinite: float = 0.0, q_zero: float = 0.0
) -> Law:
    """A law from its main masses: P-mass where the loss is at least 0, Q-mass where it is below.

    The other mass follows from p = q e^l with an exponent that is never positive, so nothing
    overflows.
    """
    other = main * np.exp(-np.abs(loss))
    positive = loss >= 0
    p = np.where(positive, main, other)
    q = np.where(positive, other, main)
    return Law(loss, p, q, p_infinite, q_zero)


def without_atoms(p_infinite: float, q_zero: float) -> Law:
    """A law without finite losses; one atom without mass keeps it well formed."""
    return Law(np.zeros(1), np.zeros(1), np.zeros(1), p_infinite, q_zero)


def joined(
    loss: FloatArray,
    p: FloatArray,
    q: FloatArray,
    p_infinite: float,
    q_zero: float,
    *,
    scale: float = LARGEST_SCALE,
) -> Law:
    """All atoms in order; losses that differ only by floating-point noise are one atom.

    Sums of losses that cancel leave remainders. `scale` is the smallest loss that went into them
    (`smallest_loss`): H(P || Q) at 1 is at least about the mass of a remainder times that, so what
    moves by less than SAME_LOSS of it does not matter.
    """
    if not loss.size:
        return without_atoms(p_infinite, q_zero)
    order = np.argsort(loss, kind="stable")
    loss, p, q = loss[order], p[order], q[order]
    smallest = min(scale, LARGEST_SCALE)
    apart = np.diff(loss) > SAME_LOSS * np.maximum(np.abs(loss[1:]), smallest)
    starts = np.flatnonzero(np.concatenate(([True], apart)))
    main = np.where(loss[starts] >= 0, np.add.reduceat(p, starts), np.add.reduceat(q, starts))
    return from_losses(loss[starts], main, p_infinite=p_infinite, q_zero=q_zero)


def smallest_loss(*laws: Law) -> float:
    """The smallest loss of the laws that is not zero, in absolute value."""
    sizes = np.abs(np.concatenate([law.loss for law in laws]))
    return float(np.min(sizes[sizes > 0], initial=LARGEST_SCALE))


def reverse(law: Law) -> Law:
    """The law of the pair (Q, P): 1/LR under P. Exact."""
    return Law(-law.loss[::-1], law.q[::-1], law.p[::-1], law.q_zero, law.p_infinite)


def subsample(law: Law, rate: float) -> Law:
    """The law of ((1-rate) Q + rate P, Q): LR becomes 1 - rate + rate LR, atom by atom. Exact."""
    if rate == 1.0:
        return law
    loss = mixed_losses(rate, law.loss)
    p = (1 - rate) * law.q + rate * law.p
    q = law.q
    if law.q_zero > 0:
        loss = np.concatenate(([np.log1p(-rate)], loss))
        p = np.concatenate(([(1 - rate) * law.q_zero], p))
        q = np.concatenate(([law.q_zero], q))
    return Law(loss, p, q, rate * law.p_infinite, 0.0)


def condition(law: Law, rate: float) -> Law:
    """The inverse of `subsample`: LR becomes (LR - (1 - rate)) / rate, which must not be negative.

    If the law is that of LR, exact. If it is an upper bound on it, some atoms may lie below
    1 - rate, where LR itself has none. They count as LR = 0, which leaves the P-mass too large; the
    excess is taken from the lowest atoms by moving their mass to LR = 0 and to the highest of them.
    Below that atom the profile becomes the chord from (0, 1), and no convex profile with that
    starting point lies above it.
    """
    if rate == 1.0:
        return law
    lowest = np.log1p(-rate)
    above = law.loss > lowest
    share = -np.expm1(lowest - law.loss[above]) / rate
    loss, p, q = law.loss[above] + np.log(share), law.p[above] * share, law.q[above]
    below = ~above
    shortfall = law.q[below] * -np.expm1(law.loss[below] - lowest)
    excess = np.exp(lowest) * (float(shortfall.sum()) + law.q_zero) / rate
    q_zero = law.q_zero + float(law.q[below].sum())
    p_infinite = min(law.p_infinite / rate, 1.0)
    if not excess > 0 or not loss.size:
        return Law(loss, p, q, p_infinite, q_zero) if loss.size else without_atoms(p_infinite, 1.0)
    taken = np.cumsum(p)
    last = int(np.searchsorted(taken, excess))
    if last == loss.size:
        # There is less P-mass than would have to be taken: such a law says nothing.
        return without_atoms(1.0, 1.0)
    kept = float(taken[last]) - excess
    kept_q = kept * np.exp(-loss[last])
    q_zero += max(float(q[: last + 1].sum()) - kept_q, 0.0)
    rest = slice(last, None)
    p, q = p[rest].copy(), q[rest].copy()
    p[0], q[0] = kept, kept_q
    return Law(loss[rest], p, q, p_infinite, q_zero)


def moments(law: Law) -> Moments:
    """Mean and standard deviation of the finite losses under Q and under P."""
    mean_q, sd_q = _mean_and_sd(law.loss, law.q)
    mean_p, sd_p = _mean_and_sd(law.loss, law.p)
    return Moments(mean_q, sd_q, mean_p, sd_p)


def _mean_and_sd(values: FloatArray, weights: FloatArray) -> tuple[float, float]:
    total = float(weights.sum())
    if not total > 0:
        return float(values.mean()) if values.size else 0.0, 0.0
    mean = float(values @ weights) / total
    variance = float((values - mean) ** 2 @ weights) / total
    return mean, float(np.sqrt(variance))


def total_by_index(index: NDArray[np.int64], values: FloatArray, size: int) -> FloatArray:
    """Sums of the values that share an index."""
    totals: FloatArray = np.bincount(index, weights=values, minlength=size).astype(np.float64)
    return totals


# A law whose spread is far below its range gets at most this ratio between the two.
LARGEST_RATIO = 1e7
# Below this, differences of losses cannot be divided by.
SMALLEST_SPREAD = 1e-300
# Cells wider than this do not contain the loss 0.
WIDE_CELL = 1.0
# At how many points the tails of the approximate law are read.
TAIL_KNOTS = 32
# The approximate law may miss part of a tail; nodes go on to this share of the allowed one.
TAIL_MARGIN = 1e-4


def matched_grid(like: Law, low: float, high: float, resolution: Resolution) -> FloatArray:
    """Increasing nodes that cover [low, high], both ends included, for a law similar to `like`.

    The nodes are equidistant in a monotone function of the loss, the sum of

    - an asinh scale around the means under Q and under P: fine at the centre of the law, geometric
      towards far outliers. Rounding adds about step^2 / 6 of the current variance, under every
      exponential tilt of the law, so the relative accuracy does not depend on delta;
    - the logarithms of the two tails, divided by `nats`: where a tail falls by a factor, a fixed
      number of nodes follows it. Without this a Gaussian tail, which falls ever faster, would be
      too coarse.

    Any grid gives a valid bound. A good one gives a tight bound, so an approximate law is enough.
    """
    if not high > low:
        width = max(abs(low), 1.0) * 1e-12
        return np.array([low, low + width])
    floor = resolution.tail * TAIL_MARGIN
    right = np.cumsum(like.p[::-1])[::-1]
    left = np.cumsum(like.q)
    keep = (like.loss > low) & (like.loss < high) & (right > floor) & (left > floor)
    # Both ends belong to the picture: there the tails have fallen to the floor.
    loss = np.concatenate(([low], like.loss[keep], [high]))
    log_tails = np.log(np.concatenate(([floor], left[keep], [1.0])))
    log_tails -= np.log(np.concatenate(([1.0], right[keep], [floor])))
    scale = _asinh_scale(loss, moments(like), high - low)
    # The tails of an approximate law are staircases: follow them only at a few points.
    knots = np.interp(np.linspace(scale[0], scale[-1], TAIL_KNOTS), scale, loss)
    smooth = np.interp(loss, knots, np.interp(knots, loss, log_tails))
    position = scale + smooth / resolution.nats
    count = max(3, int(np.ceil((position[-1] - position[0]) / resolution.step)) + 1)
    nodes = np.interp(np.linspace(position[0], position[-1], count), position, loss)
    nodes[0], nodes[-1] = low, high
    return _with_zero(nodes[np.concatenate(([True], np.diff(nodes) > 0))])


def _with_zero(nodes: FloatArray) -> FloatArray:
    """0 becomes a node if it lies in a wide cell, so that P- and Q-mass never mix over one."""
    after = int(np.searchsorted(nodes, 0.0))
    crosses = 0 < after < nodes.size and nodes[after] > 0
    if crosses and nodes[after] - nodes[after - 1] > WIDE_CELL:
        return np.insert(nodes, after, 0.0)
    return nodes


def _asinh_scale(loss: FloatArray, centre: Moments, width: float) -> FloatArray:
    """An increasing function with slope 1 / hypot(sd, loss - mean) around the nearer mean."""
    floor = max(width / LARGEST_RATIO, SMALLEST_SPREAD)
    scale_q, scale_p = max(centre.sd_q, floor), max(centre.sd_p, floor)
    mean_q, mean_p = centre.mean_q, max(centre.mean_p, centre.mean_q)
    middle = _equidistant(mean_q, scale_q, mean_p, scale_p)
    around_q = np.arcsinh((np.minimum(loss, middle) - mean_q) / scale_q)
    around_p = np.arcsinh((np.maximum(loss, middle) - mean_p) / scale_p)
    total: FloatArray = around_q + around_p
    return total


def _equidistant(mean_q: float, scale_q: float, mean_p: float, scale_p: float) -> float:
    """Where hypot(scale_q, l - mean_q) = hypot(scale_p, l - mean_p), kept between the means."""
    gap = mean_p - mean_q
    if not gap > 1e-9 * max(scale_q, scale_p):
        return mean_q
    middle = (scale_p**2 - scale_q**2 + gap * (mean_p + mean_q)) / (2 * gap)
    return min(max(middle, mean_q), mean_p)
