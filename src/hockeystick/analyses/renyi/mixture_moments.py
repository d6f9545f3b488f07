"""Moments of a uniform Gaussian mixture under a budget: the best of several bounds, by order.

Every bound is valid for every order that it covers, so each order takes the smallest.

- Orders 2 and 3 are sums over pairs and triples of bins: exact for every matrix, O(b^3)
  [SchuchardtKalinin26, Lemma 3.2].
- The exact dynamic programme, as far as the budget goes.
- The largest entries at each distance on the ring, truncated to p bands, what is outside charged as
  a part common to all bins: K <= K^(p) + tau 11^T entry by entry [SchuchardtKalinin26, Algorithm
  1, Lemma 3.3]. Wider bands reach lower orders.
- The same for every s-th bin. Take q = floor(b / s) bins, at least s apart on the ring. LR is the
  average over all rotations of the average over such a set, and x^a is convex, so the moment of LR
  is at most the largest moment of one set: fewer bins, but a narrower band.
- Beyond `longest_ring` bins: groups with p - 1 bins between them, which are left out. All rotations
  are equally likely, as above; groups have nothing in common, and LR is the average of independent
  copies of one, or of a ring of as many bins, whose entries are larger.

One band covers every order. No matrix is needed but for what is exact: bounds on the entries by
distance are enough.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from hockeystick._numerics.law import FloatArray
from hockeystick._numerics.moments import PowerMoments, allocated_moments, rounded_up
from hockeystick.analyses.renyi import ring
from hockeystick.analyses.renyi.ring import Envelope

__all__ = [
    "DEFAULT_BUDGET",
    "LARGEST_BANDED_ORDER",
    "BandedMoments",
    "Kept",
    "best_of",
    "mixture_moments",
    "real_moments",
]

# Products of weights; ten million take about a tenth of a second.
DEFAULT_BUDGET = 1e8
# Larger orders are left to one band, which costs O(order^2) whatever the matrix.
LARGEST_BANDED_ORDER = 256


@dataclass(frozen=True)
class MixtureSearch:
    """Which bounds are tried, and what they may cost; each of them is valid.

    Attributes
    ----------
    exact_share, own_share
        Of the budget, for the exact programme and for all bands of equal bins.
    bands
        Bandwidths that are tried, as far as the matrix has them: about a factor of the square root
        of two apart.
    few_bands
        Bandwidths that are tried for every s-th bin: it has few of them.
    spacings
        The s that are tried.
    most_lengths
        More different diagonal entries than these are rounded up: each costs O(order^2).
    triples
        Triples of bins that are summed, in units of the budget: a product of matrices is fast.
    longest_ring
        More bins than these, about, fall into groups.
    """

    exact_share: float = 0.2
    own_share: float = 0.5
    bands: tuple[int, ...] = (1, 2, 3, 4, 5, 6, 8, 11, 16, 23, 32, 45, 64, 91, 128)
    few_bands: int = 4
    spacings: tuple[int, ...] = (2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64)
    most_lengths: int = 32
    triples: float = 100.0
    longest_ring: int = 4_000


SEARCH = MixtureSearch()


class Kept(NamedTuple):
    """What a bound keeps of the matrix: `bands` of every `spacing`-th bin, or all of it."""

    bands: int
    spacing: int = 1
    exact: bool = False


class BandedMoments(NamedTuple):
    """Moments, and for each order what was kept."""

    moments: PowerMoments
    kept: tuple[Kept, ...]


def mixture_moments(
    kernel: FloatArray, largest: int, budget: float = DEFAULT_BUDGET
) -> BandedMoments:
    """Upper bounds on log E_Q[LR^a] for a up to `largest`; see ring.py for `kernel`.

    In the place of the matrix, bounds on its entries by distance will do.
    """
    shape = ring.envelope(kernel)
    own, whole = shape.bandwidth, kernel.ndim == 2
    best = _Best(largest)
    if own == 1:
        diagonal = np.diagonal(kernel) if whole else np.full(shape.bins, shape.largest[0])
        few = np.unique(diagonal).size <= SEARCH.most_lengths
        moments = ring.independent_moments(diagonal if few else _rounded_up(diagonal), largest)
        best.offer(moments, Kept(1, exact=few))
        return best.result()
    left = budget
    if whole:
        left -= _offer_exact(best, kernel, own, budget)
    else:
        best.offer(_second_order(shape), Kept(own))
    # All bands of all bins first; what that leaves is shared by the others.
    order = _reach(shape, own, SEARCH.own_share * budget, largest)
    if order > 0:
        best.offer(_truncated(shape, own, order), Kept(own))
        left -= ring.ring_cost(_group(shape, own)[0], own, order)
    others = list(_choices(own, shape.bins))
    share = left / max(1, sum(choice.bands > 1 for choice in others))
    for choice in others:
        thinned = shape.thinned(choice.spacing)
        order = _reach(thinned, choice.bands, share, largest)
        if order > 0:
            best.offer(_truncated(thinned, choice.bands, order), choice)
    return best.result()


def _offer_exact(best: _Best, kernel: FloatArray, own: int, budget: float) -> float:
    """What is exact for the matrix, and what of the budget that took."""
    cyclic = ring.is_cyclic(kernel, own)
    order = _affordable(
        lambda a: ring.exact_cost(kernel.shape[0], own, a, cyclic=cyclic),
        SEARCH.exact_share * budget,
        min(best.largest, LARGEST_BANDED_ORDER),
    )
    if order >= 4:
        best.offer(ring.exact_moments(kernel, own, order), Kept(own, exact=True))
    best.offer(_small_orders(kernel, budget), Kept(own, exact=True))
    return SEARCH.exact_share * budget if order >= 4 else 0.0


def best_of(*bounds: BandedMoments) -> BandedMoments:
    """The smallest bound for each order; the longest decides how many orders there are."""
    best = _Best(max(bound.moments.log.size for bound in bounds) - 1)
    for bound in bounds:
        for order, (log, kept) in enumerate(zip(bound.moments.log, bound.kept, strict=True)):
            best.take(order, float(log), kept)
    return best.result()


class _Best:
    """The smallest bound for each order, and where it came from."""

    def __init__(self, largest: int) -> None:
        self.largest = largest
        self._log = np.full(largest + 1, np.inf)
        self._kept = [Kept(1)] * (largest + 1)

    def offer(self, moments: PowerMoments, kept: Kept) -> None:
        """Take what is better; what is exact is taken whatever floating point makes of it."""
        for order, log in enumerate(moments.log[: self._log.size].tolist()):
            self.take(order, log, kept)

    def take(self, order: int, log: float, kept: Kept) -> None:
        """The same for one order."""
        if self._kept[order].exact:
            return
        if log < self._log[order] or kept.exact:
            self._log[order], self._kept[order] = log, kept

    def result(self) -> BandedMoments:
        """What was taken."""
        return BandedMoments(PowerMoments(self._log), tuple(self._kept))


def _choices(own: int, bins: int) -> Iterator[Kept]:
    """Fewer bands of all bins, and a few bands of every s-th bin, the last of which keep all."""
    for p in SEARCH.bands:
        if p < own:
            yield Kept(p)
    for spacing in (*(s for s in SEARCH.spacings if s < own), own):
        if bins // spacing >= 2:
            needed = -(-own // spacing)
            yield from (Kept(p, spacing) for p in range(1, min(needed, SEARCH.few_bands) + 1))


def _reach(shape: Envelope, bands: int, budget: float, largest: int) -> int:
    """The largest order that is affordable and at which no cluster reaches around the ring.

    0 if a group is not longer than its bands: then nothing is known this way.
    """
    if bands == 1:
        return largest
    bins = _group(shape, bands)[0]
    limit = min(largest, LARGEST_BANDED_ORDER, (bins - 1) // (bands - 1))
    return 0 if limit < 1 else _affordable(lambda a: ring.ring_cost(bins, bands, a), budget, limit)


def _group(shape: Envelope, bands: int) -> tuple[int, int]:
    """The bins of a group, and how many groups there are; a single one is the ring."""
    copies = -(-shape.bins // SEARCH.longest_ring)
    if copies == 1 or bands == 1:
        return shape.bins, 1
    return max(shape.bins // copies - (bands - 1), 1), copies


def _affordable(cost: Callable[[int], float], budget: float, limit: int) -> int:
    """The largest order up to `limit` whose cost is within the budget; 1 if there is none."""
    order = 1
    while order < limit and cost(order + 1) <= budget:
        order += 1
    return order


def _truncated(shape: Envelope, bands: int, largest: int) -> PowerMoments:
    inside = shape.truncated(bands)
    if bands == 1:
        alone = ring.independent_moments(inside[:1], largest)
        moments = allocated_moments(alone, shape.bins) if shape.bins > 1 else alone
    else:
        bins, copies = _group(shape, bands)
        moments = ring.ring_moments(float(inside[0]), inside[1:], bins, largest)
        moments = allocated_moments(moments, copies) if copies > 1 else moments
    return ring.with_common_part(moments, shape.common(bands))


def _small_orders(kernel: FloatArray, budget: float) -> PowerMoments:
    """E[LR^2] is the mean of e^K_ij, E[LR^3] that of e^(K_ij + K_jk + K_ik)."""
    b = kernel.shape[0]
    top = float(kernel.max())
    scaled = np.exp(kernel - top)
    log = [0.0, 0.0, top + np.log(scaled.mean())]
    if b**3 <= SEARCH.triples * budget:
        log.append(3 * top + np.log(float((scaled * (scaled @ scaled)).sum())) - 3 * np.log(b))
    return PowerMoments(rounded_up(np.array(log) + ring.rounding(np.array(log), b)))


def _second_order(shape: Envelope) -> PowerMoments:
    """E[LR^2] is at most the mean of e^K by distance on the ring."""
    top = float(shape.largest.max())
    mean = float(shape.counts @ np.exp(shape.largest - top)) / shape.bins
    log = np.array([0.0, 0.0, top + np.log(mean)])
    return PowerMoments(rounded_up(log + ring.rounding(log, shape.bins)))


def real_moments(kernel: FloatArray, orders: FloatArray) -> FloatArray:
    """log E_Q[LR^a] at orders a from 1 to 2, at most.

    E_Q[LR^a] is the mean over i of E_(P_i)[LR^t], t = a - 1 <= 1. For LR = L_i / b + R, at most
    (L_i / b)^t + R^t, E[L_i^t] = e^(a t K_ii / 2) and E[R^t] <= (E R)^t, E R the mean over
    the other bins of e^K_ij; or E[LR^t] <= (E LR)^t at once, whichever is smaller.
    """
    shape, b = ring.envelope(kernel), kernel.shape[0]
    if kernel.ndim == 2:
        diagonal = np.diagonal(kernel).copy()
        top = float(kernel.max())
        others = np.exp(kernel - top)
        np.fill_diagonal(others, 0.0)
        rest = others.sum(axis=1)
    else:
        diagonal, top = shape.largest[:1], float(shape.largest.max())
        rest = shape.counts[1:] @ np.exp(shape.largest[1:] - top)[:, None]
    result = np.zeros(orders.size)
    with np.errstate(divide="ignore"):
        apart = top + np.log(rest) - math.log(b)
    together = np.logaddexp(apart, diagonal - math.log(b))
    for i, a in enumerate(orders.tolist()):
        t = a - 1
        if t > 0:
            alone = a * t * diagonal / 2 - t * math.log(b)
            each = np.minimum(np.logaddexp(alone, t * apart), t * together)
            result[i] = np.logaddexp.reduce(each) - math.log(each.size)
    allowance = 4 * np.finfo(float).eps * (b + 8) * (np.abs(result) + 1)
    return np.where(orders > 1, np.maximum(result, 0.0) + allowance, 0.0)


def _rounded_up(diagonal: FloatArray) -> FloatArray:
    """As many different entries as are affordable."""
    grid = np.linspace(diagonal.min(), diagonal.max(), SEARCH.most_lengths)
    grid[-1] = diagonal.max()
    rounded: FloatArray = grid[np.searchsorted(grid, diagonal)]
    return rounded
