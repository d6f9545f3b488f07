"""Mixtures whose Gram matrix is that of a Markov chain, and what is asked about them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Generic, NamedTuple, Protocol, TypeVar

import numpy as np

from hockeystick._numerics.law import FloatArray, Side
from hockeystick.analyses.gram.law.chains import (
    Chain,
    correlations,
    line,
    mirrored,
    mirrored_covariance,
    pinned_ring,
)

__all__ = ["ChainMixture", "M_co", "Mixture", "Task"]

LARGEST_CORRELATION = 1 - 1e-6


class Mixture(Protocol):
    """What grids, lattices and searches ask of a mixture, whatever its states are."""

    @property
    def common(self) -> float:
        """The variance that all terms share."""

    @property
    def ring(self) -> bool:
        """Whether the last term has something in common with the first."""

    @property
    def bins(self) -> int:
        """How many terms are averaged."""

    @property
    def closes(self) -> bool:
        """Whether the first state matters at the end."""

    @property
    def signal(self) -> float:
        """The largest variance of a term without what all share."""

    @property
    def shift(self) -> float:
        """By how many standard deviations a state may move if the example is present."""

    @property
    def exponents(self) -> FloatArray:
        """How fast a term may grow in the state of each bin."""

    @property
    def memory(self) -> dict[str, object]:
        """What its states are, for a report."""

    def gram(self) -> FloatArray:
        """The matrix itself."""


M_co = TypeVar("M_co", bound=Mixture, covariant=True)


@dataclass(frozen=True, eq=False)
class ChainMixture:
    """Gram matrix `common` + A_i A_j (`chain` r_|i-j| + `own` [i = j]), already over sigma^2.

    r are the correlations of a Markov chain on a ring or a line; the amplitudes A are between 0
    and 1. With `mirrored` the place of r is taken by a line with mirrors, which dominates a ring.
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
        """How many terms are averaged."""
        return self.amplitudes.size

    @property
    def signal(self) -> float:
        """The variance of a term with amplitude 1, without what all share."""
        return self.chain + self.own

    @property
    def shift(self) -> float:
        """By how many standard deviations a state may move if the example is present."""
        return math.sqrt(self.chain)

    @property
    def axes(self) -> tuple[ChainMixture, ...]:
        """One for each chain, as if the others were independent parts."""
        return (self,)

    @property
    def shared(self) -> FloatArray:
        """The covariance of the states by distance, away from mirrors."""
        turns = self.ring or self.mirrored
        result: FloatArray = self.chain * correlations(self.rho, self.bins, ring=turns)
        return result

    @property
    def memory(self) -> dict[str, object]:
        """The correlation from bin to bin."""
        return {"correlation": self.rho, **({"mirrored": True} if self.mirrored else {})}

    @property
    def exponents(self) -> FloatArray:
        """The largest amplitude of each bin and the later ones: no term grows faster in a state."""
        result: FloatArray = np.maximum.accumulate(self.amplitudes[::-1])[::-1]
        return result

    @property
    def closes(self) -> bool:
        """Whether the first state matters at the end."""
        return self.ring and self.bins > 1 and self.chain > 0

    def chain_of_states(self) -> Chain:
        """The chain as a recursion; a ring is cut open at its first state."""
        if self.mirrored:
            return mirrored(self.rho, self.bins)
        return (pinned_ring if self.closes else line)(self.rho, self.bins)

    def gram(self) -> FloatArray:
        """The matrix itself."""
        i = np.arange(self.bins)
        inner = self.shared[np.abs(i[:, None] - i)]
        if self.mirrored:
            inner = self.chain * mirrored_covariance(self.rho, self.bins)
        inner = inner + self.own * np.eye(self.bins)
        result: FloatArray = self.common + np.outer(self.amplitudes, self.amplitudes) * inner
        return result


class Task(NamedTuple, Generic[M_co]):
    """A mixture, the direction and side asked for, and the steps."""

    mixture: M_co
    remove: bool
    side: Side
    fineness: float
    tail: float

    @property
    def upper(self) -> bool:
        """Whether an upper bound is asked for."""
        return self.side is Side.UPPER

    def exponent(self, i: int) -> float | None:
        """How the state of bin i is rounded: keeping its mean, or that of its exponential."""
        fastest = float(self.mixture.exponents[i])
        return None if self.remove else fastest if fastest > 0 else 1.0
