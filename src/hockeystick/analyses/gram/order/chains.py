"""Gram matrices of Gaussian Markov chains: on a line, on a ring, and between mirrors.

The kernel of a chain is the inverse of kappa I + L, L the Laplacian of the graph of neighbouring
bins and kappa = (1 - rho)^2 / rho, times (1 - rho^2) / rho: rho^|i-j| on an endless line,
`ring_kernel` on a ring, `mirrored_kernel` on a path. Without one of its edges L is smaller in the
Loewner order, so the inverse is larger: a ring or a line that is cut into paths is dominated by
them. 1 is an eigenvector of all these matrices, with the eigenvalue kappa: a cut leaves the sum of
all entries as it is (docs/gram.md, "Mirrors").
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from hockeystick._numerics.law import FloatArray

__all__ = [
    "Chain",
    "ChainMixture",
    "line",
    "mirrored",
    "mirrored_kernel",
    "pinned_ring",
    "ring_kernel",
]

# A chain that is closer to standing still has transitions without variance in floating point:
# 1 - rho^2 keeps ten digits.
LARGEST_CORRELATION = 1 - 1e-6
# What mirrors add to a variance is at least this, relatively: nobody notices it in epsilon, and
# most transitions are alike.
FAR_FROM_MIRRORS = 1e-5


class Chain(NamedTuple):
    """B_1 ~ N(0, variance_1), B_(i+1) = pull_i B_i + N(0, fresh_i); pulls are from 0 to 1.

    `start[i]` is the factor with which the first state of a ring enters at i: 0 on a line. A state
    with its start has the variance variance_i + start_i^2.
    """

    variance: FloatArray
    pull: FloatArray
    fresh: FloatArray
    start: FloatArray


def line(rho: float, bins: int) -> Chain:
    """The chain with correlation rho^d at distance d."""
    ones = np.ones(bins)
    return Chain(ones, rho * ones[1:], (1 - rho * rho) * ones[1:], 0 * ones)


def ring_kernel(rho: float, bins: int) -> FloatArray:
    """By distance: the sum of rho^|d + n bins| over all n, (rho^d + rho^(bins-d)) / (1 - rho^bins).

    It is rho^d for rho^bins = 0. Bins of a larger ring that are numbered anew, without those left
    out, come closer to each other, and so does every copy: the kernel of the smaller ring is larger
    entry by entry.
    """
    d = np.arange(bins, dtype=np.float64)
    result: FloatArray = (np.power(rho, d) + np.power(rho, bins - d)) / (1 - rho**bins)
    return result


def pinned_ring(rho: float, bins: int) -> Chain:
    """The periodic chain X less its regression on X_1: X_i = start_i X_1 + B_i, with B_1 = 0.

    Given X_1 the ring is cut open: B is a Markov chain that comes back towards 0 at the end.
    """
    kernel = ring_kernel(rho, bins)
    r = kernel / kernel[0]
    variance = (1 - r) * (1 + r)
    neighbours = r[1] - r[:-1] * r[1:]
    pull = np.zeros(bins - 1)
    np.divide(neighbours, variance[:-1], out=pull, where=variance[:-1] > 0)
    pull = np.clip(pull, 0.0, 1.0)
    fresh = np.maximum(variance[1:] - pull * pull * variance[:-1], 0.0)
    return Chain(variance, pull, fresh, r)


def mirrored_kernel(rho: float, bins: int) -> FloatArray:
    """(1 + rho^(2i-1)) (1 + rho^(2b+1-2j)) rho^(j-i) / (1 - rho^(2b)) for i <= j, or a little more.

    That of a path of b bins, raised a little far from its ends (`_sides`).
    """
    near, far = _sides(rho, bins)
    i = np.arange(bins)
    low, high = np.minimum(i[:, None], i), np.maximum(i[:, None], i)
    steps = np.power(rho, (high - low).astype(np.float64))
    result: FloatArray = near[low] * far[high] * steps / (1 - rho ** (2 * bins))
    return result


def mirrored(rho: float, bins: int, beside: int = 0) -> Chain:
    """The chain on a path, without the `beside` bins next to either end.

    For i <= j its kernel is a product of a function of i and one of j, hence the chain is Markov,
    and so is every part of it.
    """
    whole = bins + 2 * beside
    near, far = _sides(rho, whole)
    kept = slice(beside, beside + bins)
    variance = (near * far / (1 - rho ** (2 * whole)))[kept]
    pull = np.clip(rho * far[kept][1:] / far[kept][:-1], 0.0, 1.0)
    fresh = np.maximum(variance[1:] - pull * pull * variance[:-1], 0.0)
    return Chain(variance, pull, fresh, np.zeros(bins))


def _sides(rho: float, bins: int) -> tuple[FloatArray, FloatArray]:
    """1 + rho^(2i-1) and 1 + rho^(2b+1-2j): what the mirrors add, as seen from bins i and j.

    Powers below FAR_FROM_MIRRORS are raised to it, so that bins far from mirrors have the same
    transitions: a kernel that is larger entry by entry, and Markov as before.
    """
    i = np.arange(1.0, bins + 1)
    near = 1 + np.maximum(np.power(rho, 2 * i - 1), FAR_FROM_MIRRORS)
    return near, near[::-1]


@dataclass(frozen=True, eq=False)
class ChainMixture:
    """Gram matrix `common` + A_i A_j (`chain` k_ij + `own` [i = j]), already over sigma^2.

    k_ij is rho^|i-j|; with `beside`, the kernel between two mirrors that lie so many bins beyond
    the first and the last one; on a `ring`, `ring_kernel` over its first entry. The amplitudes A
    are between 0 and 1.
    """

    common: float
    chain: float
    own: float
    rho: float
    amplitudes: FloatArray
    beside: int | None = None
    ring: bool = False

    def __post_init__(self) -> None:
        inside = bool(np.all((self.amplitudes >= 0) & (self.amplitudes <= 1)))
        if not (0 <= self.rho <= LARGEST_CORRELATION and inside):
            raise ValueError("Correlations are below 1, and amplitudes are between 0 and 1.")

    @property
    def bins(self) -> int:
        """The number of terms that are averaged."""
        return self.amplitudes.size

    @property
    def closes(self) -> bool:
        """Whether the last term depends on the first state."""
        return self.ring and self.bins > 1 and self.chain > 0

    @property
    def signal(self) -> float:
        """The largest variance of a term with amplitude 1, without the common part."""
        return self.shift**2 + self.own

    @property
    def shift(self) -> float:
        """By how many standard deviations a state may move if the example is present."""
        if self.beside is None:
            return math.sqrt(self.chain)
        highest = float(self.chain_of_states().variance[[0, -1]].max())
        return math.sqrt(self.chain * highest)

    @property
    def shared(self) -> FloatArray:
        """The covariance of the states by distance, away from mirrors."""
        d = np.arange(self.bins, dtype=np.float64)
        result: FloatArray = self.chain * np.power(self.rho, d)
        return result

    @property
    def memory(self) -> dict[str, object]:
        """The correlation from bin to bin, for a report."""
        return {"correlation": self.rho}

    @property
    def exponents(self) -> FloatArray:
        """The largest amplitude of each bin and the later ones: no term grows faster in a state."""
        result: FloatArray = np.maximum.accumulate(self.amplitudes[::-1])[::-1]
        return result

    def chain_of_states(self) -> Chain:
        """The chain as a recursion, for a variance of 1; a ring is cut open at its first state."""
        if self.beside is None:
            return (pinned_ring if self.closes else line)(self.rho, self.bins)
        return mirrored(self.rho, self.bins, self.beside)

    def gram(self) -> FloatArray:
        """The Gram matrix."""
        i = np.arange(self.bins)
        inner = self.shared[np.abs(i[:, None] - i)]
        if self.beside is not None:
            kept = slice(self.beside, self.beside + self.bins)
            inner = self.chain * mirrored_kernel(self.rho, self.bins + 2 * self.beside)[kept, kept]
        elif self.closes:
            kernel = ring_kernel(self.rho, self.bins)
            inner = self.chain * (kernel / kernel[0])[np.abs(i[:, None] - i)]
        inner = inner + self.own * np.eye(self.bins)
        result: FloatArray = self.common + np.outer(self.amplitudes, self.amplitudes) * inner
        return result
