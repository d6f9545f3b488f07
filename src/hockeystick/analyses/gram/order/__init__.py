"""Which Gram matrices dominate: bounds by distance, and Markov structure above and below them.

All of `order` is proof: whatever `search` proposes is certified here, and nothing here imports it.
`chains`, `moving_average` are matrices with Markov structure, `groups` say how bins fall apart.

K' dominates K if K' - K = S + N with S positive semidefinite and N without negative entries
(docs/gram.md, "When one Gram matrix dominates another"). Between matrices that depend on the
distance of the bins alone, S is positive semidefinite if the Fourier transform of its first row, on
a ring that contains all bins, is not negative. For any number of bins it is enough that the
polynomial sum_d s_d cos(d t) is not negative at any t, if all its coefficients from some distance
on are 0. `LagFamily` takes any proposed amplitudes and N, computes transform or polynomial, and
adds what is lacking to the diagonal, with a margin. Where the proposals come from does not matter.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from hockeystick._numerics.law import FloatArray
from hockeystick.analyses.gram.order.chains import ChainMixture, ring_kernel

__all__ = [
    "MARGIN",
    "ChainFit",
    "LagBounds",
    "LagFamily",
    "by_distance",
    "chain_below",
    "compensated_cover",
    "cover",
    "diagonal_below",
    "floor",
    "independent_above",
    "is_ring",
    "ring_cover",
]

# Relative margin of squared amplitudes: sums of rounded numbers.
AMPLITUDE_MARGIN = 1e-10
# Any number of rounds gives a bound; the amplitudes move by half their error in each.
ROUNDS = 30
# Entries that exceed others by less than this share of the diagonal are rounding, and no ring.
NO_RING = 1e-9


@dataclass(frozen=True, eq=False)
class LagBounds:
    """K is dominated by (or dominates) the matrix A_i A_j values[|i - j|], 0 <= A <= 1.

    On a ring values are the same at the distances d and bins - d, and bins that are close across
    the end count as neighbours. What is `endless` holds for any number of bins, on a line and on
    rings of at least twice the distances: entries further apart are 0, and amplitudes are 1.
    """

    values: FloatArray
    amplitudes: FloatArray
    ring: bool
    endless: bool = False

    @property
    def bins(self) -> int:
        """The size of the matrix, or how many distances there are."""
        return self.values.size

    @property
    def by_distance(self) -> FloatArray:
        """The matrix of values, without amplitudes."""
        d = np.abs(np.subtract.outer(np.arange(self.bins), np.arange(self.bins)))
        result: FloatArray = self.values[d]
        return result

    @property
    def total(self) -> float:
        """The sum of all bounds."""
        return float(self.amplitudes @ self.by_distance @ self.amplitudes)


def cover(gram: FloatArray) -> LagBounds:
    """Entrywise upper bounds, with amplitudes from the diagonal or without: the smaller total.

    Columns near the end of a run are cut off, so the diagonal falls there.
    """
    ring = is_ring(gram)
    bounds = [_bounds(gram, a, ring, np.max) for a in (_falling(gram), np.ones(gram.shape[0]))]
    return min(bounds, key=lambda one: one.total)


def ring_cover(lags: FloatArray) -> LagBounds:
    """Bounds on a ring, without amplitudes, from bounds by distance: the same wherever it is cut.

    The distances d and bins - d are one on the ring, so they share the larger bound.
    """
    values = lags.copy()
    values[1:] = np.maximum(lags[1:], lags[:0:-1])
    return LagBounds(values, np.ones(lags.size), True)


def by_distance(gram: FloatArray) -> FloatArray:
    """The largest entry at each distance."""
    return np.array([np.diagonal(gram, d).max() for d in range(gram.shape[0])])


def floor(gram: FloatArray) -> LagBounds:
    """Entrywise lower bounds on a line: entries across the end of a ring are left out."""
    bins = gram.shape[0]
    near = np.arange(bins) <= (bins // 2 if is_ring(gram) else bins)
    bounds = [_bounds(gram, a, False, np.min) for a in (_falling(gram), np.ones(bins))]
    bounds = [replace(one, values=np.where(near, one.values, 0.0)) for one in bounds]
    return max(bounds, key=lambda one: one.total)


def compensated_cover(gram: FloatArray) -> LagBounds:
    """Bounds that dominate a matrix whose edges differ from its middle; O(bins^2).

    The values are those of the middle, and amplitudes rise or fall towards the edges. Entries above
    A_i A_j values[|i - j|] are lowered to it, and the diagonal compensates for that in both rows:
    A_i^2 values[0] >= K_ii + sum_j (K_ij - A_i A_j values[|i - j|])+ (docs/gram.md, "Edges").
    """
    bins = gram.shape[0]
    values = np.array([max(np.median(np.diagonal(gram, d)), 0.0) for d in range(bins)])
    ring = is_ring(gram)
    if ring:
        values[1:] = np.maximum(values[1:], values[:0:-1])
    i = np.arange(bins)
    middle = values[np.abs(i[:, None] - i)]
    squares = np.diagonal(gram) / values[0]
    # Towards the smallest amplitudes that satisfy the condition.
    for _ in range(ROUNDS):
        squares = (squares + _needed(gram, middle, squares)) / 2
    # Larger amplitudes only reduce the deficits, so the condition holds for all rows now.
    squares = np.maximum(squares, _needed(gram, middle, squares)) * (1 + AMPLITUDE_MARGIN)
    highest = float(squares.max())
    return LagBounds(values * highest, np.sqrt(squares / highest), ring)


def _needed(gram: FloatArray, middle: FloatArray, squares: FloatArray) -> FloatArray:
    """The squared amplitudes that compensate in every row, if the others are as given."""
    amplitudes = np.sqrt(squares)
    deficits = np.maximum(gram - np.outer(amplitudes, amplitudes) * middle, 0.0)
    np.fill_diagonal(deficits, 0.0)
    result: FloatArray = (np.diagonal(gram) + deficits.sum(axis=1)) / middle[0, 0]
    return result


def _falling(gram: FloatArray) -> FloatArray:
    """Amplitudes that cover the diagonal and do not increase."""
    diagonal = np.diagonal(gram)
    highest = np.maximum.accumulate(diagonal[::-1])[::-1]
    result: FloatArray = np.sqrt(highest / highest[0])
    return result


def is_ring(gram: FloatArray) -> bool:
    """Whether the first bin shares more with the last one than with the middle one."""
    b = gram.shape[0]
    return bool(b > 2 and gram[0, -1] > gram[0, b // 2] + NO_RING * gram[0, 0])


def _bounds(
    gram: FloatArray, amplitudes: FloatArray, ring: bool, best: Callable[..., Any]
) -> LagBounds:
    b = gram.shape[0]
    scaled = gram / np.outer(amplitudes, amplitudes)
    values = np.array([best(np.diagonal(scaled, d)) for d in range(b)])
    if ring:
        values[1:] = best(np.stack((values[1:], values[:0:-1])), axis=0)
    return LagBounds(values, amplitudes, ring)


# Relative to the diagonal: transforms of up to 8,000 rounded entries are off by less than 1e-11.
MARGIN = 1e-9
# A polynomial of degree n is evaluated at so many times n points at least. Between them it is
# larger than at the nearest by a factor of at most 1 / cos(pi / 128) beside its centre, 0.03 %.
OVERSAMPLING = 128


class ChainFit(NamedTuple):
    """`common` + `chain` k_d + `own` [d = 0] dominates a target; k is rho^d, or `ring_kernel`."""

    common: float
    chain: float
    own: float
    rho: float


class LagFamily:
    """The rows K'_d = common + chain k_d + own [d = 0] beside those of a target.

    `rows @ amplitudes` is K'_d for amplitudes (common, chain, own), none of them negative. For an
    endless target there is no common part: a target has to be given without what all share.
    """

    def __init__(self, target: LagBounds, rho: float) -> None:
        bins = target.bins
        self._endless = target.endless
        # A line is part of a ring of twice its size; entries at lags of `bins` and more are free.
        self.period = bins if target.ring else 2 * bins
        half = self.period // 2
        self.lags = np.zeros(half + 1)
        self.lags[: min(half + 1, bins)] = target.values[: half + 1]
        d = np.arange(half + 1)
        kernel = (
            ring_kernel(rho, bins)[: half + 1] if target.ring else np.power(rho, d, dtype=float)
        )
        shared = np.zeros(half + 1) if target.endless else np.ones(half + 1)
        self.rows = np.column_stack((shared, kernel, d == 0))
        # How often a distance occurs in a row of the ring.
        self.twice = np.where((d == 0) | (2 * d == self.period), 1.0, 2.0)
        # How many pairs of bins are at each distance, per bin.
        inside = target.ring or target.endless
        self.counts = self.twice * (1.0 if inside else np.maximum(1 - d / bins, 0.0))

    def raised(self, amplitudes: FloatArray, extra: FloatArray) -> FloatArray:
        """Amplitudes that dominate the target: those given, with enough added to the last one.

        `extra` is N by distance, `amplitudes` and `extra` without negative entries. O(b log b).
        """
        lacking = -float(self._spectrum(self.rows @ amplitudes - self.lags - extra).min())
        result = amplitudes.copy()
        result[-1] += max(lacking, 0) + MARGIN * self.lags[0]
        return result

    def lowered(
        self, amplitudes: FloatArray, extra: FloatArray, factor: float
    ) -> FloatArray | None:
        """`factor` times the amplitudes, the last one reduced until the target dominates.

        None if the last amplitude is not enough.
        """
        row = self.lags - factor * (self.rows @ amplitudes) - extra
        lacking = max(MARGIN * self.lags[0] - float(self._spectrum(row).min()), 0.0)
        if not factor * amplitudes[-1] >= lacking:
            return None
        smaller: FloatArray = factor * amplitudes
        smaller[-1] -= lacking
        return smaller

    def _spectrum(self, row: FloatArray) -> FloatArray:
        """The Fourier transform of a symmetric row, given by its first half.

        For an endless target the polynomial row_0 + 2 sum_d row_d cos(d t), of degree n, and at
        last a bound on it everywhere. From Bernstein's and Szego's inequality, |f - c| is at most
        1 / cos(pi n / points) times its largest value at equidistant points, for every c
        (docs/gram.md, "Segments"); what the kernel has beyond the degree is a part of N.
        """
        if not self._endless:
            whole = np.concatenate((row, row[1 : self.period - row.size + 1][::-1]))
            transform: FloatArray = np.fft.rfft(whole).real
            return transform
        degree = row.size - 1
        points = 1 << (OVERSAMPLING * degree - 1).bit_length()
        values = 2 * np.fft.rfft(row, points).real - row[0]
        centre, spread = (values.max() + values.min()) / 2, (values.max() - values.min()) / 2
        everywhere = centre - spread / math.cos(math.pi * degree / points)
        return np.append(values, everywhere)


# From amplitudes of a `LagFamily` to a matrix. Chain and diagonal are multiplied by A_i A_j,
# a congruence, which keeps the order. The common part keeps its full size above, where it is larger
# than with the amplitudes; below it has to be reduced to the smallest of them.


def chain_below(target: LagBounds, rho: float, amplitudes: FloatArray) -> ChainMixture:
    """One chain with certified amplitudes: dominated by the target, a line."""
    common, chain, own = amplitudes.tolist()
    common *= float(target.amplitudes.min()) ** 2
    return ChainMixture(common, chain, own, rho, target.amplitudes)


def independent_above(target: LagBounds) -> FloatArray | None:
    """The largest entry for all pairs, the rest on the diagonal: above, unless it is endless."""
    if target.endless:
        return None
    common = float(target.values[1:].max(initial=0.0))
    rest = max(float(target.values[0]) - common, MARGIN * float(target.values[0]))
    return np.array([common, 0.0, rest])


def diagonal_below(target: LagBounds) -> FloatArray:
    """Nothing beside the diagonal: below whatever the target is without negative entries."""
    return np.array([0.0, 0.0, (1 - MARGIN) * float(target.values[0])])
