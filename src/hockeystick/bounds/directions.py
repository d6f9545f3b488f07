"""Both directions from the remove direction alone, for mixtures of Gaussians.

For every mixture P = sum_x p_x N(m_x, s^2 I) against Q = N(0, s^2 I) and every epsilon >= 0

    E_Q(1 - e^epsilon LR)+  <=  E_Q(LR - e^epsilon)+,

adding never leaks more than removing: log LR is convex in the outputs, so by Ehrhard's inequality
[Ehrhard83] its law under Q is that of a convex increasing function of one normal variable, and such
a function is compared with a straight line (mathematics.md, "Adding leaks less than removing").
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from hockeystick.bounds import Bound, UpperBound
from hockeystick.bounds.combined import ByDirection
from hockeystick.bounds.profiles import profile_of_deltas
from hockeystick.profile import Profile
from hockeystick.profile.resolution import Direction

__all__ = ["RemoveDecides", "RemoveForAdd", "directions_that_decide"]

REMOVE: Sequence[Direction] = ("remove",)
# The profile of `RemoveForAdd`: its smallest delta, its corners on either side, their accuracy.
SMALLEST_DELTA, CORNERS, ACCURACY = 1e-20, 400, 0.01


def directions_that_decide(directions: Sequence[Direction]) -> tuple[Direction, ...]:
    """The directions of which a mixture of Gaussians has to be asked: remove, if it is wanted."""
    return ("remove",) if "remove" in directions else tuple(directions)


@dataclass(frozen=True)
class RemoveForAdd(Bound):
    """The remove direction of a bound, as one for both; valid for mixtures of Gaussians."""

    bound: Bound

    def epsilon(
        self, delta: float, *, directions: Sequence[Direction], accuracy: float
    ) -> UpperBound:
        """That of removing, under the name of the direction."""
        found = self.bound.epsilon(delta, directions=REMOVE, accuracy=accuracy)
        return replace(found, direction=directions[0])

    def delta(
        self, epsilon: float, *, directions: Sequence[Direction], accuracy: float
    ) -> UpperBound:
        """That of removing, under the name of the direction."""
        found = self.bound.delta(epsilon, directions=REMOVE, accuracy=accuracy)
        return replace(found, direction=directions[0])

    def as_profile(self) -> Profile:
        """The pair whose directions are both as the remove direction."""
        pair = self.bound.as_profile()
        end = pair.epsilon_bounds(SMALLEST_DELTA, directions=REMOVE, accuracy=ACCURACY).upper
        loss = np.linspace(0.0, max(end, 1e-3) if np.isfinite(end) else 1.0, CORNERS)
        delta = [
            pair.delta_bounds(at, directions=REMOVE, accuracy=ACCURACY).upper
            for at in loss.tolist()
        ]
        curve = (loss, np.array(delta))
        return profile_of_deltas(curve, curve)


class RemoveDecides(Bound):
    """A mixture of Gaussians: the remove direction is the answer for both.

    For adding alone the best one of `add` is, to which `RemoveForAdd` may belong.
    """

    def __init__(self, bound: Bound, *, add: Mapping[str, Bound]) -> None:
        self._bound, self._add = bound, add
        self._sides = ByDirection(remove={"remove": bound}, add=add)

    def epsilon(
        self, delta: float, *, directions: Sequence[Direction], accuracy: float
    ) -> UpperBound:
        """Of removing; of adding if that alone is wanted."""
        wanted = directions_that_decide(directions)
        return self._sides.epsilon(delta, directions=wanted, accuracy=accuracy)

    def delta(
        self, epsilon: float, *, directions: Sequence[Direction], accuracy: float
    ) -> UpperBound:
        """Of removing; of adding if that alone is wanted."""
        wanted = directions_that_decide(directions)
        return self._sides.delta(epsilon, directions=wanted, accuracy=accuracy)

    def as_profile(self) -> Profile:
        """The bound's own pair if it knows both directions; otherwise from the bounds of each."""
        own = any(bound is self._bound for bound in self._add.values())
        return self._bound.as_profile() if own else self._sides.as_profile()

    def coarse_epsilon(self, delta: float, *, directions: Sequence[Direction]) -> float:
        """That of the bound."""
        return self._bound.coarse_epsilon(delta, directions=directions_that_decide(directions))
