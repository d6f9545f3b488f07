"""Matrices with Markov structure above and below a Gram matrix, by linear programmes.

K' dominates K if K' - K = S + N with S positive semidefinite and N without negative entries
(docs/gram.md). Between matrices that depend on the distance of the bins alone, S is positive
semidefinite if the Fourier transform of its first row, on a ring that contains all bins, is not
negative. So the amplitudes of K' = common + chain rho^d + own [d = 0] and the entries of N are
subject to linear conditions, and the best of them for a linear goal are found by a linear
programme. Whatever it returns, the Fourier transform is computed in full, and what it lacks is put
on the diagonal, with a margin.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from hockeystick._numerics.chain_mixture import ChainMixture
from hockeystick._numerics.chains import correlations
from hockeystick._numerics.lag_bounds import LagBounds
from hockeystick._numerics.law import FloatArray

__all__ = ["best_majorant", "best_minorant"]

# Correlations of neighbours that are tried, as distances over which they fall by e.
REACHES = tuple(0.3 * 1.6**i for i in range(14))
REFINEMENTS = (1.25, 1.12)
# Frequencies and lags that a programme knows: all small ones, then in geometric steps.
EXACT, FREQUENCIES, LAG_GROWTH = 24, 60, 1.25
# On the diagonal, relative to it.
MARGIN = 1e-9
# A matrix that is not below the target yet is multiplied by these.
SHRINKING = (1.0, 0.999, 0.99, 0.98, 0.95, 0.9, 0.8, 0.65, 0.5, 0.3)
LARGEST_EXPONENT = 15.0


def best_majorant(target: LagBounds, variance: float, boldness: float) -> ChainMixture:
    """A mixture above the target, over the variance of the noise.

    Entries are weighted by e^(boldness K): at high noise only their sum matters, at low noise only
    the diagonal.
    """
    return _best(target, variance, boldness, _Programme.above)


def best_minorant(target: LagBounds, variance: float, boldness: float) -> ChainMixture:
    """A mixture below the target, over the variance of the noise.

    What bins have in common does not fall with the amplitudes, so it has to be below the smallest.
    """
    found = _best(target, variance, boldness, _Programme.below)
    return replace(found, common=found.common * float(target.amplitudes.min()) ** 2)


def _best(
    target: LagBounds,
    variance: float,
    boldness: float,
    solve: Callable[[_Programme, FloatArray], FloatArray | None],
) -> ChainMixture:
    sign = 1.0 if solve is _Programme.above else -1.0
    tried: dict[float, tuple[float, FloatArray | None]] = {}

    def cost(reach: float) -> float:
        if reach not in tried:
            programme = _Programme(target, math.exp(-1 / reach))
            # Relative to the diagonal, whose weight is 1.
            tilt = boldness / variance * (programme.lags - programme.lags[0])
            tilt = np.clip(tilt, -LARGEST_EXPONENT, 0.0)
            amplitudes = solve(programme, np.exp(tilt) * programme.counts)
            value = math.inf
            if amplitudes is not None:
                row = boldness / variance * (programme.family @ amplitudes)
                top = float(row[0])
                logs = np.log(np.maximum(programme.counts * -np.expm1(-row), 1e-300)) + row - top
                value = sign * (top + math.log(float(np.exp(logs).sum())))
            tried[reach] = (value, amplitudes)
        return tried[reach][0]

    reaches = [reach for reach in REACHES if reach <= max(target.bins, REACHES[0])]
    best = min(reaches, key=cost)
    for factor in REFINEMENTS:
        best = min((best / factor, best, best * factor), key=cost)
    amplitudes = tried[best][1]
    if amplitudes is None:
        best, amplitudes = REACHES[0], (_plain if solve is _Programme.above else _diagonal)(target)
    common, chain, own = (float(one) / variance for one in amplitudes)
    rho = math.exp(-1 / best)
    return ChainMixture(common, chain, own, rho, target.amplitudes, target.ring)


def _plain(target: LagBounds) -> FloatArray:
    """The largest entry for all pairs, the rest on the diagonal: above whatever the target is."""
    common = float(target.values[1:].max(initial=0.0))
    rest = max(float(target.values[0]) - common, MARGIN * float(target.values[0]))
    return np.array([common, rest / 2, rest / 2])


def _diagonal(target: LagBounds) -> FloatArray:
    """Nothing beside the diagonal: below whatever the target is."""
    return np.array([0.0, 0.0, (1 - MARGIN) * float(target.values[0])])


class _Programme:
    """The conditions for one correlation."""

    def __init__(self, target: LagBounds, rho: float) -> None:
        bins = target.bins
        # A line is part of a ring of twice its size, on which nothing is asked of the far side.
        self.period = bins if target.ring else 2 * bins
        half = self.period // 2
        lags = np.zeros(half + 1)
        lags[: min(half + 1, bins)] = target.values[: half + 1]
        d = np.arange(half + 1)
        r = correlations(rho, self.period, ring=True) if target.ring else rho**d
        self.lags = lags
        self.family = np.column_stack((np.ones(half + 1), r[: half + 1], d == 0))
        self.twice = np.where((d == 0) | (2 * d == self.period), 1.0, 2.0)
        # How many pairs of bins are at each distance, per bin.
        self.counts = self.twice * (1.0 if target.ring else np.maximum(1 - d / bins, 0.0))
        self.hats = _hats(half)

    def above(self, weights: FloatArray) -> FloatArray | None:
        """common, chain and own with family - lags - N positive semidefinite, at least cost."""
        found = self._solve(weights @ self.family, 1.0)
        if found is None:
            return None
        amplitudes, extra = found
        lacking = max(-float(self._spectrum(self.family @ amplitudes - self.lags - extra).min()), 0)
        amplitudes[2] += lacking + MARGIN * self.lags[0]
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
            if part * amplitudes[2] >= lacking:
                smaller: FloatArray = part * amplitudes - np.array([0.0, 0.0, lacking])
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
        return solution[:3], self.hats @ solution[3:]

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
