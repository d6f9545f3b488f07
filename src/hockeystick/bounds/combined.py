"""Bounds made of others: the best of several, both directions from one, and a sampled run.

If the example takes part with probability r, LR becomes 1 - r + r LR, so each number follows from
one number of the full run, exactly: H(P || Q) at e^e is r times that of the full run at h = 1 +
(e^e - 1)/r, and H(Q || P) at e^e is e^e r h' times that of the full run at 1/h', h' = 1 + (e^-e -
1)/r, or 0 if h' is not positive.

For every mixture P = sum_x p_x N(m_x, s^2 I) against Q = N(0, s^2 I) and every epsilon >= 0

    E_Q(1 - e^epsilon LR)+  <=  E_Q(LR - e^epsilon)+,

adding never leaks more than removing: log LR is convex in the outputs, so by Ehrhard's inequality
[Ehrhard83] its law under Q is that of a convex increasing function of one normal variable, and such
a function is compared with a straight line (mathematics.md, "Adding leaks less than removing").
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce

import numpy as np

from hockeystick._numerics.mixed_ratio import argument_growth, mixed_loss, unmixed_loss
from hockeystick.bounds import Bound, UpperBound, largest
from hockeystick.bounds.profiles import DeltaCurve, profile_of_deltas
from hockeystick.profile import Profile
from hockeystick.profile.resolution import Direction

__all__ = [
    "BestOf",
    "ByDirection",
    "RemoveDecides",
    "RemoveForAdd",
    "SubsampledBound",
    "directions_that_decide",
    "subsampled",
]

# `BestOf` compares bounds at this accuracy, before the best one is computed in full: a law costs
# the square of 1/sqrt(accuracy).
COARSE = 0.05
# The profile of `ByDirection` or `RemoveForAdd`: its smallest delta, how many corners it has on
# either side, between which it is a chord, and how accurate they are.
SMALLEST_DELTA, CORNERS, ACCURACY = 1e-20, 400, 0.01

# A request for one direction at a given accuracy.
Request = Callable[[Bound, Direction, float], UpperBound]


class _ByRequest(Bound):
    """Both questions are answered by the same rule."""

    def epsilon(
        self, delta: float, *, directions: Sequence[Direction], accuracy: float
    ) -> UpperBound:
        """By the rule, from the epsilons of the bounds."""
        return self._answer(_epsilon_request(delta), directions, accuracy)

    def delta(
        self, epsilon: float, *, directions: Sequence[Direction], accuracy: float
    ) -> UpperBound:
        """By the rule, from the deltas of the bounds."""
        return self._answer(_delta_request(epsilon), directions, accuracy)

    @abstractmethod
    def _answer(self, request: Request, wanted: Sequence[Direction], accuracy: float) -> UpperBound:
        """The rule."""


class _DirectionByDirection(_ByRequest):
    """The best bound in each direction; the larger of the directions is the answer."""

    def _answer(self, request: Request, wanted: Sequence[Direction], accuracy: float) -> UpperBound:
        """The largest over the directions of the smallest over the bounds."""
        return largest(self._best(request, d, accuracy) for d in wanted)

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
        return min((*coarse, fine), key=lambda one: one.value)


class ByDirection(_DirectionByDirection):
    """The remove direction from some bounds, the add direction from others, the best of each.

    Every bound is valid for its direction, so the smallest of their numbers is.
    `details["bounded_by"]` is the name of the bound that decides in a direction with several.
    """

    def __init__(self, *, remove: Mapping[str, Bound], add: Mapping[str, Bound]) -> None:
        self._bounds: dict[Direction, Mapping[str, Bound]] = {"remove": remove, "add": add}

    def as_profile(self) -> Profile:
        """The convex envelope of the bounds at many epsilons, in both directions."""
        return profile_of_deltas(self._curve("remove"), self._curve("add"))

    def _best(self, request: Request, direction: Direction, accuracy: float) -> UpperBound:
        found = {
            name: request(bound, direction, accuracy)
            for name, bound in self._bounds[direction].items()
        }
        name = min(found, key=lambda one: found[one].value)
        if len(found) == 1:
            return found[name]
        return replace(found[name], details={**found[name].details, "bounded_by": name})

    def _curve(self, direction: Direction) -> DeltaCurve:
        """From one pair for each bound, so that no number is searched for more than once."""
        pairs = [bound.as_profile() for bound in self._bounds[direction].values()]
        return _smallest_deltas(pairs, direction)


def _smallest_deltas(pairs: Sequence[Profile], direction: Direction) -> DeltaCurve:
    """The smallest delta of the pairs at `CORNERS` epsilons, in one direction."""
    only = (direction,)
    end = min(
        pair.epsilon_bounds(SMALLEST_DELTA, directions=only, accuracy=ACCURACY).upper
        for pair in pairs
    )
    loss = np.linspace(0.0, max(end, 1e-3) if math.isfinite(end) else 1.0, CORNERS)

    def delta(at: float) -> float:
        return min(
            pair.delta_bounds(at, directions=only, accuracy=ACCURACY).upper for pair in pairs
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


# What an epsilon loses to floating point when it is carried over, and what a delta loses.
EPSILON_ROUNDING, DELTA_ROUNDING = 1e-15, 1e-12


def subsampled(bound: Bound, rate: float) -> Bound:
    """The bound for an example that takes part with probability `rate`; itself at rate 1."""
    return bound if rate == 1.0 else SubsampledBound(bound, rate)


@dataclass(frozen=True)
class SubsampledBound(Bound):
    """Upper bounds from those of the full run; lower bounds are not carried over."""

    full: Bound
    rate: float

    def epsilon(
        self, delta: float, *, directions: Sequence[Direction], accuracy: float
    ) -> UpperBound:
        """The epsilon of the full run at delta / rate, carried over.

        In the add direction the exact factor of H is at most the rate, so this is an upper bound;
        close to exact, because the factor is near the rate unless epsilon is large.
        """
        if delta >= self.rate:
            return UpperBound(0.0)

        def read(direction: Direction) -> UpperBound:
            inner = self.full.epsilon(
                delta / self.rate * (1 - EPSILON_ROUNDING),
                directions=(direction,),
                accuracy=accuracy,
            )
            epsilon = self._diluted(inner.value, direction) * (1 + EPSILON_ROUNDING)
            return UpperBound(max(epsilon, 0.0), direction, inner.details)

        return largest(map(read, directions))

    def delta(
        self, epsilon: float, *, directions: Sequence[Direction], accuracy: float
    ) -> UpperBound:
        """One number of the full run for each direction."""
        if math.isfinite(epsilon):
            epsilon -= EPSILON_ROUNDING * argument_growth(self.rate) * abs(epsilon)
        read = {"remove": self._removed, "add": self._added}
        return largest(read[direction](epsilon, accuracy) for direction in directions)

    def as_profile(self) -> Profile:
        """The pair of the full run, subsampled."""
        return self.full.as_profile().subsample(self.rate)

    def coarse_epsilon(self, delta: float, *, directions: Sequence[Direction]) -> float:
        """The estimate of the full run at delta / rate, carried over."""
        if delta >= self.rate:
            return 0.0
        inner = self.full.coarse_epsilon(delta / self.rate, directions=directions)
        return mixed_loss(self.rate, inner)

    def _diluted(self, epsilon: float, direction: Direction) -> float:
        """log(1 - r + r e^epsilon), or for the inverse ratio -log(1 - r + r e^-epsilon)."""
        if direction == "add":
            return -mixed_loss(self.rate, -epsilon)
        return mixed_loss(self.rate, epsilon)

    def _removed(self, epsilon: float, accuracy: float) -> UpperBound:
        at = unmixed_loss(self.rate, epsilon)
        if at == -math.inf:
            return UpperBound(_rounded(-math.expm1(epsilon)), "remove")
        inner = self.full.delta(at, directions=("remove",), accuracy=accuracy)
        return UpperBound(_rounded(self.rate * inner.value), "remove", inner.details)

    def _added(self, epsilon: float, accuracy: float) -> UpperBound:
        log_level = unmixed_loss(self.rate, -epsilon)
        if log_level == -math.inf:
            return UpperBound(0.0, "add")
        inner = self.full.delta(-log_level, directions=("add",), accuracy=accuracy)
        delta = math.exp(epsilon + log_level) * self.rate * inner.value
        return UpperBound(_rounded(delta), "add", inner.details)


def _rounded(delta: float) -> float:
    return min(delta * (1 + DELTA_ROUNDING), 1.0)


def directions_that_decide(directions: Sequence[Direction]) -> tuple[Direction, ...]:
    """The directions of which a mixture of Gaussians has to be asked: remove, if it is wanted."""
    return ("remove",) if "remove" in directions else tuple(directions)


@dataclass(frozen=True)
class RemoveForAdd(_ByRequest):
    """The remove direction of a bound, as one for both; valid for mixtures of Gaussians."""

    bound: Bound

    def _answer(self, request: Request, wanted: Sequence[Direction], accuracy: float) -> UpperBound:
        """That of removing, under the name of the direction."""
        return replace(request(self.bound, "remove", accuracy), direction=wanted[0])

    def as_profile(self) -> Profile:
        """The pair whose directions are both as the remove direction."""
        curve = _smallest_deltas([self.bound.as_profile()], "remove")
        return profile_of_deltas(curve, curve)


class RemoveDecides(_ByRequest):
    """A mixture of Gaussians: the remove direction is the answer for both.

    For adding alone the best one of `add` is, to which `RemoveForAdd` may belong.
    """

    def __init__(self, bound: Bound, *, add: Mapping[str, Bound]) -> None:
        self._bound, self._add = bound, add
        self._sides = ByDirection(remove={"remove": bound}, add=add)

    def _answer(self, request: Request, wanted: Sequence[Direction], accuracy: float) -> UpperBound:
        """Of removing; of adding if that alone is wanted."""
        return self._sides._answer(request, directions_that_decide(wanted), accuracy)

    def as_profile(self) -> Profile:
        """The bound's own pair if it knows both directions; otherwise from the bounds of each."""
        own = any(bound is self._bound for bound in self._add.values())
        return self._bound.as_profile() if own else self._sides.as_profile()

    def coarse_epsilon(self, delta: float, *, directions: Sequence[Direction]) -> float:
        """That of the bound."""
        return self._bound.coarse_epsilon(delta, directions=directions_that_decide(directions))
