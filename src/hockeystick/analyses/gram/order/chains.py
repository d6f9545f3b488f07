"""Gram matrices of stationary Gaussian Markov chains, on a line and on a ring."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from hockeystick._numerics.law import FloatArray

__all__ = [
    "Chain",
    "ChainMixture",
    "TwoChains",
    "correlations",
    "line",
    "mirrored",
    "mirrored_covariance",
    "pinned_ring",
]

# A chain that is closer to standing still has transitions without variance in floating point:
# 1 - rho^2 keeps ten digits.
LARGEST_CORRELATION = 1 - 1e-6


class Chain(NamedTuple):
    """B_1 ~ N(0, variance_1), B_(i+1) = pull_i B_i + N(0, fresh_i).

    `start[i]` is the factor with which a common start value enters at i: 0 on a line. All pulls are
    between 0 and 1. A state with its start has the variance variance_i + start_i^2.
    """

    variance: FloatArray
    pull: FloatArray
    fresh: FloatArray
    start: FloatArray


def correlations(rho: float, bins: int, *, ring: bool) -> FloatArray:
    """Correlations at the distances d = 0, ..., bins - 1: rho^d on a line.

    On a ring (rho^d + rho^(bins-d)) / (1 + rho^bins).
    """
    d = np.arange(bins, dtype=np.float64)
    if not ring:
        return np.power(rho, d, dtype=np.float64)
    periodic: FloatArray = (rho**d + rho ** (bins - d)) / (1 + rho**bins)
    return periodic


def line(rho: float, bins: int) -> Chain:
    """The chain with correlation rho^d at distance d."""
    ones = np.ones(bins)
    return Chain(ones, rho * ones[1:], (1 - rho * rho) * ones[1:], 0 * ones)


def pinned_ring(rho: float, bins: int) -> Chain:
    """The periodic chain X less its regression on X_1: X_i = start_i X_1 + B_i, with B_1 = 0.

    Given X_1 the ring is cut open: B is a Markov chain that comes back towards 0 at the end.
    """
    r = correlations(rho, bins, ring=True)
    variance = (1 - r) * (1 + r)
    neighbours = r[1] - r[:-1] * r[1:]
    pull = np.zeros(bins - 1)
    np.divide(neighbours, variance[:-1], out=pull, where=variance[:-1] > 0)
    pull = np.clip(pull, 0.0, 1.0)
    fresh = np.maximum(variance[1:] - pull * pull * variance[:-1], 0.0)
    return Chain(variance, pull, fresh, r)


def mirrored(rho: float, bins: int) -> Chain:
    """The chain on a line with the covariance `mirrored_covariance`, reflected at both ends.

    For i <= j the covariance is a product of a function of i and one of j, hence the chain is
    Markov.
    """
    _, far = _sides(rho, bins)
    variance = np.diagonal(mirrored_covariance(rho, bins)).copy()
    pull = np.clip(rho * far[1:] / far[:-1], 0.0, 1.0)
    fresh = np.maximum(variance[1:] - pull * pull * variance[:-1], 0.0)
    return Chain(variance, pull, fresh, np.zeros(bins))


def mirrored_covariance(rho: float, bins: int) -> FloatArray:
    """(rho^(j-i) + rho^(i+j-1) + rho^(2b+1-i-j) + rho^(2b+i-j)) / (1 + rho^b) for i <= j.

    It dominates the periodic correlations: beyond them it has (y - z)(y - z)^T with
    y_i = rho^(i-1/2) and z_i = rho^(b-i+1/2), and entries that are not negative
    (docs/gram.md, "Mirrors").
    """
    near, far = _sides(rho, bins)
    i = np.arange(bins)
    low, high = np.minimum(i[:, None], i), np.maximum(i[:, None], i)
    steps = np.power(rho, (high - low).astype(np.float64))
    result: FloatArray = near[low] * far[high] * steps / (1 + rho**bins)
    return result


def _sides(rho: float, bins: int) -> tuple[FloatArray, FloatArray]:
    """1 + rho^(2i-1) and 1 + rho^(2b+1-2j): what the mirrors add, as seen from bins i and j."""
    i = np.arange(1.0, bins + 1)
    return 1 + np.power(rho, 2 * i - 1), 1 + np.power(rho, 2 * bins + 1 - 2 * i)


@dataclass(frozen=True, eq=False)
class ChainMixture:
    """Gram matrix `common` + A_i A_j (`chain` r_|i-j| + `own` [i = j]), already over sigma^2.

    r are the correlations of a Markov chain on a ring or a line; the amplitudes A are between 0
    and 1. With `mirrored`, `mirrored_covariance` takes the place of r.
    """

    common: float
    chain: float
    own: float
    rho: float
    amplitudes: FloatArray
    ring: bool
    mirrored: bool = False

    def __post_init__(self) -> None:
        inside = bool(np.all((self.amplitudes >= 0) & (self.amplitudes <= 1)))
        if not (0 <= self.rho <= LARGEST_CORRELATION and inside):
            raise ValueError("Correlations are below 1, and amplitudes are between 0 and 1.")

    @property
    def bins(self) -> int:
        """The number of terms that are averaged."""
        return self.amplitudes.size

    @property
    def signal(self) -> float:
        """The variance of a term with amplitude 1, without the common part."""
        return self.chain + self.own

    @property
    def shift(self) -> float:
        """By how many standard deviations a state may move if the example is present."""
        return math.sqrt(self.chain)

    @property
    def axes(self) -> tuple[ChainMixture, ...]:
        """One mixture for each chain, in which the other chains count as independent parts."""
        return (self,)

    @property
    def shared(self) -> FloatArray:
        """The covariance of the states by distance, away from mirrors."""
        ring = self.ring or self.mirrored
        result: FloatArray = self.chain * correlations(self.rho, self.bins, ring=ring)
        return result

    @property
    def memory(self) -> dict[str, object]:
        """The correlation from bin to bin, for a report."""
        return {"correlation": self.rho, **({"mirrored": True} if self.mirrored else {})}

    @property
    def exponents(self) -> FloatArray:
        """The largest amplitude of each bin and the later ones: no term grows faster in a state."""
        result: FloatArray = np.maximum.accumulate(self.amplitudes[::-1])[::-1]
        return result

    @property
    def closes(self) -> bool:
        """Whether the last term depends on the first state."""
        return self.ring and self.bins > 1 and self.chain > 0

    def chain_of_states(self) -> Chain:
        """The chain as a recursion; a ring is cut open at its first state."""
        if self.mirrored:
            return mirrored(self.rho, self.bins)
        return (pinned_ring if self.closes else line)(self.rho, self.bins)

    def on_a_line(self) -> ChainMixture:
        """The same parts on a line: smaller than the ring, so no majorant of its target."""
        return replace(self, ring=False)

    def between_mirrors(self) -> ChainMixture:
        """The chain between mirrors in the place of the ring, which it dominates."""
        return replace(self, ring=False, mirrored=True)

    def gram(self) -> FloatArray:
        """The Gram matrix."""
        i = np.arange(self.bins)
        inner = self.shared[np.abs(i[:, None] - i)]
        if self.mirrored:
            inner = self.chain * mirrored_covariance(self.rho, self.bins)
        inner = inner + self.own * np.eye(self.bins)
        result: FloatArray = self.common + np.outer(self.amplitudes, self.amplitudes) * inner
        return result


@dataclass(frozen=True, eq=False)
class TwoChains:
    """Gram matrix `common` + A_i A_j (sum_k `chains`_k r_k,|i-j| + `own` [i = j]), over sigma^2.

    The two chains are independent; one has a shorter correlation length than the other. Amplitudes
    as for one chain.
    """

    common: float
    chains: tuple[float, float]
    own: float
    rhos: tuple[float, float]
    amplitudes: FloatArray
    ring: bool
    mirrored: bool = False

    @property
    def axes(self) -> tuple[ChainMixture, ...]:
        """One mixture for each chain, in which the other counts as an independent part."""
        rest = self.own + sum(self.chains)
        return tuple(
            ChainMixture(
                self.common, chain, rest - chain, rho, self.amplitudes, self.ring, self.mirrored
            )
            for chain, rho in zip(self.chains, self.rhos, strict=True)
        )

    @property
    def bins(self) -> int:
        """The number of terms that are averaged."""
        return self.amplitudes.size

    @property
    def signal(self) -> float:
        """The variance of a term with amplitude 1, without the common part."""
        return sum(self.chains) + self.own

    @property
    def shift(self) -> float:
        """By how many standard deviations a state may move if the example is present."""
        return math.sqrt(sum(self.chains))

    @property
    def chain(self) -> float:
        """The variance of both states together."""
        return sum(self.chains)

    @property
    def shared(self) -> FloatArray:
        """The covariance of the states by distance."""
        first, second = self.axes
        result: FloatArray = first.shared + second.shared
        return result

    @property
    def exponents(self) -> FloatArray:
        """The largest amplitude of each bin and the later ones."""
        return self.axes[0].exponents

    @property
    def closes(self) -> bool:
        """Whether the last term depends on a first state."""
        return any(axis.closes for axis in self.axes)

    @property
    def memory(self) -> dict[str, object]:
        """The correlations from bin to bin, for a report."""
        quick, slow = sorted(self.axes, key=lambda axis: axis.rho)
        return {**slow.memory, "second correlation": quick.rho}

    def on_a_line(self) -> TwoChains:
        """The same parts on a line: smaller than the ring, so no majorant of its target."""
        return replace(self, ring=False)

    def between_mirrors(self) -> TwoChains:
        """Both chains between mirrors in the place of the ring, which they dominate."""
        return replace(self, ring=False, mirrored=True)

    def gram(self) -> FloatArray:
        """The Gram matrix."""
        first, second = self.axes
        inner = first.gram() + second.gram() - self.common
        # Each of them took the variance of the other for an independent part.
        return inner - np.diag(self.amplitudes**2 * self.signal)
