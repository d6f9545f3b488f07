"""Mixtures whose Gram matrix is that of a Markov chain, and what is asked about them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from hockeystick._numerics.chains import Chain, correlations, line, pinned_ring
from hockeystick._numerics.law import FloatArray, Side

__all__ = ["ChainMixture", "Task"]

LARGEST_CORRELATION = 1 - 1e-6


@dataclass(frozen=True, eq=False)
class ChainMixture:
    """Gram matrix `common` + A_i A_j (`chain` r_|i-j| + `own` [i = j]), already over sigma^2.

    r are the correlations of a Markov chain on a ring or a line; the amplitudes A are between 0
    and 1.
    """

    common: float
    chain: float
    own: float
    rho: float
    amplitudes: FloatArray
    ring: bool

    def __post_init__(self) -> None:
        inside = bool(np.all((self.amplitudes >= 0) & (self.amplitudes <= 1)))
        if not (0 <= self.rho <= LARGEST_CORRELATION and inside):
            raise ValueError("Correlations are below 1, and amplitudes are between 0 and 1.")

    @property
    def bins(self) -> int:
        """How many terms are averaged."""
        return self.amplitudes.size

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
        return (pinned_ring if self.closes else line)(self.rho, self.bins)

    def gram(self) -> FloatArray:
        """The matrix itself."""
        r = correlations(self.rho, self.bins, ring=self.ring)
        i = np.arange(self.bins)
        inner = self.chain * r[np.abs(i[:, None] - i)] + self.own * np.eye(self.bins)
        result: FloatArray = self.common + np.outer(self.amplitudes, self.amplitudes) * inner
        return result


class Task(NamedTuple):
    """A mixture, the direction and side asked for, and the steps."""

    mixture: ChainMixture
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
