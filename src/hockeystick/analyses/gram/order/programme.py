"""Linear programmes for matrices above and below bounds by distance.

K' dominates K if K' - K = S + N with S positive semidefinite and N without negative entries
(docs/gram.md). Between matrices that depend on the distance of the bins alone, S is positive
semidefinite if the Fourier transform of its first row, on a ring that contains all bins, is not
negative. So the amplitudes of K' = common + sum_k chain_k shape_k(d) + own [d = 0] and the entries
of N are subject to linear conditions, and the best of them for a linear goal are found by a linear
programme. Whatever it returns, the Fourier transform is computed in full, and what it lacks is put
on the diagonal, with a margin.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from hockeystick._numerics.law import FloatArray
from hockeystick.analyses.gram.law.chains import correlations
from hockeystick.analyses.gram.order.lag_bounds import LagBounds

__all__ = ["MARGIN", "Programme", "chain_shapes"]

Shapes = Callable[[NDArray[np.int64], int], Sequence[FloatArray]]

# Frequencies and lags that a programme knows: all small ones, then in geometric steps.
EXACT, FREQUENCIES, LAG_GROWTH = 24, 60, 1.25
# On the diagonal, relative to it.
MARGIN = 1e-9
# A matrix that is not below the target yet is multiplied by these.
SHRINKING = (1.0, 0.999, 0.99, 0.98, 0.95, 0.9, 0.8, 0.65, 0.5, 0.3)
LARGEST_EXPONENT = 15.0


def chain_shapes(*rhos: float) -> Shapes:
    """Correlations of Markov chains by distance, on a line or a ring."""

    def shapes(d: NDArray[np.int64], period: int) -> list[FloatArray]:
        return [
            correlations(rho, period, ring=True)[: d.size]
            if period
            else np.power(rho, d, dtype=np.float64)
            for rho in rhos
        ]

    return shapes


class Programme:
    """The conditions for a family: `shapes(d, period)` are what its chains look like by distance.

    The period is that of a ring, 0 on a line.
    """

    def __init__(self, target: LagBounds, shapes: Shapes) -> None:
        bins = target.bins
        # A line is part of a ring of twice its size, on which nothing is asked of the far side.
        self.period = bins if target.ring else 2 * bins
        half = self.period // 2
        lags = np.zeros(half + 1)
        lags[: min(half + 1, bins)] = target.values[: half + 1]
        d = np.arange(half + 1)
        self.lags = lags
        columns = shapes(d, self.period if target.ring else 0)
        self.family = np.column_stack((np.ones(half + 1), *columns, d == 0))
        self.twice = np.where((d == 0) | (2 * d == self.period), 1.0, 2.0)
        # How many pairs of bins are at each distance, per bin.
        self.counts = self.twice * (1.0 if target.ring else np.maximum(1 - d / bins, 0.0))
        self.hats = _hats(half)

    def weights(self, boldness: float) -> FloatArray:
        """Of entries by distance: e^(boldness K), relative to the diagonal, whose weight is 1."""
        tilt = np.clip(boldness * (self.lags - self.lags[0]), -LARGEST_EXPONENT, 0.0)
        result: FloatArray = np.exp(tilt) * self.counts
        return result

    def score(self, amplitudes: FloatArray, boldness: float) -> float:
        """log sum_d counts_d (e^(boldness K'_d) - 1): small is good above, large below."""
        row = boldness * (self.family @ amplitudes)
        top = float(row[0])
        logs = np.log(np.maximum(self.counts * -np.expm1(-row), 1e-300)) + row - top
        return top + math.log(float(np.exp(logs).sum()))

    def above(self, weights: FloatArray) -> FloatArray | None:
        """common, chains and own with family - lags - N positive semidefinite, at least cost."""
        found = self._solve(weights @ self.family, 1.0)
        if found is None:
            return None
        amplitudes, extra = found
        lacking = max(-float(self._spectrum(self.family @ amplitudes - self.lags - extra).min()), 0)
        amplitudes[-1] += lacking + MARGIN * self.lags[0]
        return amplitudes

    def below(self, weights: FloatArray) -> FloatArray | None:
        """The same with lags - family - N, at most value."""
        found = self._solve(-weights @ self.family, -1.0, MARGIN * self.lags[0])
        if found is None:
            return None
        amplitudes, extra = found
        for part in SHRINKING:
            row = self.lags - part * (self.family @ amplitudes) - extra
            lacking = max(MARGIN * self.lags[0] - float(self._spectrum(row).min()), 0.0)
            if part * amplitudes[-1] >= lacking:
                smaller: FloatArray = part * amplitudes
                smaller[-1] -= lacking
                return smaller
        return None

    def _solve(
        self, cost: FloatArray, sign: float, least: float = 0.0
    ) -> tuple[FloatArray, FloatArray] | None:
        """Amplitudes, and N by distance, with a spectrum of at least `least`."""
        from scipy.optimize import linprog

        k = _frequencies(self.lags.size - 1)
        d = np.arange(self.lags.size)
        transform = np.cos(2 * np.pi / self.period * np.outer(k, d)) * self.twice
        conditions = -np.hstack((sign * transform @ self.family, -transform @ self.hats))
        found = linprog(
            np.concatenate((cost, np.zeros(self.hats.shape[1]))),
            A_ub=conditions,
            b_ub=-sign * (transform @ self.lags) - least,
            method="highs",
        )
        if found.x is None or not np.isfinite(found.x).all():
            return None
        # Also what an imperfect solution says may be used: its spectrum is computed in full.
        solution = np.maximum(found.x, 0.0)
        count = self.family.shape[1]
        return solution[:count], self.hats @ solution[count:]

    def _spectrum(self, row: FloatArray) -> FloatArray:
        """The Fourier transform of a symmetric row, given by its first half."""
        whole = np.concatenate((row, row[1 : self.period - row.size + 1][::-1]))
        result: FloatArray = np.fft.rfft(whole).real
        return result


def _frequencies(half: int) -> NDArray[np.int64]:
    if half <= EXACT:
        return np.arange(half + 1)
    far = np.round(np.geomspace(EXACT, half, FREQUENCIES)).astype(np.int64)
    return np.union1d(np.arange(EXACT), far)


def _hats(half: int) -> FloatArray:
    """Non-negative functions of the distance that are 0 at 0: hats between chosen distances."""
    nodes = [1]
    while nodes[-1] < half:
        nodes.append(min(max(nodes[-1] + 1, int(LAG_GROWTH * nodes[-1])), half))
    d = np.arange(half + 1)
    hats = np.array([np.interp(d, nodes, unit) for unit in np.eye(len(nodes))]).T
    hats[0] = 0.0
    return hats
