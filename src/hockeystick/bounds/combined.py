"""The best of several bounds on one run."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import reduce

import numpy as np

from hockeystick.bounds.bound import Bound, UpperBound, largest
from hockeystick.bounds.profiles import DeltaCurve, profile_of_deltas
from hockeystick.profile import Profile
from hockeystick.profile.resolution import Direction

__all__ = ["BestOf", "ByDirection"]

# `BestOf` compares bounds at this accuracy, before the best one is computed in full: a law costs
# the square of 1/sqrt(accuracy).
COARSE = 0.05
# The profile of `ByDirection`: its smallest delta, how many corners it has on either side, between
# which it is a chord, and how accurate they are.
SMALLEST_DELTA, CORNERS, ACCURACY = 1e-20, 400, 0.01

# A request for one direction at a given accuracy.
Request = Callable[[Bound, Direction, float], UpperBound]


class _DirectionByDirection(Bound):
    """The best bound in each direction; the larger of the directions is the answer."""

    def epsilon(
        self, delta: float, *, directions: Sequence[Direction], accuracy: float
    ) -> UpperBound:
        """The largest over the directions of the smallest over the bounds."""
        request = _epsilon_request(delta)
        return largest(self._best(request, d, accuracy) for d in directions)

    def delta(
        self, epsilon: float, *, directions: Sequence[Direction], accuracy: float
    ) -> UpperBound:
        """The largest over the directions of the smallest over the bounds."""
        request = _delta_request(epsilon)
        return largest(self._best(request, d, accuracy) for d in directions)

    @abstractmethod
    def _best(self, request: Request, direction: Direction, accuracy: float) -> UpperBound:
        """The smallest number that the bounds have for one direction."""


class BestOf(_DirectionByDirection):
    """In each direction the bound that is best for it at a coarse accuracy, computed in full.

    All of them are valid, so the smallest number is.
    """

    def __init__(self, bounds: Sequence[Bound]) -> None:
        self._bounds = bounds

    def as_profile(self) -> Profile:
        """The convex envelope of all of them."""
        return reduce(Profile.minimum, (bound.as_profile() for bound in self._bounds))

    def _best(self, request: Request, direction: Direction, accuracy: float) -> UpperBound:
        coarse: list[UpperBound] = []
        for bound in self._bounds:
            coarse.append(request(bound, direction, max(COARSE, accuracy)))
            if coarse[-1].value == 0:
                return coarse[-1]
        chosen = min(range(len(coarse)), key=lambda index: coarse[index].value)
        fine = request(self._bounds[chosen], direction, accuracy)
        return min((*coarse, fine), key=_value)


class ByDirection(_DirectionByDirection):
    """The remove direction from some bounds, the add direction from others, the best of each.

    Every bound is valid for its direction, so the smallest of their numbers is.
    `details["bounded_by"]` is the name of the bound that decides in a direction with several.
    """

    def __init__(self, *, remove: Mapping[str, Bound], add: Mapping[str, Bound]) -> None:
        self._bounds: dict[Direction, Mapping[str, Bound]] = {"remove": remove, "add": add}

    def as_profile(self) -> Profile:
        """The convex envelope of the bounds at many epsilons, in both directions."""
        return profile_of_deltas(self._delta_curve("remove"), self._delta_curve("add"))

    def _best(self, request: Request, direction: Direction, accuracy: float) -> UpperBound:
        found = {
            name: request(bound, direction, accuracy)
            for name, bound in self._bounds[direction].items()
        }
        name = min(found, key=lambda one: found[one].value)
        if len(found) == 1:
            return found[name]
        return replace(found[name], details={**found[name].details, "bounded_by": name})

    def _delta_curve(self, direction: Direction) -> DeltaCurve:
        """From one pair for each bound, so that no number is searched for more than once."""
        pairs = [bound.as_profile() for bound in self._bounds[direction].values()]

        def smallest(request: Callable[[Profile], float]) -> float:
            return min(map(request, pairs))

        only: Sequence[Direction] = (direction,)
        end = smallest(
            lambda pair: (
                pair.epsilon_bounds(SMALLEST_DELTA, directions=only, accuracy=ACCURACY).upper
            )
        )
        loss = np.linspace(0.0, max(end, 1e-3) if math.isfinite(end) else 1.0, CORNERS)

        def delta(at: float) -> float:
            return smallest(
                lambda pair: pair.delta_bounds(at, directions=only, accuracy=ACCURACY).upper
            )

        return loss, np.array([delta(at) for at in loss.tolist()])


def _epsilon_request(delta: float) -> Request:
    def request(bound: Bound, direction: Direction, accuracy: float) -> UpperBound:
        found = bound.epsilon(delta, directions=(direction,), accuracy=accuracy)
        return replace(found, direction=direction)

    return request


def _delta_request(epsilon: float) -> Request:
    def request(bound: Bound, direction: Direction, accuracy: float) -> UpperBound:
        found = bound.delta(epsilon, directions=(direction,), accuracy=accuracy)
        return replace(found, direction=direction)

    return request


def _value(bound: UpperBound) -> float:
    return bound.value
