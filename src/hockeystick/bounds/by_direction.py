"""One source of numbers from bounds on each direction."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from hockeystick.bounds.bound import Source
from hockeystick.bounds.delta_curve import Prices, profile_of_prices
from hockeystick.profile import Profile
from hockeystick.profile.refinement import Bounds, Direction

__all__ = ["ByDirection", "Found"]

# The profile made of the bounds: its smallest delta, how many corners it has on either side, and
# how accurate they are.
SMALLEST_DELTA, CORNERS, ACCURACY = 1e-20, 400, 0.01


class Found(NamedTuple):
    """A number, the direction that it bounds, and which of the sources it came from."""

    value: float
    direction: Direction
    name: str


class ByDirection:
    """The remove direction from some sources, the add direction from others, the best of each.

    Every source is valid for its direction, so the smallest of their numbers is; the larger of the
    two directions is the answer. Nothing is claimed from below.
    """

    has_formula = False

    def __init__(self, *, remove: Mapping[str, Source], add: Mapping[str, Source]) -> None:
        self._sources: dict[Direction, Mapping[str, Source]] = {"remove": remove, "add": add}

    def epsilon_bounds(
        self, delta: float, *, directions: Sequence[Direction], accuracy: float
    ) -> Bounds:
        """The largest over the directions of the smallest over the sources."""
        return Bounds(0.0, self._epsilon(delta, directions, accuracy).value)

    def delta_bounds(
        self, epsilon: float, *, directions: Sequence[Direction], accuracy: float
    ) -> Bounds:
        """The largest over the directions of the smallest over the sources."""
        return Bounds(0.0, self._delta(epsilon, directions, accuracy).value)

    def worst(
        self, *, delta: float | None, epsilon: float | None, directions: Sequence[Direction]
    ) -> Found:
        """The number that decides, for the one of delta and epsilon that is not None."""
        if delta is not None:
            return self._epsilon(delta, directions, ACCURACY)
        return self._delta(epsilon or 0.0, directions, ACCURACY)

    def as_profile(self) -> Profile:
        """The convex envelope of the bounds at many epsilons, in both directions."""
        return profile_of_prices(self._prices("remove"), self._prices("add"))

    def _epsilon(self, delta: float, directions: Sequence[Direction], accuracy: float) -> Found:
        def ask(source: Source, direction: Direction) -> float:
            return source.epsilon_bounds(delta, directions=(direction,), accuracy=accuracy).upper

        return self._decides(ask, directions)

    def _delta(self, epsilon: float, directions: Sequence[Direction], accuracy: float) -> Found:
        def ask(source: Source, direction: Direction) -> float:
            return source.delta_bounds(epsilon, directions=(direction,), accuracy=accuracy).upper

        return self._decides(ask, directions)

    def _decides(
        self, ask: Callable[[Source, Direction], float], directions: Sequence[Direction]
    ) -> Found:
        best = [
            min(Found(ask(source, d), d, name) for name, source in self._sources[d].items())
            for d in directions
        ]
        return max(best)

    def _prices(self, direction: Direction) -> Prices:
        """From one pair for each source, so that no number is searched for more than once."""
        pairs = {name: source.as_profile() for name, source in self._sources[direction].items()}
        fixed = ByDirection(remove=pairs, add=pairs)
        end = fixed._epsilon(SMALLEST_DELTA, (direction,), ACCURACY).value
        loss = np.linspace(0.0, max(end, 1e-3) if math.isfinite(end) else 1.0, CORNERS)
        delta = [fixed._delta(float(at), (direction,), ACCURACY).value for at in loss]
        return loss, np.array(delta)
