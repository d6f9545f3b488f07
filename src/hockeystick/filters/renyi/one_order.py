"""Numbers of a run of which one Renyi divergence is known, in both directions."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from hockeystick._numerics.envelope import law_of_prices
from hockeystick.bounds.bound import Bound, UpperBound
from hockeystick.filters.renyi.charge import epsilon_at_order, log_delta_at_order
from hockeystick.profile import Profile
from hockeystick.profile.expressions.discrete import Atoms
from hockeystick.profile.refinement import Direction

__all__ = ["OneOrder"]

# The profile made of the bounds: its smallest delta, and how many corners it has on either side.
SMALLEST_DELTA, CORNERS = 1e-30, 400


class OneOrder(Bound):
    """Upper bounds from one divergence at one order."""

    def __init__(self, order: float, divergence: float) -> None:
        self._order, self._divergence = order, divergence

    def epsilon(
        self, delta: float, *, directions: Sequence[Direction], accuracy: float
    ) -> UpperBound:
        """The same in both directions."""
        return UpperBound(epsilon_at_order(self._order, self._divergence, delta))

    def delta(
        self, epsilon: float, *, directions: Sequence[Direction], accuracy: float
    ) -> UpperBound:
        """The same in both directions."""
        return UpperBound(self._delta(epsilon))

    def as_profile(self) -> Profile:
        """The pair with the largest convex profile below the bounds at many epsilons."""
        end = epsilon_at_order(self._order, self._divergence, SMALLEST_DELTA)
        loss = np.linspace(0.0, max(end, 1e-3), CORNERS)
        price = np.array([self._delta(epsilon) for epsilon in loss])
        both = np.concatenate((-loss[:0:-1], loss)), np.concatenate((price[:0:-1], price))
        return Profile(Atoms(law_of_prices(*both)))

    def _delta(self, epsilon: float) -> float:
        log_delta = log_delta_at_order(self._order, self._divergence, epsilon)
        return min(math.exp(log_delta) * (1 + 1e-15), 1.0)
