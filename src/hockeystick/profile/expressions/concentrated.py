"""Concentrated privacy: Renyi divergences of at most xi + rho a at every order a."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from hockeystick._numerics.envelope import law_of_deltas
from hockeystick._numerics.law import FloatArray, Law, Resolution, Side
from hockeystick._numerics.moments import MomentNodes, PowerMoments, rounded_up
from hockeystick.profile.expressions import Expression, Factor

__all__ = ["Concentrated"]

# Orders at which it is converted; the best one is near 1 + sqrt(log(1 / delta) / rho).
ORDERS = 1 + np.geomspace(1e-2, 1e6, 400)
# The smallest delta of the profile, and how many epsilons have a corner.
SMALLEST_DELTA, CORNERS = 1e-20, 400
# What logarithms of delta may lose to floating point.
LOG_ROUNDING = 1e-9


@dataclass(frozen=True)
class Concentrated(Expression):
    """The largest profile that (xi, rho)-concentrated privacy allows at `ORDERS`, both directions.

    delta <= e^((a - 1) (D_a - epsilon)) (1 - 1/a)^(a - 1) / a [CanonneKamathSteinke20, Proposition
    12]. In a composition xi and rho add up before that is applied. An upper bound only.
    """

    rho: float
    xi: float

    family = "concentrated"

    def law(self, side: Side, resolution: Resolution) -> Law:
        """The polygon through the corners of the profile."""
        return _law(self.rho, self.xi)

    def power_moments(self, largest: int, *, reverse: bool, resolution: Resolution) -> PowerMoments:
        """By definition."""
        m = np.arange(largest + 1.0)
        return PowerMoments(rounded_up(np.maximum(m - 1, 0) * (self.xi + self.rho * m)))

    def moment_nodes(
        self, orders: FloatArray, *, reverse: bool, resolution: Resolution
    ) -> MomentNodes:
        """The same at real orders."""
        return MomentNodes(orders, rounded_up((orders - 1) * (self.xi + self.rho * orders)))

    def fuse(self, factors: Sequence[Factor]) -> Expression:
        """Both numbers add up."""
        members = [(one, count) for one, count in factors if isinstance(one, Concentrated)]
        rho = math.fsum(count * one.rho for one, count in members)
        return Concentrated(rho, math.fsum(count * one.xi for one, count in members))

    def above(self, other: Expression) -> bool:
        """Where both numbers are at least the other's."""
        return isinstance(other, Concentrated) and self.rho >= other.rho and self.xi >= other.xi


@lru_cache(maxsize=16)
def _law(rho: float, xi: float) -> Law:
    far = -math.log(SMALLEST_DELTA)
    epsilons = np.linspace(0.0, xi + rho + 2 * math.sqrt(rho * far), CORNERS)
    a = ORDERS[:, None]
    log_delta = (a - 1) * (xi + rho * a - epsilons) + (a - 1) * np.log1p(-1 / a) - np.log(a)
    delta: FloatArray = np.minimum(np.exp(log_delta.min(axis=0) + LOG_ROUNDING), 1.0)
    losses = np.concatenate((-epsilons[:0:-1], epsilons))
    return law_of_deltas(losses, np.concatenate((delta[:0:-1], delta)))
