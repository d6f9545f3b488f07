"""Gaussian noise on a shift whose length is random and revealed."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from hockeystick._numerics.cells import law_from_cells, mixture
from hockeystick._numerics.gaussian import argument_error, formula_error, gaussian_cells
from hockeystick._numerics.law import FloatArray, Law, Resolution, Side
from hockeystick._numerics.moments import PowerMoments, rounded_up
from hockeystick.profile.expressions.base import Expression
from hockeystick.profile.expressions.mechanisms import Gaussian
from hockeystick.profile.expressions.participation_counts import Participant, count_law
from hockeystick.profile.expressions.revealed_gaussians import mean_gaussian_delta

__all__ = ["RevealedCounts"]


@dataclass(frozen=True)
class RevealedCounts(Expression):
    """(T, N(mu, 1)) against (T, N(0, 1)) with mu = min(length * sqrt(T), longest).

    T counts how much the participant takes part. Its law is computed when it is needed, in at
    most about so many operations.
    """

    participant: Participant
    length: float
    longest: float
    operations: float

    @property
    def closed_form_error(self) -> float:
        """Relative error of the closed form in floating point."""
        return formula_error(self.longest)

    @property
    def argument_error(self) -> float:
        """Relative error of epsilon in the closed form."""
        return argument_error(self.longest)

    def law(self, side: Side, resolution: Resolution) -> Law:
        """Cells between common losses, taken from Gaussians at most a factor of two apart.

        What takes no part is an atom at loss 0.
        """
        staying_out, shifts, weights = self._members()
        levels = max(1, math.ceil(math.log2(shifts[-1] / shifts[0])) + 1)
        typical = np.geomspace(shifts[0], shifts[-1], levels)
        laws = [Gaussian(float(mu)).law(side, resolution) for mu in typical]
        nodes = np.unique(np.concatenate([law.loss for law in laws]))
        log_p = np.full(nodes.size + 1, -np.inf)
        log_q = log_p.copy()
        with np.errstate(divide="ignore"):
            for mu, weight in zip(shifts, weights, strict=True):
                cells = gaussian_cells(mu, nodes / mu + mu / 2)
                np.logaddexp(log_p, math.log(weight) + cells[0], out=log_p)
                np.logaddexp(log_q, math.log(weight) + cells[1], out=log_q)
        still = Law(np.zeros(1), np.array([staying_out]), np.array([staying_out]))
        return mixture([law_from_cells(nodes, log_p, log_q, side), still])

    def closed_form(self, epsilon: float, *, reverse: bool) -> float | None:
        """The mean of the closed forms; each is symmetric, so both directions are equal."""
        staying_out, shifts, weights = self._members()
        apart = staying_out * max(-math.expm1(epsilon), 0.0) if epsilon < 0 else 0.0
        return apart + mean_gaussian_delta(shifts, weights, epsilon)

    def power_moments(self, largest: int, *, reverse: bool, resolution: Resolution) -> PowerMoments:
        """The mean of e^(m (m - 1) mu^2 / 2), in both directions."""
        staying_out, shifts, weights = self._members()
        m = np.arange(largest + 1.0)
        total = np.full(m.size, math.log(staying_out) if staying_out > 0 else -np.inf)
        for mu, weight in zip(shifts, weights, strict=True):
            np.logaddexp(total, math.log(weight) + m * (m - 1) * (mu**2 / 2), out=total)
        return PowerMoments(rounded_up(total))

    def gaussian_mu(self) -> float:
        """The longest shift: a mixture needs no larger one."""
        return self.longest

    def _members(self) -> tuple[float, FloatArray, FloatArray]:
        """The probability of taking no part, and shifts with those of the others."""
        values, weights = count_law(self.participant, operations=self.operations)
        shifts = np.minimum(self.length * np.sqrt(values[1:]), self.longest)
        return float(weights[0]), shifts, weights[1:]
