"""A single (epsilon, delta) as a bound, in the directions it is about."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from hockeystick.bounds.bound import Bound, UpperBound
from hockeystick.bounds.profiles import ProfileBound
from hockeystick.errors import InvalidParameter
from hockeystick.profile import Profile
from hockeystick.profile.refinement import BOTH, Direction

__all__ = ["ClaimedPoint", "profile_of_point"]


@dataclass(frozen=True)
class ClaimedPoint(Bound):
    """What every (epsilon, delta)-DP mechanism guarantees at other epsilons and deltas.

    `details` stand beside every number.
    """

    claimed_epsilon: float
    claimed_delta: float
    directions: tuple[Direction, ...]
    details: Mapping[str, object] = field(default_factory=dict)

    def epsilon(
        self, delta: float, *, directions: Sequence[Direction], accuracy: float
    ) -> UpperBound:
        """That of the dominating pair."""
        return self._pair.epsilon(delta, directions=directions, accuracy=accuracy)

    def delta(
        self, epsilon: float, *, directions: Sequence[Direction], accuracy: float
    ) -> UpperBound:
        """That of the dominating pair."""
        return self._pair.delta(epsilon, directions=directions, accuracy=accuracy)

    def as_profile(self) -> Profile:
        """The pair that dominates, if both directions are claimed."""
        return profile_of_point(self.claimed_epsilon, self.claimed_delta, self.directions)

    @property
    def _pair(self) -> ProfileBound:
        pair = Profile.from_epsilon_delta(self.claimed_epsilon, self.claimed_delta)
        return ProfileBound(pair, details=self.details)


def profile_of_point(epsilon: float, delta: float, directions: tuple[Direction, ...]) -> Profile:
    """The pair of every (epsilon, delta)-DP mechanism; one direction alone says too little."""
    if set(directions) != set(BOTH):
        allowed = "'both' for a profile or a composition"
        raise InvalidParameter("direction", allowed, ", ".join(directions))
    return Profile.from_epsilon_delta(epsilon, delta)
