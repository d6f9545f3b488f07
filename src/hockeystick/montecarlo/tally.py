"""What is remembered of draws: sums, never the draws themselves."""

from __future__ import annotations

from collections.abc import Sized
from dataclasses import dataclass
from typing import Self

import numpy as np

from hockeystick._numerics.law import FloatArray

__all__ = ["Tally"]


@dataclass(frozen=True, eq=False)
class Tally:
    """Sums over draws, by payoff and noise level."""

    draws: int
    totals: FloatArray
    squares: FloatArray
    largest: FloatArray

    @classmethod
    def nothing(cls, payoffs: Sized, levels: Sized) -> Self:
        """No draws yet."""
        shape = (len(payoffs), len(levels))
        return cls(0, np.zeros(shape), np.zeros(shape), np.zeros(shape))

    def plus(self, other: Tally) -> Tally:
        """The tally of all draws together."""
        return Tally(
            self.draws + other.draws,
            self.totals + other.totals,
            self.squares + other.squares,
            np.maximum(self.largest, other.largest),
        )

    @property
    def means(self) -> FloatArray:
        """The mean payoff."""
        return self.totals / self.draws

    @property
    def variances(self) -> FloatArray:
        """The variance of a payoff, as the draws show it."""
        return np.maximum(self.squares / self.draws - self.means**2, 0.0)
