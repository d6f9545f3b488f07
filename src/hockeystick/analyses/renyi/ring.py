"""Moments of the likelihood ratio of a uniform Gaussian mixture, from its Gram matrix.

For P the average of N(m_i, s^2 I) over b bins and Q = N(0, s^2 I), with K = Gram(m) / s^2,

    E_Q[LR^a] = a! b^-a sum_(r_1 + ... + r_b = a) prod_i e^(K_ii r_i (r_i - 1)/2) / r_i!
                                                  * prod_(i<j) e^(K_ij r_i r_j):

a particles in b bins that attract each other [SchuchardtKalinin26, Lemma 3.2]. Every term grows
with every entry of K, so a matrix with larger entries gives an upper bound. A matrix is p-banded
here if K_ij = 0 for all bins whose distance on the ring is p or more. Three ways to the sum,
each for all orders in one pass:

- `exact_moments`: any p-banded K [SchuchardtKalinin26, Algorithm 1, with the errata]. On a line the
  counts of p - 1 bins are state enough. On a ring the counts of the first p - 1 bins are fixed, one
  choice after the other; their attraction is then a field on the other bins, which form a line
  however short the ring is.
- `ring_moments`: K depends on the distance only. Particles form clusters, which runs of p - 1 empty
  bins separate; clusters do not interact. Their weights come from one pass over a line, and their
  arrangements on the ring from a renewal equation. Exact while a (p - 1) < b, where no cluster can
  reach around the ring.
- `independent_moments`: p = 1, any order, O(a^2) for each different diagonal entry.
"""

from __future__ import annotations

import math
from functools import partial
from types import ModuleType
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hockeystick._numerics.law import FloatArray
from hockeystick._numerics.moments import PowerMoments, allocated_moments, mixed_moments, rounded_up
from hockeystick._numerics.threads import in_threads

__all__ = [
    "Envelope",
    "bandwidth",
    "envelope",
    "exact_cost",
    "exact_moments",
    "independent_moments",
    "is_cyclic",
    "ring_cost",
    "ring_moments",
    "rounding",
    "with_common_part",
]

IntArray = NDArray[np.int64]

# Pieces of a programme, for as many cores as there are.
PARTS = 16


class Envelope(NamedTuple):
    """The largest entry at each distance on the ring, d = 0, ..., floor(b / 2)."""

    largest: FloatArray
    bins: int

    def common(self, bands: int) -> float:
        """The largest entry outside the band: what all pairs share in the truncated matrix."""
        return float(self.largest[bands:].max(initial=0.0))

    def truncated(self, bands: int) -> FloatArray:
        """The entries inside the band, less what all pairs share."""
        inside = np.zeros(bands)
        known = self.largest[:bands]
        inside[: known.size] = np.maximum(known - self.common(bands), 0.0)
        return inside

    def thinned(self, spacing: int) -> Envelope:
        """Of floor(bins / spacing) bins that are at least `spacing` apart on the ring."""
        if spacing == 1:
            return self
        bins = self.bins // spacing
        further = np.maximum.accumulate(self.largest[::-1])[::-1]
        largest = np.append(self.largest[0], further[spacing::spacing])
        return Envelope(largest[: bins // 2 + 1], bins)

    @property
    def bandwidth(self) -> int:
        """The smallest p for which the matrix is p-banded on the ring."""
        return int(np.flatnonzero(self.largest)[-1]) + 1 if self.largest.any() else 1

    @property
    def counts(self) -> FloatArray:
        """How many bins are at each distance from one of them."""
        d = np.arange(self.largest.size)
        return np.where((d == 0) | (2 * d == self.bins), 1.0, 2.0)


def envelope(kernel: FloatArray) -> Envelope:
    """The largest entries of a symmetric matrix along its cyclic diagonals.

    In the place of the matrix, bounds on its entries by the distance of bins on the line will do.
    """
    b = kernel.shape[0]
    lags = kernel
    if kernel.ndim == 2:
        lags = np.array([np.diagonal(kernel, d).max() for d in range(b)])
    lags = np.maximum(lags, 0.0)
    largest = lags[: b // 2 + 1].copy()
    around = lags[: (b - 1) // 2 : -1]
    largest[1 : around.size + 1] = np.maximum(largest[1 : around.size + 1], around)
    return Envelope(largest, b)


def bandwidth(kernel: FloatArray) -> int:
    """The smallest p for which the matrix is p-banded on the ring."""
    return envelope(kernel).bandwidth


def with_common_part(moments: PowerMoments, common: float) -> PowerMoments:
    """Moments for K + common 11^T: E[LR^a] grows by e^(common a (a - 1)/2)."""
    a = np.arange(moments.log.size)
    return PowerMoments(rounded_up(moments.log + common * a * (a - 1) / 2), moments.apart)


def independent_moments(diagonal: FloatArray, largest: int) -> PowerMoments:
    """p = 1: averages of independent likelihood ratios, those of equal size together."""
    m = np.arange(largest + 1.0)
    values, counts = np.unique(diagonal, return_counts=True)
    result, have = None, 0
    for value, count in zip(values.tolist(), counts.tolist(), strict=True):
        part = allocated_moments(PowerMoments(rounded_up(m * (m - 1) * value / 2)), count)
        result = part if result is None else mixed_moments(result, part, have / (have + count))
        have += count
    assert result is not None
    return result


def exact_cost(bins: int, bands: int, order: int, *, cyclic: bool) -> float:
    """How many products of weights `exact_moments` takes."""
    return bins * float(math.comb(order + (2 * bands if cyclic else bands + 1), order))


def exact_moments(kernel: FloatArray, bands: int, largest: int) -> PowerMoments:
    """Moments up to the order `largest` for a matrix that is `bands`-banded on the ring."""
    if bands == 1:
        return independent_moments(np.diagonal(kernel), largest)
    b = kernel.shape[0]
    fixed = bands - 1 if is_cyclic(kernel, bands) else 0  # cyclic only if bands < b
    prefixes = _compositions(fixed, largest)
    rest = kernel[fixed:, fixed:]
    ways = _binomials(largest + bands, bands)
    pulls = np.zeros((b - fixed, bands - 1))
    for d in range(1, min(bands, b - fixed)):
        pulls[d:, d - 1] = np.diagonal(rest, d)
    left = largest - prefixes.sum(axis=1)
    fields = prefixes @ kernel[:fixed, fixed:]
    diagonal = np.ascontiguousarray(np.diagonal(rest))
    lines = _lines(diagonal, pulls, fields, left, ways)
    total = np.full(largest + 1, -np.inf)
    own = _prefix_weights(prefixes, kernel[:fixed, :fixed])
    for weight, used, line in zip(own, prefixes.sum(axis=1).tolist(), lines, strict=True):
        end = largest + 1 - used
        total[used:] = np.logaddexp(total[used:], weight + line[:end])
    return _normalised(total, b)


def _lines(
    diagonal: FloatArray, pulls: FloatArray, fields: FloatArray, left: IntArray, ways: IntArray
) -> FloatArray:
    """`line_weights` for all fields, shared by the cores: every part takes every so-many-th row."""
    largest = int(left.max())
    parts = min(PARTS, left.size)
    result = np.empty((left.size, largest + 1))
    # Copies: arrays of one kind, so that the kernel is compiled once.
    own = diagonal.copy()

    def compute(part: int) -> None:
        rows = slice(part, None, parts)
        result[rows] = _kernels().line_weights(
            own, pulls, fields[rows].copy(), left[rows].copy(), ways, largest
        )

    in_threads(partial(compute, part) for part in range(parts))
    return result


def is_cyclic(kernel: FloatArray, bands: int) -> bool:
    """Whether bins at the two ends of the matrix interact, so that it is a ring and not a line."""
    b = kernel.shape[0]
    return any(np.diagonal(kernel, d).any() for d in range(min(bands, b), b))


def ring_cost(bins: int, bands: int, order: int) -> float:
    """How many products of weights `ring_moments` takes."""
    longest = min(bins, 1 + (order - 1) * (bands - 1))
    clusters = longest * float(math.comb(order + bands + 1, order))
    return clusters + bins * longest * order**2 / 2


def ring_moments(diagonal: float, pull: FloatArray, bins: int, largest: int) -> PowerMoments:
    """Moments for K_ij = pull[d - 1] at distance d, `diagonal` at distance 0.

    With w_(L,a) the weight of clusters of L bins and a particles, and V_(n,m) that of m particles
    in n bins whose clusters are each followed by p - 1 empty bins, the weight of m particles on the
    ring is (b/m) sum a w_(L,a) V_(b-L-p+1, m-a): each configuration is counted once for each of its
    particles, by the cluster it is in, in each of b positions.
    """
    p = pull.size + 1
    assert largest * (p - 1) < bins
    longest = min(bins, 1 + (largest - 1) * (p - 1))
    ways = _binomials(largest + p, p)
    clusters = _kernels().cluster_weights(diagonal, pull, ways, largest, longest)
    rest = _kernels().renewal(clusters, p - 1, bins)
    total = np.full(largest + 1, -np.inf)
    total[0] = 0.0
    lengths = np.arange(1, min(longest, bins - p + 1) + 1)
    for m in range(1, largest + 1):
        a = np.arange(1, m + 1)
        terms = clusters[lengths][:, a] + np.log(a) + rest[bins - lengths - p + 1][:, m - a]
        total[m] = math.log(bins / m) + np.logaddexp.reduce(terms, axis=None)
    return _normalised(total, bins)


def _normalised(log_weights: FloatArray, bins: int) -> PowerMoments:
    """a! b^-a times the weight, as logs that are rounded up."""
    a = np.arange(log_weights.size)
    factorial = np.concatenate(([0.0], np.cumsum(np.log(a[1:] / bins))))
    log = log_weights + factorial + rounding(log_weights, bins)
    return PowerMoments(rounded_up(np.maximum(log, 0.0)))


def rounding(log_weights: FloatArray, bins: int) -> FloatArray:
    """What floating point may lose in sums over bins: a few units in the last place for each bin.

    Logs of weights are large where the moments are close to 1, so this is an absolute allowance.
    """
    allowance: FloatArray = 4 * np.finfo(float).eps * (bins + 8) * (np.abs(log_weights) + 1)
    allowance[:2] = 0.0
    return allowance


def _prefix_weights(prefixes: IntArray, kernel: FloatArray) -> FloatArray:
    """log of prod e^(K_ii r (r-1)/2) / r! prod e^(K_ij r_i r_j) for each row of counts."""
    most = int(prefixes.max(initial=0))
    factorial = np.concatenate(([0.0], np.cumsum(np.log(np.arange(1, most + 1)))))
    square = np.einsum("li,ij,lj->l", prefixes, kernel, prefixes)
    weights: FloatArray = (square - prefixes @ np.diagonal(kernel)) / 2
    weights -= factorial[prefixes].sum(axis=1)
    return weights


def _compositions(parts: int, most: int) -> IntArray:
    """All rows of `parts` counts whose sum is at most `most`."""
    rows = np.zeros((1, 0), dtype=np.int64)
    for _ in range(parts):
        left = most - rows.sum(axis=1)
        repeated = np.repeat(np.arange(rows.shape[0]), left + 1)
        ends = np.cumsum(left + 1)
        new = np.arange(ends[-1]) - np.repeat(ends - left - 1, left + 1)
        rows = np.column_stack((rows[repeated], new))
    return rows


def _binomials(largest: int, most: int) -> IntArray:
    """C(n, i) for n <= largest and i <= most; those beyond 64 bits are never needed: 0."""
    table = np.zeros((largest + 1, most + 1), dtype=np.int64)
    for n in range(largest + 1):
        for i in range(min(n, most) + 1):
            value = math.comb(n, i)
            table[n, i] = value if value < 2**62 else 0
    return table


def _kernels() -> ModuleType:
    from hockeystick.analyses.renyi import ring_kernels

    return ring_kernels
