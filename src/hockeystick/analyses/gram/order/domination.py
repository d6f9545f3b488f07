"""Matrices with Markov structure above and below bounds by distance.

K' dominates K if K' - K = S + N with S positive semidefinite and N without negative entries
(docs/gram.md, "When one Gram matrix dominates another"). Between matrices that depend on the
distance of the bins alone, S is positive semidefinite if the Fourier transform of its first row, on
a ring that contains all bins, is not negative. `LagFamily` takes any proposed amplitudes and N,
computes that transform in full, and adds what is lacking to the diagonal, with a margin. Where the
proposals come from does not matter.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from hockeystick._numerics.law import FloatArray
from hockeystick.analyses.gram.order.chains import ChainMixture, TwoChains, correlations
from hockeystick.analyses.gram.order.lag_bounds import LagBounds
from hockeystick.analyses.gram.order.moving_average import MovingAverage

__all__ = [
    "MARGIN",
    "LagFamily",
    "chain_above",
    "chain_below",
    "chain_shapes",
    "diagonal_below",
    "independent_above",
    "two_band_shapes",
    "two_bands_above",
    "two_chains_above",
]

Shapes = Callable[[NDArray[np.int64], int], Sequence[FloatArray]]

# Relative to the diagonal: transforms of up to 8,000 rounded entries are off by less than 1e-11.
MARGIN = 1e-9


def chain_shapes(*rhos: float) -> Shapes:
    """Correlations of Markov chains by distance; the period is that of a ring, 0 on a line."""

    def shapes(d: NDArray[np.int64], period: int) -> list[FloatArray]:
        return [
            correlations(rho, period, ring=True)[: d.size]
            if period
            else np.power(rho, d, dtype=np.float64)
            for rho in rhos
        ]

    return shapes


def two_band_shapes(d: NDArray[np.int64], period: int) -> list[FloatArray]:
    """1, 1/2, 0, ...; on a ring and on a line."""
    del period
    return [np.where(d == 0, 1.0, np.where(d == 1, 0.5, 0.0))]


class LagFamily:
    """The rows K'_d = common + sum_k chain_k shape_k(d) + own [d = 0] beside those of a target.

    `rows @ amplitudes` is K'_d for amplitudes (common, chain_1, ..., own), none of them negative.
    """

    def __init__(self, target: LagBounds, shapes: Shapes) -> None:
        bins = target.bins
        # A line is part of a ring of twice its size; entries at lags of `bins` and more are free.
        self.period = bins if target.ring else 2 * bins
        half = self.period // 2
        self.lags = np.zeros(half + 1)
        self.lags[: min(half + 1, bins)] = target.values[: half + 1]
        d = np.arange(half + 1)
        columns = shapes(d, self.period if target.ring else 0)
        self.rows = np.column_stack((np.ones(half + 1), *columns, d == 0))
        # How often a distance occurs in a row of the ring.
        self.twice = np.where((d == 0) | (2 * d == self.period), 1.0, 2.0)
        # How many pairs of bins are at each distance, per bin.
        self.counts = self.twice * (1.0 if target.ring else np.maximum(1 - d / bins, 0.0))

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
        """The Fourier transform of a symmetric row, given by its first half."""
        whole = np.concatenate((row, row[1 : self.period - row.size + 1][::-1]))
        result: FloatArray = np.fft.rfft(whole).real
        return result


# From amplitudes of a `LagFamily` to a matrix. Chain and diagonal are multiplied by A_i A_j,
# a congruence, which keeps the order. The common part keeps its full size above, where it is larger
# than with the amplitudes; below it has to be reduced to the smallest of them.


def chain_above(target: LagBounds, rho: float, amplitudes: FloatArray) -> ChainMixture:
    """One chain with certified amplitudes: dominates the target."""
    common, chain, own = amplitudes.tolist()
    return ChainMixture(common, chain, own, rho, target.amplitudes, target.ring)


def chain_below(target: LagBounds, rho: float, amplitudes: FloatArray) -> ChainMixture:
    """One chain with certified amplitudes: dominated by the target."""
    common, chain, own = amplitudes.tolist()
    common *= float(target.amplitudes.min()) ** 2
    return ChainMixture(common, chain, own, rho, target.amplitudes, target.ring)


def two_chains_above(
    target: LagBounds, rhos: tuple[float, float], amplitudes: FloatArray
) -> TwoChains:
    """Two chains with certified amplitudes: dominate the target."""
    common, first, second, own = amplitudes.tolist()
    return TwoChains(common, (first, second), own, rhos, target.amplitudes, target.ring)


def two_bands_above(target: LagBounds, amplitudes: FloatArray) -> MovingAverage:
    """A common part and two bands with certified amplitudes: dominate the target.

    Any diagonal v and neighbours c <= v/2 are those of a moving average: here^2 + ahead^2 = v and
    here ahead = c.
    """
    common, band, own = amplitudes.tolist()
    v, c = band + own, band / 2
    here = math.sqrt((v + math.sqrt(max(v * v - 4 * c * c, 0.0))) / 2)
    factors = np.multiply.outer(target.amplitudes, [here, c / here])
    return MovingAverage(common, factors, target.ring)


def independent_above(target: LagBounds) -> FloatArray:
    """The largest entry for all pairs, the rest on the diagonal: above whatever the target is.

    For any correlation: half of the rest goes to the chain.
    """
    common = float(target.values[1:].max(initial=0.0))
    rest = max(float(target.values[0]) - common, MARGIN * float(target.values[0]))
    return np.array([common, rest / 2, rest / 2])


def diagonal_below(target: LagBounds) -> FloatArray:
    """Nothing beside the diagonal: below whatever the target is without negative entries."""
    return np.array([0.0, 0.0, (1 - MARGIN) * float(target.values[0])])
