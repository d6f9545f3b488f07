"""Bounds on the entries of a Gram matrix by the distance of their bins."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from hockeystick._numerics.law import FloatArray

__all__ = [
    "LagBounds",
    "by_distance",
    "compensated_cover",
    "cover",
    "floor",
    "is_ring",
    "ring_cover",
]

# Relative margin of squared amplitudes: sums of rounded numbers.
MARGIN = 1e-10
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
    squares = np.maximum(squares, _needed(gram, middle, squares)) * (1 + MARGIN)
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
