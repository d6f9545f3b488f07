"""Tuples of replicas for balls-in-bins: balls on a ring of bins that attract each other.

A replica is a ball in one of b bins. In the terms of `simulation` a tuple of a balls with
r_i of them in bin i has the weight w = a! b^-a prod 1/r_i! e^(pairs), pairs = sum K_ii r_i (r_i -
1)/2 + sum_(i < j) K_ij r_i r_j, K the Gram matrix of the bins over s^2.

Tuples are drawn on a line: the ring is cut before a bin c that is drawn uniformly, and pairs across
the cut do not count. With u_c the weight on that line, in which K_ij is at most the largest entry
at its distance, and Z the total of u_c, which is the same for all cuts, a tuple is drawn with
probability a! b^-a sum_c u_c / (b Z'), Z' = a! b^-a Z; its weight is b Z' w / sum_c u_c.

Bound. Let p be the number of bands on the ring. u_c >= w e^-(pairs across c), and

- if b > a (p - 1), at least b - (a - 1)(p - 1) cuts have no pairs across them: a cut with a pair
  across it lies between two neighbouring occupied bins less than p apart. Not all of the at most a
  distances of neighbours are that small, so the small ones cover (a - 1)(p - 1) cuts at most;
- over all cuts the mean of the pairs across is at most a (a - 1)/2 max_d(d K_d)/b, since a pair at
  distance d lies across d cuts, so that by Jensen's inequality sum_c u_c >= b w e^-(that).

So sum_c u_c >= k w with k the larger of the two, and no weight exceeds b Z'/k. If bands reach
more than half around the ring, pairs across the cut do count, by their distance on the ring; then
u_c >= w for every cut, and k = b.

The state of a line is how many balls lie in which of the last p - 1 bins, or of all. Where that is
too much, bins are put together into slots, from which a ball is attracted as from the one in it
that attracts most: u_c is larger then, and nothing else changes.

Rounding: all terms are positive; sums of fewer than 1e6 of them and exponents below 700 lose less
than 1e-9 relatively, and `SLACK` is added to the logarithm of every weight, twice to the bound.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from hockeystick._numerics.law import FloatArray
from hockeystick.schemes.mixtures import UniformMixture
from hockeystick.schemes.simulation import Replicas, TupleDraws, TupleSource
from hockeystick.schemes.simulation.columns import Trajectories
from hockeystick.schemes.simulation.replica_states import LineSlots, slots_of_line, ways_to_choose
from hockeystick.strategies import Strategy

__all__ = ["BinTupleSource", "BinTuples"]

IntArray = NDArray[np.int64]

# What the logarithm of a weight may lose, ten times (see above).
SLACK = 1e-8
# Numbers in the tables of a programme: 8 megabytes, less than a tenth of a second.
MOST_NUMBERS = 2**20
# Of one that is worth a second.
FINE_NUMBERS = 2**23
# More bins have a Gram matrix that a draw cannot afford.
MOST_BINS = 2_000
# Exponents of weights and values that floating point holds.
LARGEST_EXPONENT = 600.0


@dataclass(frozen=True)
class BinTupleSource(TupleSource):
    """The programmes of balls-in-bins in which every bin takes part."""

    strategy: Strategy
    bins: int

    def replicas(
        self, order: int, noise_multiplier: float, *, fine: bool = False
    ) -> Replicas | None:
        """With as many slots as the tables allow, or as there are bands."""
        bands, most_numbers = _bands(self), FINE_NUMBERS if fine else MOST_NUMBERS
        if self.bins > MOST_BINS:
            return None
        for slots in range(bands - 1, -1, -1):
            if self.bins * math.comb(order + slots + 1, slots + 1) <= most_numbers:
                enough = slots >= min(bands - 1, 1)
                return Replicas(order, slots, noise_multiplier) if enough else None
        return None

    def programme(self, replicas: Replicas) -> BinTuples | None:
        """With its tables."""
        return _programme(self, replicas)


@dataclass(frozen=True, eq=False)
class BinTuples:
    """Draws of tuples; log_total is log of b Z', and `log_cuts` that of k."""

    replicas: Replicas
    gram: FloatArray
    own: float
    together: FloatArray
    line: LineSlots
    starts: IntArray
    ways: IntArray
    values: FloatArray
    log_total: float
    log_cuts: float

    @property
    def log_largest(self) -> float:
        """log of a bound on the weights, which are rounded themselves."""
        return self.log_total - self.log_cuts + 2 * SLACK

    def draw(self, draws: int, rng: np.random.Generator) -> TupleDraws:
        """Bin by bin along a line, then the weight from all lines."""
        from hockeystick.schemes.balls_in_bins.tuple_kernels import draw_balls, log_weights_of

        order = self.replicas.order
        where = np.zeros((draws, order), dtype=np.int64)
        times, number = np.zeros_like(where), np.zeros(draws, dtype=np.int64)
        sizes, moves, pulls, attraction = self.line
        balls = (order, sizes, moves, pulls, self.together, self.ways, self.starts, self.values)
        draw_balls(rng, *balls, where, times, number)
        attractions, logs = np.empty(draws), np.empty(draws)
        log_weights_of(where, times, number, attraction, self.gram, self.own, attractions, logs)
        trajectories = Trajectories(where, times, number)
        return TupleDraws(trajectories, logs + (self.log_total + SLACK), attractions)


@lru_cache(maxsize=8)
def _gram(source: BinTupleSource) -> FloatArray:
    """Inner products of the means of the bins, at noise 1."""
    return UniformMixture(source.strategy, source.bins).kernel


@lru_cache(maxsize=8)
def _envelope(source: BinTupleSource) -> FloatArray:
    """The largest entry at each distance on the ring, up to half of it."""
    gram, bins = _gram(source), source.bins
    at = np.arange(bins)
    return np.array([gram[at, (at + d) % bins].max() for d in range(bins // 2 + 1)])


def _bands(source: BinTupleSource) -> int:
    """One more than the largest distance at which bins attract each other."""
    return int(np.flatnonzero(_envelope(source))[-1]) + 1


def _reaches_around(source: BinTupleSource) -> bool:
    """Whether bins attract each other both ways around the ring."""
    return 2 * _bands(source) > source.bins + 1


@lru_cache(maxsize=64)
def _line(source: BinTupleSource, slots: int) -> LineSlots:
    """At noise 1: attractions at other noises are in proportion."""
    envelope, bands = np.zeros(source.bins), _bands(source)
    if _reaches_around(source):
        d = np.arange(1, source.bins)
        envelope[1:] = _envelope(source)[np.minimum(d, source.bins - d)]
    else:
        envelope[1:bands] = _envelope(source)[1:bands]
    return slots_of_line(envelope, slots)


@lru_cache(maxsize=24)
def _programme(source: BinTupleSource, replicas: Replicas) -> BinTuples | None:
    """The tables; None if they are beyond floating point."""
    from hockeystick.schemes.balls_in_bins.tuple_kernels import fill_values

    order, slots, noise = replicas
    bins, bands = source.bins, _bands(source)
    with np.errstate(all="ignore"):
        envelope = _envelope(source) / noise / noise
    own, pairs = float(envelope[0]), order * (order - 1) / 2
    # No entry of a Gram matrix exceeds its largest diagonal one.
    if not own * pairs <= LARGEST_EXPONENT:
        return None
    sizes, moves, pulls, attraction = _line(source, slots)
    line = LineSlots(sizes, moves, pulls / noise / noise, attraction / noise / noise)
    ways = ways_to_choose(order + slots + 2)
    counts = [int(ways[order + size + 1, size + 1]) for size in sizes]
    starts = np.concatenate(([0], np.cumsum(counts))).astype(np.int64)
    values = np.empty(starts[-1])
    k = np.arange(order + 1)
    factorials = np.cumprod(np.maximum(k, 1.0))
    together = np.exp(own * (k * (k - 1) / 2)) / factorials
    fill_values(order, sizes, moves, line.pulls, together, ways, starts, values)
    # Before the first bin there are no slots: the state is the number of balls that are left.
    total = float(values[order])
    if not 0 < total < math.inf or not np.isfinite(values).all():
        return None
    log_total = math.lgamma(order + 1.0) - (order - 1) * math.log(bins) + math.log(total)
    mean = pairs * float((np.arange(bands) * envelope[:bands]).max()) / bins
    log_cuts = math.log(bins) - (0.0 if _reaches_around(source) else mean)
    if bins > order * (bands - 1):
        log_cuts = max(log_cuts, math.log(bins - (order - 1) * (bands - 1)))
    gram = _gram(source) / noise / noise
    tables = (together, line, starts, ways, values)
    return BinTuples(replicas, gram, own, *tables, log_total, log_cuts)
