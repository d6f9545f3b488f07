"""The guarantee of several menus: at every epsilon their deltas add up."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from hockeystick._numerics.envelope import deltas, law_of_deltas
from hockeystick._numerics.law import Law, Side
from hockeystick.bounds import Bound, UpperBound
from hockeystick.filters.residual.composition import HEIGHT_ERROR, law_of
from hockeystick.filters.residual.menus import MenuDesign
from hockeystick.profile import Profile
from hockeystick.profile.expressions.discrete import Atoms
from hockeystick.profile.resolution import Direction

__all__ = ["MenusBound", "bound_of"]

# The grid of the laws that the guarantee is read from: rounding adds a few 1e-3 to delta.
STEP = 0.01
# Tails are cut at this share of delta.
TAIL_SHARE = 1e-6
# Beyond this epsilon nothing is claimed below delta = 1.
LARGEST_EPSILON = 700.0
# The profile made of the bounds ends where delta hardly falls any more; corners on either side.
CORNERS = 400


@lru_cache(maxsize=8)
def bound_of(design: MenuDesign, delta: float) -> MenusBound:
    """The bound for a design; the same object for the same one."""
    return MenusBound(design, delta=delta)


class MenusBound(Bound):
    """H(g) <= sum over menus of H_menu(g), plus what exchanges may add, for every g > 0."""

    def __init__(self, design: MenuDesign, *, delta: float) -> None:
        self._laws = [
            law_of(menu.start(), Side.UPPER, step=STEP, tail=TAIL_SHARE * delta)
            for menu in design.menus
        ]
        self._slack = design.slack * design.exchanges

    @property
    def laws(self) -> Sequence[Law]:
        """Of the menus, upper bounds."""
        return self._laws

    def epsilon(
        self, delta: float, *, directions: Sequence[Direction], accuracy: float
    ) -> UpperBound:
        """The smallest epsilon with such a delta, by bisection; infinite if there is none."""
        low, high = 0.0, LARGEST_EPSILON
        if self._delta(low, directions) <= delta:
            return UpperBound(low)
        if not self._delta(high, directions) <= delta:
            return UpperBound(math.inf)
        while low < (middle := (low + high) / 2) < high:
            enough = self._delta(middle, directions) <= delta
            low, high = (low, middle) if enough else (middle, high)
        return UpperBound(high)

    def delta(
        self, epsilon: float, *, directions: Sequence[Direction], accuracy: float
    ) -> UpperBound:
        """The sum."""
        return UpperBound(self._delta(epsilon, directions))

    def as_profile(self) -> Profile:
        """The pair with the largest convex profile below the bounds at many epsilons."""
        end = max(float(law.loss[-1]) for law in self._laws) + 1.0
        right = np.linspace(0.0, end, CORNERS)
        loss = np.concatenate((-right[:0:-1], right))
        total = np.sum([deltas(law, loss) for law in self._laws], axis=0)
        delta = np.minimum(total * (1 + HEIGHT_ERROR) + self._slack, 1.0)
        return Profile(Atoms(law_of_deltas(loss, delta)))

    def _delta(self, epsilon: float, directions: Sequence[Direction]) -> float:
        at = np.array([epsilon if one == "remove" else -epsilon for one in directions])
        if epsilon == 0.0:
            # At loss 0 `deltas` reads the first direction; the exchanged pair has the same value.
            at = np.zeros(1)
        total = np.sum([deltas(law, at) for law in self._laws], axis=0)
        return min(float(total.max()) * (1 + HEIGHT_ERROR) + self._slack, 1.0)
