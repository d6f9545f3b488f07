"""Matrices with Markov structure above and below a Gram matrix: the best of a family.

For each correlation of a chain a linear programme gives the other parameters, and a search the
correlation. docs/gram.md says why the result dominates, or is dominated.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from hockeystick._numerics.law import FloatArray
from hockeystick.analyses.gram.law.chain_mixture import ChainMixture
from hockeystick.analyses.gram.order.lag_bounds import LagBounds
from hockeystick.analyses.gram.order.programme import MARGIN, Programme, chain_shapes

__all__ = ["best_majorant", "best_minorant"]

# Correlations of neighbours that are tried, as distances over which they fall by e; then beside the
# best one.
REACHES = tuple(0.3 * 2.56**i for i in range(8))
REFINEMENTS = (1.6, 1.25, 1.12)


def best_majorant(target: LagBounds, variance: float, boldness: float) -> ChainMixture:
    """A mixture above the target, over the variance of the noise.

    Entries are weighted by e^(boldness K): at high noise only their sum matters, at low noise only
    the diagonal.
    """
    return _best(target, variance, boldness, Programme.above)


def best_minorant(target: LagBounds, variance: float, boldness: float) -> ChainMixture:
    """A mixture below the target, over the variance of the noise.

    What bins have in common does not fall with the amplitudes, so it has to be below the smallest.
    """
    found = _best(target, variance, boldness, Programme.below)
    return replace(found, common=found.common * float(target.amplitudes.min()) ** 2)


def _best(
    target: LagBounds,
    variance: float,
    boldness: float,
    solve: Callable[[Programme, FloatArray], FloatArray | None],
) -> ChainMixture:
    sign = 1.0 if solve is Programme.above else -1.0
    tried: dict[float, tuple[float, FloatArray | None]] = {}

    def cost(reach: float) -> float:
        if reach not in tried:
            programme = Programme(target, chain_shapes(math.exp(-1 / reach)))
            amplitudes = solve(programme, programme.weights(boldness / variance))
            value = math.inf
            if amplitudes is not None:
                value = sign * programme.score(amplitudes, boldness / variance)
            tried[reach] = (value, amplitudes)
        return tried[reach][0]

    reaches = [reach for reach in REACHES if reach <= max(target.bins, REACHES[0])]
    best = min(reaches, key=cost)
    for factor in REFINEMENTS:
        best = min((best / factor, best, best * factor), key=cost)
    amplitudes = tried[best][1]
    if amplitudes is None:
        best, amplitudes = REACHES[0], (_plain if solve is Programme.above else _diagonal)(target)
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
