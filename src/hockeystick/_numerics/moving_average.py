"""Mixtures whose Gram matrix has two bands: neighbours have one normal variable in common."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from hockeystick._numerics.law import FloatArray

__all__ = ["MovingAverage", "two_bands"]

# Rounds in which the factors of a ring settle, and how much they are enlarged, relatively.
ROUNDS, SETTLED, MARGIN = 200, 1e-14, 1e-10
# Entries elsewhere that count as none, relative to the largest: the margin on the diagonal pays for
# them, or the matrix has no two bands.
NOTHING = 1e-14


@dataclass(frozen=True, eq=False)
class MovingAverage:
    """Gram matrix `common` + that of X_i = `here`_i Z_i + `ahead`_i Z_(i+1), over sigma^2.

    Z are independent unit normal variables, on a ring Z_(b+1) is Z_1. No factor is negative.
    """

    common: float
    here: FloatArray
    ahead: FloatArray
    ring: bool

    @property
    def bins(self) -> int:
        """How many terms are averaged."""
        return self.here.size

    @property
    def closes(self) -> bool:
        """Whether the first state matters at the end."""
        return self.ring and self.bins > 1 and bool(self.ahead[-1] > 0)

    @property
    def variances(self) -> FloatArray:
        """Of all terms, without what they share."""
        result: FloatArray = self.here**2 + self.ahead**2
        return result

    @property
    def signal(self) -> float:
        """The largest variance of a term without what all share."""
        return float(self.variances.max())

    @property
    def shift(self) -> float:
        """By how many standard deviations a state may move if the example is present."""
        return float(max(self.here.max(), self.ahead.max()))

    @property
    def scales(self) -> FloatArray:
        """How fast a term may grow in Z_1, ..., Z_(b+1): the larger of its two factors."""
        result: FloatArray = np.maximum(np.append(self.here, 0.0), np.append(0.0, self.ahead))
        if self.closes:
            result[0] = result[-1] = max(result[0], result[-1])
        return result

    @property
    def exponents(self) -> FloatArray:
        """All 1: states are the variables times their scales."""
        return np.ones(self.bins + 1)

    @property
    def memory(self) -> dict[str, object]:
        """The largest correlation of two neighbours."""
        neighbours = self.ahead[:-1] * self.here[1:]
        spread = np.sqrt(self.variances[:-1] * self.variances[1:])
        return {"correlation": float(np.max(neighbours / spread, initial=0.0))}

    def cut_open(self) -> MovingAverage:
        """Below: without what the first and the last term have in common across the end."""
        ahead = self.ahead.copy()
        ahead[-1] = 0.0
        return replace(self, ahead=ahead, ring=False)

    def gram(self) -> FloatArray:
        """The matrix itself."""
        bins = self.bins
        factor = np.zeros((bins, bins + 1))
        i = np.arange(bins)
        factor[i, i] = self.here
        factor[i, i + 1] = self.ahead
        if self.closes:
            factor[:, 0] += factor[:, -1]
            factor = factor[:, :-1]
        result: FloatArray = self.common + factor @ factor.T
        return result


def two_bands(kernel: FloatArray) -> tuple[MovingAverage, MovingAverage] | None:
    """Moving averages just above and just below a matrix without further bands, or None.

    here_i^2 = K_ii - ahead_i^2 and ahead_i = K_(i,i+1) / here_(i+1), from the last bin to the
    first. On a ring the last one needs the first: the factors fall from round to round and settle,
    unless there is none. All entries are then the wanted ones, up to a margin.
    """
    bins = kernel.shape[0]
    i = np.arange(bins)
    beside = np.append(np.diagonal(kernel, 1), kernel[0, -1] if bins > 2 else 0.0)
    apart = np.abs(i[:, None] - i)
    other = kernel[(apart > 1) & (apart < bins - 1)]
    if bins < 2 or np.abs(other).max(initial=0.0) > NOTHING * kernel.max() or beside.min() < 0:
        return None
    ring = bool(beside[-1] > NOTHING * kernel.max())
    here = _settled(np.diagonal(kernel), beside if ring else np.append(beside[:-1], 0.0))
    if here is None:
        return None
    ahead = beside / np.roll(here, -1)
    if not ring:
        ahead[-1] = 0.0
    above, below = (
        MovingAverage(0.0, here * factor, ahead * factor, ring)
        for factor in (1 + MARGIN, 1 - MARGIN)
    )
    fits = _covers(above.gram(), kernel) and _covers(kernel, below.gram())
    return (above, below) if fits else None


def _covers(larger: FloatArray, smaller: FloatArray) -> bool:
    """Whether `larger` is `smaller` plus a non-negative and a positive semidefinite matrix.

    The diagonal of each row has to pay for what is missing elsewhere in it: then a diagonally
    dominant matrix has all that is missing.
    """
    missing = np.maximum(smaller - larger, 0.0)
    np.fill_diagonal(missing, 0.0)
    spare = np.diagonal(larger) - np.diagonal(smaller)
    return bool((missing.sum(axis=1) <= spare).all())


def _settled(diagonal: FloatArray, beside: FloatArray) -> FloatArray | None:
    """The factors `here`, from above; None if one is not positive, or if they do not settle."""
    squares = diagonal.copy()
    for _ in range(ROUNDS):
        before = squares.copy()
        for i in range(diagonal.size - 1, -1, -1):
            squares[i] = diagonal[i] - beside[i] ** 2 / squares[(i + 1) % diagonal.size]
            if not squares[i] > 0:
                return None
        if np.all(before - squares <= SETTLED * diagonal):
            result: FloatArray = np.sqrt(squares)
            return result
    return None
