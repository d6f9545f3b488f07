"""Mixtures whose Gram matrix is that of two independent Markov chains."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from hockeystick._numerics.law import FloatArray
from hockeystick.analyses.gram.law.chain_mixture import ChainMixture

__all__ = ["TwoChains"]


@dataclass(frozen=True, eq=False)
class TwoChains:
    """Gram matrix `common` + A_i A_j (sum_k `chains`_k r_k,|i-j| + `own` [i = j]), over sigma^2.

    Two independent chains, of which one forgets sooner than the other; amplitudes as for one.
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
        """One for each chain, as if the other were an independent part."""
        rest = self.own + sum(self.chains)
        return tuple(
            ChainMixture(
                self.common, chain, rest - chain, rho, self.amplitudes, self.ring, self.mirrored
            )
            for chain, rho in zip(self.chains, self.rhos, strict=True)
        )

    @property
    def bins(self) -> int:
        """How many terms are averaged."""
        return self.amplitudes.size

    @property
    def signal(self) -> float:
        """The variance of a term with amplitude 1, without what all share."""
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
        """Whether a first state matters at the end."""
        return any(axis.closes for axis in self.axes)

    @property
    def memory(self) -> dict[str, object]:
        """The correlations from bin to bin."""
        quick, slow = sorted(self.axes, key=lambda axis: axis.rho)
        return {**slow.memory, "second correlation": quick.rho}

    def gram(self) -> FloatArray:
        """The matrix itself."""
        first, second = self.axes
        inner = first.gram() + second.gram() - self.common
        # Each of them took the variance of the other for an independent part.
        return inner - np.diag(self.amplitudes**2 * self.signal)
