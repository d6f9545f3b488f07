"""What a bound from Gram matrices is asked, and what it finds."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from hockeystick.analyses.gram_candidates import Candidate, Reading
from hockeystick.errors import PrecisionError
from hockeystick.evaluation import DELTA_FACTOR, SMALLEST_EPSILON, Bounds, Direction
from hockeystick.profile import Profile

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

    def expected(self, value: float, finer: float) -> float:
        """What a value may become if the square of the fineness changes by `finer`."""
        if self.delta is not None:
            return value * (1 + EPSILON_EXCESS * finer)
        return value * math.exp(DELTA_EXCESS * finer)

    def grown(self, value: float, factor: float) -> float:
        """What a value may become if epsilon grows by a factor."""
        if self.delta is not None:
            return value * factor
        return value * float(factor ** (DELTA_EXCESS / EPSILON_EXCESS))

    def extrapolated(
        self, coarse: float, finer: float, squares: tuple[float, float, float]
    ) -> float:
        """What two values come to at a third square of the fineness, if their logs are linear."""
        first, second, wanted = squares
        if not 0 < finer < coarse < math.inf:
            return self.expected(finer, wanted - second)
        power: float = (wanted - second) / (first - second)
        return finer * float((coarse / finer) ** power)

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
