"""Majorants with a richer state than one chain: two chains, or two bands without a chain.

Found by the same linear programmes, and compared with a chain by the same score, so that they are
only tried where they promise something.
"""

from __future__ import annotations

import math
from functools import cache

import numpy as np
from numpy.typing import NDArray

from hockeystick._numerics.law import FloatArray
from hockeystick.analyses.gram.law.chain_mixture import ChainMixture
from hockeystick.analyses.gram.law.two_chains import TwoChains
from hockeystick.analyses.gram.order.lag_bounds import LagBounds
from hockeystick.analyses.gram.order.moving_average import MovingAverage
from hockeystick.analyses.gram.order.programme import Programme, chain_shapes

__all__ = ["score_of_chain", "two_band_majorant", "two_chain_majorant"]

# How much sooner one chain forgets, and how much later the other, than the best single one: first
# guesses, and the factors by which they are then varied.
SOONER, LATER, VARIATIONS = (2.5, 5.0), (1.5, 2.5), (1.6, 1.25)
SHORTEST, LONGEST = 0.3, 1e4
# A chain with less than this part of the other is none.
LEAST_OF_TWO = 0.01


def score_of_chain(target: LagBounds, chain: ChainMixture, boldness: float) -> float:
    """What the majorant with a single chain comes to."""
    programme = Programme(target, chain_shapes(chain.rho))
    return programme.score(np.array([chain.common, chain.chain, chain.own]), boldness)


def two_chain_majorant(
    target: LagBounds, single: ChainMixture, boldness: float
) -> tuple[TwoChains, float] | None:
    """Two chains around the best single one, and their score; some twelve linear programmes.

    None where one of them has next to nothing to do.
    """
    middle = -1 / math.log(max(single.rho, 1e-6))

    @cache
    def fitted(short: float, long: float) -> tuple[float, FloatArray | None]:
        if not SHORTEST <= short < long <= LONGEST:
            return math.inf, None
        programme = Programme(target, chain_shapes(math.exp(-1 / short), math.exp(-1 / long)))
        amplitudes = programme.above(programme.weights(boldness))
        if amplitudes is None:
            return math.inf, None
        return programme.score(amplitudes, boldness), amplitudes

    def cost(pair: tuple[float, float]) -> float:
        return fitted(*pair)[0]

    best = min(((middle / a, middle * b) for a in SOONER for b in LATER), key=cost)
    for factor in VARIATIONS:
        around = [(best[0] * f, best[1] * g) for f, g in _steps(factor)]
        best = min((best, *around), key=cost)
    value, amplitudes = fitted(*best)
    if amplitudes is None:
        return None
    common, fast, slow, own = amplitudes.tolist()
    if min(fast, slow) < LEAST_OF_TWO * max(fast, slow):
        return None
    rhos = math.exp(-1 / best[0]), math.exp(-1 / best[1])
    found = TwoChains(common, (fast, slow), own, rhos, target.amplitudes, target.ring)
    return found, value


def _steps(factor: float) -> list[tuple[float, float]]:
    return [(factor, 1.0), (1 / factor, 1.0), (1.0, factor), (1.0, 1 / factor)]


def two_band_majorant(target: LagBounds, boldness: float) -> tuple[MovingAverage, float] | None:
    """A common factor and two bands, and their score.

    Any diagonal v and neighbours c <= v/2 are those of a moving average: here^2 + ahead^2 = v and
    here ahead = c.
    """
    programme = Programme(target, _two_band_shapes)
    amplitudes = programme.above(programme.weights(boldness))
    if amplitudes is None:
        return None
    common, band, own = amplitudes.tolist()
    v, c = band + own, band / 2
    here = math.sqrt((v + math.sqrt(max(v * v - 4 * c * c, 0.0))) / 2)
    ahead = c / here
    factors = np.multiply.outer(target.amplitudes, [here, ahead])
    return MovingAverage(common, factors, target.ring), programme.score(amplitudes, boldness)


def _two_band_shapes(d: NDArray[np.int64], period: int) -> list[FloatArray]:
    """1, 1/2, 0, ...; on a ring and on a line."""
    del period
    return [np.where(d == 0, 1.0, np.where(d == 1, 0.5, 0.0))]
