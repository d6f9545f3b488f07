"""A single (epsilon, delta) as a source of numbers, in the directions it is about."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hockeystick.errors import InvalidParameter
from hockeystick.profile import Profile
from hockeystick.profile.refinement import BOTH, Bounds, Direction

__all__ = ["ClaimedPoint", "profile_of_point"]


@dataclass(frozen=True)
class ClaimedPoint:
    """What every (epsilon, delta)-DP mechanism guarantees at other epsilons and deltas."""

    epsilon: float
    delta: float
    directions: tuple[Direction, ...]
    has_formula: bool = False

    def epsilon_bounds(
        self, delta: float, *, directions: Sequence[Direction], accuracy: float
    ) -> Bounds:
        """Upper bounds; nothing is known from below."""
        bounds = self._pair.epsilon_bounds(delta, directions=directions, accuracy=accuracy)
        return Bounds(0.0, bounds.upper)

    def delta_bounds(
        self, epsilon: float, *, directions: Sequence[Direction], accuracy: float
    ) -> Bounds:
        """Upper bounds; nothing is known from below."""
        bounds = self._pair.delta_bounds(epsilon, directions=directions, accuracy=accuracy)
        return Bounds(0.0, bounds.upper)

    def as_profile(self) -> Profile:
        """The pair that dominates, if both directions are claimed."""
        return profile_of_point(self.epsilon, self.delta, self.directions)

    @property
    def _pair(self) -> Profile:
        return Profile.from_epsilon_delta(self.epsilon, self.delta)


def profile_of_point(epsilon: float, delta: float, directions: tuple[Direction, ...]) -> Profile:
    """The pair of every (epsilon, delta)-DP mechanism; one direction alone says too little."""
    if set(directions) != set(BOTH):
        allowed = "'both' for a profile or a composition"
        raise InvalidParameter("direction", allowed, ", ".join(directions))
    return Profile.from_epsilon_delta(epsilon, delta)
