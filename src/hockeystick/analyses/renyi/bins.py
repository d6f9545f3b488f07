"""Moments of a balls-in-bins mixture with correlated noise, in both directions.

Remove: mixture_moments.py. Add: the smaller of two bounds on E_Q[LR^(1 - a)].

- The variational one; best where the bins are strongly correlated. With K = Gram(m) / s^2 and
  xi ~ N(0, K) under Q, LR = sum_i e^(xi_i - K_ii/2) / b. For any weights w on the bins (Jensen's
  inequality, Gibbs' variational principle), log LR >= sum_i w_i (xi_i - K_ii/2) - KL(w || uniform),
  which is a Gaussian variable, so

      log E_Q[LR^(1-a)] / (a - 1) <= sum_i w_i K_ii/2 + KL(w || uniform) + (a - 1)/2 w^T K w.

  [SchuchardtKalinin26, Lemma 3.4] is the case of uniform weights. The right-hand side is convex in
  w; every w gives a valid bound, so the search for the best need not converge.
- Bins far apart. Take q = floor(bins / s) of them, at least s apart on the ring. LR is the average
  over all rotations of the average over such a set, and x^(1 - a) is convex, so its moment is at
  most the largest moment of one set. Within a set the entries of K are at most g on the diagonal
  and tau off it; moments are convex in LR, so by Kahane's inequality [Kahane86] g and tau may take
  their places: a part common to all, and one allocation of a Gaussian mechanism over q steps.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

from hockeystick._numerics.law import FloatArray, Resolution
from hockeystick._numerics.moments import MomentNodes, PowerMoments, rounded_up
from hockeystick.analyses.renyi import ring
from hockeystick.analyses.renyi.bound import RunMoments
from hockeystick.analyses.renyi.mixture_moments import (
    LARGEST_BANDED_ORDER,
    BandedMoments,
    Kept,
    best_of,
    mixture_moments,
    real_moments,
)
from hockeystick.profile import Profile
from hockeystick.profile.expressions.mechanisms import GaussianPair

__all__ = ["BinMoments", "reversed_moments"]

# Products with K that the search for weights may take: per unit of the budget (they are fast), and
# without a budget.
PRODUCTS, MOST_PRODUCTS = 10.0, 1e9
# Beyond this K_ii the law of one bin is beyond floating point; a law of which so many times more
# was cut off than was allowed says nothing.
LARGEST_OWN, CUT_OFF = 1e3, 1e3


@dataclass(frozen=True)
class AddSearch:
    """What is tried for the add direction; every choice gives a valid bound.

    Attributes
    ----------
    distances
        Between bins that are far apart, besides the bandwidth of the matrix.
    most_steps, smallest_gain
        The search for weights ends after so many steps, or when one gains less, relatively.
    growth, smallest_stride
        A step that gains is followed by a longer one; one that does not, by one half as long.
    """

    distances: tuple[int, ...] = (1, 3, 8)
    most_steps: int = 100
    smallest_gain: float = 1e-9
    growth: float = 1.5
    smallest_stride: float = 1e-4


SEARCH = AddSearch()


class _Mixture(Protocol):
    """A uniform mixture of Gaussians; its K = Gram / variance is computed when it is needed."""

    @property
    def kernel(self) -> FloatArray:
        """K, or bounds on its entries by the distance of the bins."""


class BinMoments:
    """Moments by order for one mixture."""

    def __init__(self, mixture: _Mixture, budget: float) -> None:
        self._mixture = mixture
        self._budget = budget

    def __call__(self, largest: int, *, reverse: bool, resolution: Resolution) -> RunMoments:
        """Upper bounds on the moments up to the order `largest`.

        When adding, each order takes the smaller bound, and the mass that a law has cut off is
        charged to all of them: a bound on all of LR is one on its finite part.
        """
        if not reverse:
            banded = self.banded(largest)
            return RunMoments(
                banded.moments, lambda order: _of_bands(banded.kept[order]), real=self._between
            )
        if self._kernel.ndim == 2:
            best = reversed_moments(self._kernel, largest, PRODUCTS * self._budget)
        else:
            best = PowerMoments(np.append(0.0, np.full(largest, np.inf)))
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

    def _between(self, orders: FloatArray) -> MomentNodes:
        """Up to the order 2 by a bound for real orders; from there on integers."""
        small = orders[orders <= 2]
        powers = self.banded(LARGEST_BANDED_ORDER).moments.log
        log = real_moments(self._kernel, small)
        log = np.where(small == 2, np.minimum(log, powers[2]), log)
        larger = np.arange(3.0, math.ceil(float(orders[-1])) + 1)
        nodes = np.concatenate((small, larger))
        return MomentNodes(nodes, np.concatenate((log, powers[larger.astype(int)])))

    def _distances(self) -> list[int]:
        bins = self._kernel.shape[0]
        own = ring.bandwidth(self._kernel)
        return sorted({d for d in (*SEARCH.distances, own) if d <= min(own, bins // 2)})

    def _far_apart(self, distance: int, largest: int, resolution: Resolution) -> PowerMoments:
        shape = ring.envelope(self._kernel).thinned(distance)
        common = shape.common(1)
        own = float(shape.largest[0]) - common
        if own > LARGEST_OWN:
            moments = PowerMoments(np.full(largest + 1, np.inf))
        elif not own > 0:
            moments = PowerMoments(np.zeros(largest + 1))
        else:
            pair = Profile(GaussianPair(math.sqrt(own)))
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


def reversed_moments(
    kernel: FloatArray, largest: int, products: float = MOST_PRODUCTS
) -> PowerMoments:
    """log E_Q[LR^(1-a)] at index a, for a = 0, ..., largest, from the best weights found."""
    b = kernel.shape[0]
    log = np.zeros(largest + 1)
    weights = _Weights(kernel)
    steps = int(min(SEARCH.most_steps, products / (b**2 * max(largest, 1))))
    for a in range(2, largest + 1):
        log[a] = (a - 1) * weights.best(a - 1.0, steps)
    return PowerMoments(rounded_up(log))


class _Weights:
    """Mirror descent: at the optimum log w_i = -K_ii/2 - factor (K w)_i, up to a constant.

    The weights of one factor are the start for the next. They are kept as logs, so that those which
    underflow can come back.
    """

    def __init__(self, kernel: FloatArray) -> None:
        self._kernel = kernel
        self._half = np.diagonal(kernel) / 2
        self._log = np.full(kernel.shape[0], -np.log(kernel.shape[0]))

    def best(self, factor: float, steps: int) -> float:
        """The smallest bound found for this factor."""
        pull, value = self._bound(self._log, factor)
        stride = 1.0
        for _ in range(steps):
            moved = (1 - stride) * self._log - stride * (self._half + factor * pull)
            moved -= np.logaddexp.reduce(moved)
            new_pull, new_value = self._bound(moved, factor)
            gain = value - new_value
            if gain > 0:
                self._log, pull, value = moved, new_pull, new_value
                stride = min(1.0, SEARCH.growth * stride)
                if gain < SEARCH.smallest_gain * value:
                    break
            else:
                stride /= 2
                if stride < SEARCH.smallest_stride or gain > -SEARCH.smallest_gain * value:
                    break
        return value

    def _bound(self, log: FloatArray, factor: float) -> tuple[FloatArray, float]:
        """K w and the bound, for the weights with these logs."""
        weights = np.exp(log)
        pull = self._kernel @ weights
        relative = float(weights @ (log + np.log(log.size)))
        return pull, float(weights @ self._half) + relative + factor / 2 * float(weights @ pull)
