"""Matrices with Markov structure above and below bounds by distance.

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
from typing import NamedTuple

import numpy as np

from hockeystick._numerics.law import FloatArray
from hockeystick.analyses.gram.order.chains import ChainMixture, ring_kernel
from hockeystick.analyses.gram.order.lag_bounds import LagBounds

__all__ = ["MARGIN", "ChainFit", "LagFamily", "chain_below", "diagonal_below", "independent_above"]

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
