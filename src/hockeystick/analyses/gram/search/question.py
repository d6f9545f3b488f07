"""What a bound from Gram matrices is asked, and what it finds."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from hockeystick._numerics.law import Side
from hockeystick.analyses.gram.search.candidates import Candidate, Reading
from hockeystick.errors import PrecisionError
from hockeystick.profile import Profile
from hockeystick.profile.refinement import DELTA_FACTOR, SMALLEST_EPSILON, Bounds, Direction

__all__ = ["Found", "Question"]

# By how much epsilon, and log delta, are too large, over the square of the fineness: about.
EPSILON_EXCESS, DELTA_EXCESS = 0.08, 1.0
PROFILE_ACCURACY = 0.01


class Question(NamedTuple):
    """The epsilon at a delta, or the delta at an epsilon, with the tail that may be cut."""

    delta: float | None
    epsilon: float | None
    tail: float

    def read(self, reading: Reading) -> float:
        """The number that a law gives."""
        if self.delta is not None:
            return reading.epsilon(self.delta)
        return reading.delta(self.epsilon or 0.0)

    def at(self, candidate: Candidate, direction: Direction, fineness: float) -> Found:
        """What a candidate gives on one lattice."""
        reading = candidate.reading(direction, side=Side.UPPER, fineness=fineness, tail=self.tail)
        return Found(self.read(reading), direction, candidate, fineness)

    @property
    def usual_fall(self) -> float:
        """By how much the log of a number grows with the square of the fineness: about."""
        return EPSILON_EXCESS if self.delta is not None else DELTA_EXCESS

    def fall(self, coarse: Found, fine: Found) -> float:
        """The same, measured; where it was none, the usual one."""
        if not (0 < fine.value < coarse.value < math.inf and fine.fineness < coarse.fineness):
            return self.usual_fall
        return math.log(coarse.value / fine.value) / (coarse.fineness**2 - fine.fineness**2)

    def grown(self, value: float, factor: float) -> float:
        """What a number may become if epsilon grows by a factor."""
        return value * float(factor ** (self.usual_fall / EPSILON_EXCESS))

    def bounds_of(self, profile: Profile, directions: Sequence[Direction]) -> Bounds:
        """The number that a profile gives, from both sides."""
        asked: dict[str, Any] = {"directions": directions, "accuracy": PROFILE_ACCURACY}
        try:
            if self.delta is not None:
                return profile.epsilon_bounds(self.delta, **asked)
            return profile.delta_bounds(self.epsilon or 0.0, **asked)
        except PrecisionError as error:
            return Bounds(error.lower, error.upper)

    def scale(self, value: float) -> float:
        """What an accuracy is relative to; delta moves faster than epsilon."""
        return max(value, SMALLEST_EPSILON) if self.delta is not None else DELTA_FACTOR * value


class Found(NamedTuple):
    """A number with the direction, the candidate and the fineness that gave it."""

    value: float
    direction: Direction
    candidate: Candidate
    fineness: float
