"""Moments of a balls-in-bins mixture with correlated noise, in both directions.

Remove: mixture_moments.py. Add: the smaller of two bounds on E_Q[LR^(1 - a)].

- The variational one (variational.py); best where the bins are strongly correlated.
- Bins far apart. Take q = floor(bins / s) of them, at least s apart on the ring. LR is the average
  over all rotations of the average over such a set, and x^(1 - a) is convex, so its moment is at
  most the largest moment of one set. Within a set the entries of K are at most g on the diagonal
  and tau off it; moments are convex in LR, so by Kahane's inequality g and tau may take their
  places: a part common to all, and one allocation of a Gaussian mechanism over q steps.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cached_property
from typing import Protocol

import numpy as np

from hockeystick._numerics.law import FloatArray, Resolution
from hockeystick._numerics.moments import PowerMoments
from hockeystick.analyses.renyi import ring
from hockeystick.analyses.renyi.mixture_moments import (
    LARGEST_BANDED_ORDER,
    BandedMoments,
    Kept,
    best_of,
    mixture_moments,
)
from hockeystick.analyses.renyi.moment_bound import RunMoments
from hockeystick.analyses.renyi.variational import reversed_moments
from hockeystick.profile import Profile

__all__ = ["BinMoments"]

# Distances that are tried for bins far apart, besides the bandwidth of the matrix.
DISTANCES = (1, 3, 8)
# Laws of larger likelihood ratios, or with more mass cut off than this many tails, say nothing.
LARGEST_OWN, CUT_OFF = 1e3, 1e3
# Products with K that the weights may take, in units of the budget: they are fast.
PRODUCTS = 10.0


class Mixture(Protocol):
    """What is asked for its K = Gram / variance, once it is needed."""

    @property
    def kernel(self) -> FloatArray:
        """K."""


class BinMoments:
    """Moments by order for one mixture."""

    def __init__(self, mixture: Mixture, budget: float) -> None:
        self._mixture = mixture
        self._budget = budget

    def __call__(self, largest: int, *, reverse: bool, resolution: Resolution) -> RunMoments:
        """Upper bounds on the moments up to the order `largest`.

        When adding, each order takes the smaller bound, and the mass that a law has cut off is
        charged to all of them: a bound on all of LR is one on its finite part.
        """
        if not reverse:
            banded = self.banded(largest)
            return RunMoments(banded.moments, lambda order: _of_bands(banded.kept[order]))
        best = reversed_moments(self._kernel, largest, PRODUCTS * self._budget)
        distances: dict[int, int] = {}
        for distance in self._distances():
            apart = self._far_apart(distance, largest, resolution)
            if apart.apart > CUT_OFF * resolution.tail:
                continue
            better = apart.log < best.log
            distances |= dict.fromkeys(np.flatnonzero(better).tolist(), distance)
            best = PowerMoments(np.where(better, apart.log, best.log), max(best.apart, apart.apart))
        return RunMoments(best, lambda order: _of_distance(distances.get(order)))

    @property
    def _kernel(self) -> FloatArray:
        return self._mixture.kernel

    def banded(self, largest: int) -> BandedMoments:
        """The remove direction, with what each order keeps of the matrix.

        The programmes for bands run once; further orders need one band only.
        """
        if largest > LARGEST_BANDED_ORDER:
            return best_of(self._banded, mixture_moments(self._kernel, largest, 0.0))
        moments, kept = self._banded
        return BandedMoments(PowerMoments(moments.log[: largest + 1]), kept[: largest + 1])

    @cached_property
    def _banded(self) -> BandedMoments:
        return mixture_moments(self._kernel, LARGEST_BANDED_ORDER, self._budget)

    def _distances(self) -> list[int]:
        bins = self._kernel.shape[0]
        own = ring.bandwidth(self._kernel)
        return sorted({d for d in (*DISTANCES, own) if d <= min(own, bins // 2)})

    def _far_apart(self, distance: int, largest: int, resolution: Resolution) -> PowerMoments:
        shape = ring.envelope(self._kernel).thinned(distance)
        common = shape.common(1)
        own = float(shape.largest[0]) - common
        if own > LARGEST_OWN:
            moments = PowerMoments(np.full(largest + 1, np.inf))
        elif not own > 0:
            moments = PowerMoments(np.zeros(largest + 1))
        else:
            pair = Profile.gaussian(noise_multiplier=1 / math.sqrt(own))
            moments = pair.allocate(shape.bins).expression.power_moments(
                largest, reverse=True, resolution=resolution
            )
        return ring.with_common_part(moments, common)


def _of_bands(kept: Kept) -> Mapping[str, object]:
    """What the remove direction keeps of the matrix at an order."""
    return {
        "effective_bandwidth": kept.bands,
        "every_nth_bin": kept.spacing,
        "exact_moments": kept.exact,
    }


def _of_distance(distance: int | None) -> Mapping[str, object]:
    """Which of its two bounds the add direction takes at an order."""
    return {"weights": "optimised"} if distance is None else {"every_nth_bin": distance}
