"""The Gaussian mechanism."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hockeystick._numerics.cells import law_from_cells
from hockeystick._numerics.gaussian import (
    argument_error,
    formula_error,
    gaussian_cells,
    gaussian_delta,
    quantile_of_tail,
)
from hockeystick._numerics.law import Law, Resolution, Side, without_atoms
from hockeystick._numerics.moments import PowerMoments, rounded_up
from hockeystick.profile.expressions.base import Expression, Factor

__all__ = ["Gaussian"]

# Losses of up to mu^2 / 2 are then known to a few hundredths.
LARGEST_MU = 1e7


@dataclass(frozen=True)
class Gaussian(Expression):
    """N(mu, 1) against N(0, 1): the Gaussian mechanism with noise multiplier 1/mu."""

    mu: float
    family = "gaussian"

    @property
    def closed_form_error(self) -> float:
        """Relative error of the closed form in floating point."""
        return formula_error(self.mu)

    @property
    def argument_error(self) -> float:
        """Relative error of epsilon in the closed form."""
        return argument_error(self.mu)

    def law(self, side: Side, resolution: Resolution) -> Law:
        """Cells of equal width in the observation, masses in closed form.

        For a mu so large that losses lose all digits behind the point: upper, P and Q never meet;
        lower, as for a smaller mu, which is dominated.
        """
        if self.mu > LARGEST_MU:
            upper = side is Side.UPPER
            return without_atoms(1.0, 1.0) if upper else Gaussian(LARGEST_MU).law(side, resolution)
        reach = quantile_of_tail(resolution.tail)
        # Far apart, P and Q leave next to nothing between them: two cells that meet at loss 0.
        near = min(reach, self.mu / 2)
        count = max(2, math.ceil((near + reach) / resolution.step))
        half = np.linspace(-reach, near, count)
        edges = np.unique(np.concatenate((half, [self.mu / 2], self.mu - half[::-1])))
        log_p, log_q = gaussian_cells(self.mu, edges)
        return law_from_cells(self.mu * (edges - self.mu / 2), log_p, log_q, side)

    def closed_form(self, epsilon: float, *, reverse: bool) -> float | None:
        """The pair is symmetric, so both directions are equal."""
        return gaussian_delta(self.mu, epsilon)

    def power_moments(self, largest: int, *, reverse: bool, resolution: Resolution) -> PowerMoments:
        """E_Q[LR^m] = e^(m (m - 1) mu^2 / 2), in both directions."""
        m = np.arange(largest + 1.0)
        return PowerMoments(rounded_up(m * (m - 1) * (self.mu**2 / 2)))

    def fuse(self, factors: Sequence[Factor]) -> Expression:
        """Squares of mu add."""
        return Gaussian(math.sqrt(sum(float(n) * member.order() ** 2 for member, n in factors)))

    def order(self) -> float:
        """The pair with the larger mu dominates."""
        return self.mu
