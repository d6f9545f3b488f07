"""Gram matrices with few bands: neighbours share a few normal variables.

A matrix with few bands is reproduced by its factors up to a margin, above and below. What the
margin and rounding change is checked entry by entry (`_covers`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from hockeystick._numerics.law import FloatArray

__all__ = ["MovingAverage", "few_bands_above", "few_bands_below", "two_bands"]

# By how much factors are enlarged or reduced, relatively: far more than rounding moves them, far
# less than anybody notices in epsilon.
MARGIN = 1e-10
# Entries of this size relative to the largest are rounding: they count as zero, and the margin on
# the diagonal compensates for them.
NEGLIGIBLE = 1e-14
# The iteration for the factors of a ring stops when they move by less than this, relatively, or
# fails after so many rounds; its result is checked in any case.
SETTLED, MOST_ROUNDS = 1e-14, 200


@dataclass(frozen=True, eq=False)
class MovingAverage:
    """Gram matrix `common` + that of X_i = sum_k `factors`[i, k] Z_(i+k), over sigma^2.

    Z are independent unit normal variables. There are two bands or more; a ring has two, and its
    Z_(b+1) is Z_1. No factor is negative.
    """

    common: float
    factors: FloatArray
    ring: bool

    def __post_init__(self) -> None:
        if self.bands < 2 or (self.ring and self.bands > 2):
            raise ValueError("There are two bands, or more on a line.")

    @property
    def bins(self) -> int:
        """The number of terms that are averaged."""
        return int(self.factors.shape[0])

    @property
    def bands(self) -> int:
        """The number of variables that a term depends on."""
        return int(self.factors.shape[1])

    @property
    def closes(self) -> bool:
        """Whether the last term depends on the first variable."""
        return self.ring and self.bins > 1 and bool(self.factors[-1, 1] > 0)

    @property
    def variances(self) -> FloatArray:
        """The variances of all terms, without the common part."""
        result: FloatArray = (self.factors**2).sum(axis=1)
        return result

    @property
    def signal(self) -> float:
        """The largest variance of a term, without the common part."""
        return float(self.variances.max())

    @property
    def shift(self) -> float:
        """By how many standard deviations a state may move if the example is present."""
        return float(self.factors.max())

    @property
    def scales(self) -> FloatArray:
        """How fast a term may grow in Z_1, Z_2, ...: the largest factor of each variable."""
        result = np.zeros(self.bins + self.bands - 1)
        for k, column in enumerate(self.factors.T):
            place = result[k : k + self.bins]
            np.maximum(place, column, out=place)
        if self.closes:
            result[0] = result[-1] = max(result[0], result[-1])
        return result

    @property
    def slowest(self) -> FloatArray:
        """How fast every term that depends on Z_1, Z_2, ... grows at least, over the scale."""
        result = np.full(self.bins + self.bands - 1, np.inf)
        for k, column in enumerate(self.factors.T):
            place = result[k : k + self.bins]
            np.minimum(place, np.where(column > 0, column, np.inf), out=place)
        if self.closes:
            result[0] = result[-1] = min(result[0], result[-1])
        scales = self.scales
        ratio: FloatArray = np.divide(result, scales, out=np.ones(scales.size), where=scales > 0)
        return ratio

    @property
    def exponents(self) -> FloatArray:
        """All 1: states are the variables times their scales."""
        return np.ones(self.bins + self.bands - 1)

    @property
    def memory(self) -> dict[str, object]:
        """The largest correlation of two neighbours, for a report."""
        neighbours = (self.factors[:-1, 1:] * self.factors[1:, :-1]).sum(axis=1)
        spread = np.sqrt(self.variances[:-1] * self.variances[1:])
        return {"correlation": float(np.max(neighbours / spread, initial=0.0))}

    def on_a_line(self) -> MovingAverage:
        """The same factors, the last term with a variable of its own in the place of Z_1."""
        return replace(self, ring=False)

    def cut_open(self) -> MovingAverage:
        """A minorant: the last term loses what it shares with the first one across the end."""
        factors = self.factors.copy()
        factors[-1, 1] = 0.0
        return replace(self, factors=factors, ring=False)

    def gram(self) -> FloatArray:
        """The Gram matrix."""
        bins = self.bins
        factor = np.zeros((bins, bins + self.bands - 1))
        i = np.arange(bins)
        for k, column in enumerate(self.factors.T):
            factor[i, i + k] = column
        if self.closes:
            factor[:, 0] += factor[:, -1]
            factor = factor[:, :-1]
        result: FloatArray = self.common + factor @ factor.T
        return result


def few_bands_above(kernel: FloatArray, most: int) -> MovingAverage | None:
    """A majorant just above a matrix on a line with at most `most` bands, or None."""
    bands = _bands(kernel, kernel.shape[0])
    factors = _factors(kernel, bands) if bands <= most else None
    if factors is None:
        return None
    above = MovingAverage(0.0, factors * (1 + MARGIN), ring=False)
    return above if _covers(above.gram(), kernel) else None


def few_bands_below(kernel: FloatArray, most: int) -> MovingAverage | None:
    """A minorant of a matrix, just below it on a line with at most `most` bands.

    Entries at larger distances, or across the end of a ring, are left out: a smaller matrix, since
    `_covers` checks that none of them is negative. None if the rest has no factors.
    """
    factors = _factors(kernel, _bands(kernel, min(kernel.shape[0] // 2 + 1, most)))
    if factors is None:
        return None
    below = MovingAverage(0.0, factors * (1 - MARGIN), ring=False)
    return below if _covers(kernel, below.gram()) else None


def _bands(kernel: FloatArray, most: int) -> int:
    """Two, or as many of the first `most` as have an entry that is not negligible."""
    negligible = NEGLIGIBLE * kernel.max()
    return 1 + max(
        d for d in range(max(most, 2)) if d < 2 or np.diagonal(kernel, d).max() > negligible
    )


def _factors(kernel: FloatArray, bands: int) -> FloatArray | None:
    """X_i = sum_k factors[i, k] Z_(i+k) for a matrix with so many bands, from the last bin on.

    They are the only ones without a variable beyond the last bin. None if one of them is negative,
    or if the matrix is not positive definite. O(bins bands^2).
    """
    bins = kernel.shape[0]
    factors = np.zeros((bins, bands))
    for i in range(bins - 1, -1, -1):
        for k in range(min(bands, bins - i) - 1, 0, -1):
            # What the terms of the bins i and i + k share beside Z_(i+k).
            others = factors[i, k + 1 :] @ factors[i + k, 1 : bands - k]
            factors[i, k] = (kernel[i, i + k] - others) / factors[i + k, 0]
        square = kernel[i, i] - factors[i, 1:] @ factors[i, 1:]
        if not square > 0 or factors[i].min() < 0:
            return None
        factors[i, 0] = np.sqrt(square)
    return factors


def two_bands(kernel: FloatArray) -> tuple[MovingAverage, MovingAverage] | None:
    """A majorant and a minorant of a matrix with two bands, both within the margin, or None.

    here_i^2 = K_ii - ahead_i^2 and ahead_i = K_(i,i+1) / here_(i+1), from the last bin to the
    first. On a ring the last one needs the first: the factors decrease from round to round and
    converge, or one of them stops being positive and there is no solution.
    """
    bins = kernel.shape[0]
    i = np.arange(bins)
    beside = np.append(np.diagonal(kernel, 1), kernel[0, -1] if bins > 2 else 0.0)
    apart = np.abs(i[:, None] - i)
    other = kernel[(apart > 1) & (apart < bins - 1)]
    if bins < 2 or np.abs(other).max(initial=0.0) > NEGLIGIBLE * kernel.max() or beside.min() < 0:
        return None
    ring = bool(beside[-1] > NEGLIGIBLE * kernel.max())
    here = _settled(np.diagonal(kernel), beside if ring else np.append(beside[:-1], 0.0))
    if here is None:
        return None
    ahead = beside / np.roll(here, -1)
    if not ring:
        ahead[-1] = 0.0
    factors = np.column_stack((here, ahead))
    above, below = (MovingAverage(0.0, factors * f, ring) for f in (1 + MARGIN, 1 - MARGIN))
    fits = _covers(above.gram(), kernel) and _covers(kernel, below.gram())
    return (above, below) if fits else None


def _covers(larger: FloatArray, smaller: FloatArray) -> bool:
    """Whether `larger` is `smaller` plus a non-negative and a positive semidefinite matrix.

    In each row the surplus on the diagonal has to be at least the sum of the deficits elsewhere:
    then the deficits are those of a diagonally dominant, hence positive semidefinite, matrix
    (docs/gram.md, "Laplacians").
    """
    missing = np.maximum(smaller - larger, 0.0)
    np.fill_diagonal(missing, 0.0)
    spare = np.diagonal(larger) - np.diagonal(smaller)
    return bool((missing.sum(axis=1) <= spare).all())


def _settled(diagonal: FloatArray, beside: FloatArray) -> FloatArray | None:
    """The factors `here`, decreasing; None if one is not positive, or without convergence."""
    squares = diagonal.copy()
    for _ in range(MOST_ROUNDS):
        before = squares.copy()
        for i in range(diagonal.size - 1, -1, -1):
            squares[i] = diagonal[i] - beside[i] ** 2 / squares[(i + 1) % diagonal.size]
            if not squares[i] > 0:
                return None
        if np.all(before - squares <= SETTLED * diagonal):
            result: FloatArray = np.sqrt(squares)
            return result
    return None
