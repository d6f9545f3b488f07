"""The Laplace mechanism."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from hockeystick._numerics.cells import law_from_cells, mixture
from hockeystick._numerics.law import FloatArray, Law, Resolution, Side, from_losses
from hockeystick._numerics.moments import PowerMoments, rounded_up
from hockeystick.profile.expressions.base import Expression

__all__ = ["Laplace"]

# More cells than this are not worth their time.
MOST_CELLS = 1_000_000


@dataclass(frozen=True)
class Laplace(Expression):
    """Laplace noise of the given scale on a query of sensitivity 1.

    The loss is -1/scale or +1/scale with an atom each, and (2y - 1)/scale for 0 < y < 1 between.
    """

    scale: float

    @property
    def closed_form_error(self) -> float:
        """Relative error of the closed form in floating point."""
        return 1e-14

    def law(self, side: Side, resolution: Resolution) -> Law:
        """Atoms at both ends and closed-form cells between; the step is relative to the range."""
        reach = 1 / self.scale
        count = max(3, math.ceil(4 / resolution.step), math.ceil(2 * reach / resolution.step))
        y = np.linspace(0.0, 1.0, min(count, MOST_CELLS))
        if count > MOST_CELLS:
            # Cells are wide, and none of them may contain the loss 0.
            y = np.unique(np.append(y, 0.5))
        log_q = _log_exponential_cells(y, reach)
        log_p = log_q[::-1]
        empty = np.array([-np.inf])
        inner = law_from_cells(
            reach * (2 * y - 1),
            np.concatenate((empty, log_p, empty)),
            np.concatenate((empty, log_q, empty)),
            side,
        )
        return mixture([inner, from_losses(np.array([-reach, reach]), np.array([0.5, 0.5]))])

    def closed_form(self, epsilon: float, *, reverse: bool) -> float | None:
        """1 - e^((epsilon - 1/scale)/2) inside the range of the loss."""
        reach = 1 / self.scale
        if epsilon >= reach:
            return 0.0
        if epsilon <= -reach:
            return -math.expm1(epsilon)
        return -math.expm1((epsilon - reach) / 2)

    def power_moments(self, largest: int, *, reverse: bool, resolution: Resolution) -> PowerMoments:
        """(m e^((m-1)/s) + (m - 1) e^(-m/s)) / (2m - 1) for m >= 1 and scale s, both directions."""
        m = np.arange(1.0, largest + 1)
        rising = np.log(m) + (m - 1) / self.scale
        with np.errstate(divide="ignore"):
            falling = np.log(m - 1) - m / self.scale
        log = np.logaddexp(rising, falling) - np.log(2 * m - 1)
        return PowerMoments(rounded_up(np.concatenate(([0.0], log))))


def _log_exponential_cells(y: FloatArray, rate: float) -> FloatArray:
    """Log of half of e^(-rate y_k) - e^(-rate y_(k+1))."""
    cells: FloatArray = np.log(0.5) - rate * y[:-1] + np.log(-np.expm1(-rate * np.diff(y)))
    return cells
