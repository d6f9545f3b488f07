"""The best of several bounds on one run, the most promising one computed in full."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce

from hockeystick.bounds.bound import Source
from hockeystick.profile import Profile
from hockeystick.profile.refinement import Bounds, Direction

__all__ = ["BestOf"]

# Bounds are compared at this accuracy.
COARSE = 0.05


class BestOf:
    """Upper bounds: each direction takes the source that is best for it. Nothing from below."""

    has_formula = False

    def __init__(self, sources: Sequence[Source]) -> None:
        self._sources = sources

    def epsilon_bounds(
        self, delta: float, *, directions: Sequence[Direction], accuracy: float
    ) -> Bounds:
        """The largest over the directions of the smallest over the sources."""

        def ask(source: Source, direction: Direction, at: float) -> float:
            return source.epsilon_bounds(delta, directions=(direction,), accuracy=at).upper

        return self._worst(ask, directions, accuracy)

    def delta_bounds(
        self, epsilon: float, *, directions: Sequence[Direction], accuracy: float
    ) -> Bounds:
        """The largest over the directions of the smallest over the sources."""

        def ask(source: Source, direction: Direction, at: float) -> float:
            return source.delta_bounds(epsilon, directions=(direction,), accuracy=at).upper

        return self._worst(ask, directions, accuracy)

    def as_profile(self) -> Profile:
        """The convex envelope of all of them."""
        return reduce(Profile.minimum, (source.as_profile() for source in self._sources))

    def _worst(
        self,
        ask: Callable[[Source, Direction, float], float],
        directions: Sequence[Direction],
        accuracy: float,
    ) -> Bounds:
        def best(direction: Direction) -> float:
            rough: list[float] = []
            for source in self._sources:
                rough.append(ask(source, direction, max(COARSE, accuracy)))
                if rough[-1] == 0:
                    return 0.0
            chosen = self._sources[rough.index(min(rough))]
            return min(*rough, ask(chosen, direction, accuracy))

        return Bounds(0.0, max(best(direction) for direction in directions))
