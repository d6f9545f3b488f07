"""Discrete Gaussian noise on integers: masses proportional to e^(-x^2 / (2 s^2))."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from hockeystick._numerics.gaussian import quantile_of_tail
from hockeystick._numerics.law import FloatArray, Law, Resolution, Side, from_losses
from hockeystick._numerics.moments import MomentNodes, PowerMoments, rounded_up
from hockeystick._numerics.rounding import law_from_cells
from hockeystick.profile.expressions import Expression

__all__ = ["LARGEST_DEVIATION", "DiscreteGaussian"]

# Beyond this many deviations no mass is a number: e^(-38.6^2 / 2) underflows.
FARTHEST = 38.6
# The largest standard deviation: all integers with a mass are listed, 77 deviations of them.
LARGEST_DEVIATION = 1e5
# Up to here formulas are sums over all integers; above, cells are as good and far cheaper.
FORMULA = 3e3


@dataclass(frozen=True)
class DiscreteGaussian(Expression):
    """Discrete Gaussian noise with parameter `deviation` on an integer query; a shift of `shift`.

    The loss at x is shift (2 x - shift) / (2 deviation^2): it increases with x, and the pair is
    its own mirror image. A smaller shift is dominated: the noise is log-concave, so what P puts
    above any x grows with the shift. [CanonneKamathSteinke20]
    """

    deviation: float
    shift: int

    @property
    def closed_form_error(self) -> float:
        """Relative error of the sum of positive terms."""
        return 1e-12

    @property
    def argument_error(self) -> float:
        """Relative error of the losses."""
        return 1e-14

    def law(self, side: Side, resolution: Resolution) -> Law:
        """Atoms; cells of several integers where noise is large.

        What lies beyond the tail is P alone and Q alone (upper) or part of the outermost atom.
        """
        far = math.ceil(self.deviation * min(quantile_of_tail(resolution.tail), FARTHEST))
        x = np.arange(-far, self.shift + far + 1.0)
        width = int(resolution.step * self.deviation)
        if width > 1:
            return self._cells(x, width, side)
        p, q = self._mass(x - self.shift), self._mass(x)
        # By symmetry what P has above and below is what Q has below and above.
        beyond = (self._tail(far + 1), self._tail(far + self.shift + 1))
        loss = self._loss(x)
        if side is Side.LOWER:
            for index, (of_p, of_q) in ((0, beyond[::-1]), (-1, beyond)):
                p[index] += of_p
                q[index] += of_q
                loss[index] = math.log(p[index] / q[index])
            return from_losses(loss, np.where(loss >= 0, p, q))
        alone = (beyond[0] + beyond[1]) * (1 + self.closed_form_error)
        return from_losses(loss, np.where(loss >= 0, p, q), p_infinite=alone, q_zero=alone)

    def _cells(self, x: FloatArray, width: int, side: Side) -> Law:
        starts = np.arange(0, x.size, width)
        edges = np.append(self._loss(x[starts]), self._loss(x[-1] + 1.0))
        with np.errstate(divide="ignore"):
            log_p, log_q = (
                np.log(np.add.reduceat(self._mass(x - shift), starts)) for shift in (self.shift, 0)
            )
            # By symmetry what P has below all cells is what Q has above them.
            last = int(x[-1]) + 1
            near, wide = (np.log(self._tail(first)) for first in (last - self.shift, last))
        log_p = np.concatenate(([wide], log_p, [near]))
        log_q = np.concatenate(([near], log_q, [wide]))
        return law_from_cells(edges, log_p, log_q, side)

    def closed_form(self, epsilon: float, *, reverse: bool) -> float | None:
        """The sum of P(x) (1 - e^(epsilon - loss)) over losses above epsilon: all terms positive.

        The same in both directions.
        """
        if self.deviation > FORMULA:
            return None
        first = math.floor(epsilon * self.deviation**2 / self.shift + self.shift / 2)
        last = self.shift + math.ceil(FARTHEST * self.deviation)
        lowest = self.shift - math.ceil(FARTHEST * self.deviation)
        x = np.arange(max(first, lowest), last + 1.0)
        terms = self._mass(x - self.shift) * -np.expm1(np.minimum(epsilon - self._loss(x), 0.0))
        return float(terms.sum())

    def power_moments(self, largest: int, *, reverse: bool, resolution: Resolution) -> PowerMoments:
        """E_Q[LR^m] = e^(m (m - 1) shift^2 / (2 deviation^2)), in both directions.

        As for the Gaussian: completing the square moves the sum by m shifts, an integer.
        """
        m = np.arange(largest + 1.0)
        return PowerMoments(rounded_up(m * (m - 1) * self._concentration))

    def moment_nodes(
        self, orders: FloatArray, *, reverse: bool, resolution: Resolution
    ) -> MomentNodes:
        """At real orders that is an upper bound: sums over Z are largest around 0."""
        return MomentNodes(orders, rounded_up(orders * (orders - 1) * self._concentration))

    @property
    def _concentration(self) -> float:
        return (self.shift / self.deviation) ** 2 / 2

    def _loss(self, x: FloatArray) -> FloatArray:
        return np.asarray(self.shift * (2.0 * x - self.shift) / (2 * self.deviation**2))

    def _mass(self, x: FloatArray) -> FloatArray:
        found: FloatArray = np.exp(-((x / self.deviation) ** 2) / 2) / _total(self.deviation)
        return found

    def _tail(self, first: int) -> float:
        """The mass from `first` on."""
        x = np.arange(first, first + math.ceil(FARTHEST * self.deviation) + 1.0)
        return float(self._mass(x).sum())


@lru_cache(maxsize=64)
def _total(deviation: float) -> float:
    """The sum of e^(-x^2 / (2 s^2)) over all integers; for large s by Poisson's summation."""
    if deviation > 1:
        waves = 2 * sum(math.exp(-2 * (math.pi * deviation * k) ** 2) for k in range(1, 4))
        return deviation * math.sqrt(2 * math.pi) * (1 + waves)
    x = np.arange(1, math.ceil(FARTHEST * deviation) + 2)
    return 1 + 2 * float(np.exp(-((x / deviation) ** 2) / 2).sum())
