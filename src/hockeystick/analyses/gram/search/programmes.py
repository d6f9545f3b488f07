"""Majorants and minorants of a target by distance, proposed by linear programmes.

For a given correlation the amplitudes of K' = common + chain k_d + own [d = 0] and the entries of
N are subject to linear conditions, one for each frequency. A linear programme with some of the
frequencies proposes them, `order` certifies them at all frequencies. Which correlation
is best is tried out.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache, lru_cache

import numpy as np
from numpy.typing import NDArray

from hockeystick._numerics.law import FloatArray
from hockeystick.analyses.gram.order import (
    MARGIN,
    ChainFit,
    LagBounds,
    LagFamily,
    chain_below,
    diagonal_below,
    independent_above,
)
from hockeystick.analyses.gram.order.chains import ChainMixture
from hockeystick.analyses.gram.search import SETTINGS, GramSettings

__all__ = ["GRAIN", "best_majorant", "best_minorant"]

# The logarithm of a score of 0.
SMALLEST = 1e-300
# Entries relative to the diagonal are rounded to multiples of this.
GRAIN = 2.0**-36


class Frequencies:
    """The conditions of a target's programmes: one for each frequency, whatever the correlation."""

    def __init__(self, target: LagBounds, settings: GramSettings) -> None:
        family = LagFamily(target, 0.5)
        half = family.lags.size - 1
        d = np.arange(half + 1)
        angles = 2 * np.pi / family.period * np.outer(_chosen(half, settings), d)
        self.transform = np.cos(angles) * family.twice
        self.hats = _hats(half, settings)
        self.of_hats = self.transform @ self.hats
        self.of_lags = self.transform @ family.lags


def _chosen(half: int, settings: GramSettings) -> NDArray[np.int64]:
    """Which frequencies."""
    exact = settings.exact_lags
    if half <= exact:
        return np.arange(half + 1)
    far = np.round(np.geomspace(exact, half, settings.frequencies)).astype(np.int64)
    return np.union1d(np.arange(exact), far)


def _hats(half: int, settings: GramSettings) -> FloatArray:
    """Non-negative functions of the distance that are 0 at 0: hats between chosen distances."""
    nodes = [1]
    while nodes[-1] < half:
        further = max(nodes[-1] + 1, int(settings.lag_growth * nodes[-1]))
        nodes.append(min(further, half))
    d = np.arange(half + 1)
    hats = np.array([np.interp(d, nodes, unit) for unit in np.eye(len(nodes))]).T
    hats[0] = 0.0
    return hats


class Programme:
    """The linear programme of a family, with entries weighted by e^(tilt K).

    At high noise only the sum of all entries matters, at low noise only the diagonal.
    """

    def __init__(
        self, family: LagFamily, frequencies: Frequencies, tilt: float, settings: GramSettings
    ) -> None:
        self.family = family
        self._frequencies = frequencies
        self._tilt = tilt
        self._settings = settings

    def score(self, amplitudes: FloatArray) -> float:
        """log sum_d counts_d (e^(tilt K'_d) - 1): small is good above, large below."""
        row = self._tilt * (self.family.rows @ amplitudes)
        top = float(row[0])
        logs = np.log(np.maximum(self.family.counts * -np.expm1(-row), SMALLEST)) + row - top
        return top + math.log(float(np.exp(logs).sum()))

    def above(self) -> FloatArray | None:
        """Certified amplitudes above the target, of least cost."""
        found = self._solve(self._weights @ self.family.rows, 1.0)
        return None if found is None else self.family.raised(*found)

    def below(self) -> FloatArray | None:
        """Certified amplitudes below the target, of most value."""
        margin = MARGIN * self.family.lags[0]
        found = self._solve(-self._weights @ self.family.rows, -1.0, margin)
        if found is None:
            return None
        tried = (self.family.lowered(*found, factor) for factor in self._settings.shrinking)
        return next((one for one in tried if one is not None), None)

    @property
    def _weights(self) -> FloatArray:
        """Of entries by distance: e^(tilt K), relative to the diagonal, whose weight is 1."""
        lags = self.family.lags
        tilted = np.clip(self._tilt * (lags - lags[0]), -self._settings.largest_tilt, 0.0)
        result: FloatArray = np.exp(tilted) * self.family.counts
        return result

    def _solve(
        self, cost: FloatArray, sign: float, least: float = 0.0
    ) -> tuple[FloatArray, FloatArray] | None:
        """Amplitudes, and N by distance, with a spectrum of at least `least`, about."""
        from scipy.optimize import linprog

        known, count = self._frequencies, self.family.rows.shape[1]
        found = linprog(
            np.concatenate((cost, np.zeros(known.hats.shape[1]))),
            A_ub=-np.hstack((sign * known.transform @ self.family.rows, -known.of_hats)),
            b_ub=-sign * known.of_lags - least,
            method="highs",
        )
        if found.x is None or not np.isfinite(found.x).all():
            return None
        # An imperfect solution may be used as well: its spectrum is computed in full.
        solution = np.maximum(found.x, 0.0)
        return solution[:count], known.hats @ solution[count:]


def best_majorant(
    target: LagBounds,
    tilt: float,
    settings: GramSettings = SETTINGS,
    near: float | None = None,
) -> ChainFit | None:
    """The chain above the target with the smallest score; 7 linear programmes, or 14 at first.

    `tilt` is for a diagonal of 1, so that fits are the same at every noise: they are kept. `near`
    is the correlation of neighbours in a similar fit, where the search may begin.
    """
    scale = float(target.values[0]) if target.values.size else 0.0
    if not scale > 0:
        return None
    # Rounded upwards, so that targets that differ by the noise alone are equal.
    values = np.ceil(target.values / scale / GRAIN) * GRAIN
    fit = _fit_above(values.tobytes(), target.ring, target.endless, tilt, settings, near)
    if fit is None:
        return None
    return ChainFit(scale * fit.common, scale * fit.chain, scale * fit.own, fit.rho)


@lru_cache(maxsize=1_000)
def _fit_above(
    values: bytes,
    ring: bool,
    endless: bool,
    tilt: float,
    settings: GramSettings,
    near: float | None,
) -> ChainFit | None:
    lags = np.frombuffer(values)
    target = LagBounds(lags, np.ones(lags.size), ring, endless)
    rho, amplitudes = _best_length(target, tilt, settings, Programme.above, 1.0, near)
    if amplitudes is None:
        amplitudes = independent_above(target)
    if amplitudes is None:
        return None
    common, chain, own = amplitudes.tolist()
    return ChainFit(common, chain, own, rho)


def best_minorant(
    target: LagBounds, tilt: float, settings: GramSettings = SETTINGS
) -> ChainMixture:
    """The chain below the target with the largest score; some 14 linear programmes."""
    rho, amplitudes = _best_length(target, tilt, settings, Programme.below, -1.0)
    if amplitudes is None:
        amplitudes = diagonal_below(target)
    return chain_below(target, rho, amplitudes)


def _best_length(
    target: LagBounds,
    tilt: float,
    settings: GramSettings,
    solve: Callable[[Programme], FloatArray | None],
    sign: float,
    near: float | None = None,
) -> tuple[float, FloatArray | None]:
    """The best correlation with its amplitudes; without any, the shortest correlation."""
    frequencies = Frequencies(target, settings)

    @cache
    def fitted(length: float) -> tuple[float, FloatArray | None]:
        family = LagFamily(target, _rho(length))
        programme = Programme(family, frequencies, tilt, settings)
        amplitudes = solve(programme)
        if amplitudes is None:
            return math.inf, None
        return sign * programme.score(amplitudes), amplitudes

    def cost(length: float) -> float:
        return fitted(length)[0]

    shortest = settings.lengths[0]
    best = max(-1 / math.log(near), shortest) if near else shortest
    if not (near and math.isfinite(cost(best))):
        longest = max(target.bins, shortest)
        best = min((one for one in settings.lengths if one <= longest), key=cost)
    for factor in settings.length_factors:
        best = min((best / factor, best, best * factor), key=cost)
    amplitudes = fitted(best)[1]
    return _rho(shortest if amplitudes is None else best), amplitudes


def _rho(length: float) -> float:
    """The correlation of neighbours for a correlation length."""
    return math.exp(-1 / length)
