"""Bounds from a profile, `ProfileBound` and `UpperLaws`, and a profile from bounds on delta.

`ProfileBound` computes both sides of a profile. `UpperLaws` computes the upper side alone: its
excess over the limit falls with the square of the grid step, so two steps show how much is left,
and the grid is refined until that is less than the accuracy. Every number is valid whether or not
that is reached.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from hockeystick import _validate as check
from hockeystick._numerics.divergence import ROUNDING, delta_from_law, epsilon_from_law
from hockeystick._numerics.envelope import law_of_deltas
from hockeystick._numerics.law import FloatArray, Law, Resolution, Side
from hockeystick.bounds import Bound, UpperBound
from hockeystick.errors import PrecisionError
from hockeystick.profile import Profile
from hockeystick.profile.expressions import Expression
from hockeystick.profile.expressions.discrete import Atoms
from hockeystick.profile.refinement import Bounds
from hockeystick.profile.resolution import (
    COARSE_ACCURACY,
    COARSE_TAILS,
    DELTA_FACTOR,
    DELTA_NATS,
    EPSILON_NATS,
    EPSILON_ROUNDING,
    NEGLIGIBLE_DELTA,
    SMALLEST_EPSILON,
    TAIL_BELOW_DELTA,
    Direction,
    beyond_all_losses,
    finest_step,
    first_step,
    oriented,
    tail_below,
)

__all__ = ["DeltaCurve", "ProfileBound", "UpperLaws", "profile_of_deltas", "upper_side"]

# Losses from 0 up, and a bound on delta at each of them.
DeltaCurve = tuple[FloatArray, FloatArray]

# The resolution of the law that stands for all requests: each rounding adds step^2/6 = 2e-5 of the
# variance, and the tail is below every delta of interest.
AS_PROFILE = Resolution(0.01, 1e-40, 12.0)
# Each law is this much finer than the one before, so twice the work; there are at most so many.
REFINEMENT, MOST_LAWS = 0.7, 4
# Of the difference between two laws, so much is still to come: r^2 / (1 - r^2).
STILL_TO_COME = REFINEMENT**2 / (1 - REFINEMENT**2)


def upper_side(profile: Profile, *, negligible: float = 0.0) -> Bound:
    """Upper bounds of a profile that is not tight: from its formula, or its upper laws alone."""
    bound = ProfileBound(profile)
    return bound if bound.closed_form else UpperLaws(profile, negligible=negligible)


@dataclass(frozen=True)
class ProfileBound(Bound):
    """The numbers of a profile, which dominates the run.

    `exact` says that it is the profile of the run's own dominating pair. Only then is its lower
    side a lower bound on the truth. `details` stand beside every number. `below` are profiles that
    the run dominates: lower bounds as well, computed when they are read.
    """

    profile: Profile
    exact: bool = False
    details: Mapping[str, object] = field(default_factory=dict)
    below: tuple[Profile, ...] = ()

    @property
    def tight(self) -> bool:
        """Whether the pair is the run's own."""
        return self.exact

    @property
    def closed_form(self) -> bool:
        """That of the profile."""
        return self.profile.has_formula

    def epsilon(
        self, delta: float, *, directions: Sequence[Direction], accuracy: float
    ) -> UpperBound:
        """That of the profile, both sides in one evaluation."""

        def bounds(profile: Profile) -> Bounds:
            return profile.epsilon_bounds(delta, directions=directions, accuracy=accuracy)

        return self._answer(bounds)

    def delta(
        self, epsilon: float, *, directions: Sequence[Direction], accuracy: float
    ) -> UpperBound:
        """That of the profile, both sides in one evaluation."""

        def bounds(profile: Profile) -> Bounds:
            return profile.delta_bounds(epsilon, directions=directions, accuracy=accuracy)

        return self._answer(bounds)

    def as_profile(self) -> Profile:
        """The profile itself."""
        return self.profile

    def _answer(self, bounds: Callable[[Profile], Bounds]) -> UpperBound:
        found = bounds(self.profile)

        def lower() -> float | None:
            if self.exact:
                return found.lower
            return max((_lower(bounds, one) for one in self.below), default=None)

        return UpperBound(found.upper, details=self.details, find_lower=lower)


def _lower(bounds: Callable[[Profile], Bounds], profile: Profile) -> float:
    """The lower side of a profile, also if the accuracy is missed."""
    try:
        return bounds(profile).lower
    except PrecisionError as error:
        return error.lower


class UpperLaws(Bound):
    """The upper laws of a profile alone: half the cost where the lower side would say nothing.

    Values of delta below `negligible` need not be told apart: something of that size is added.
    """

    def __init__(self, profile: Profile, *, negligible: float = 0.0) -> None:
        self._profile = profile
        self._negligible = negligible
        self._known: tuple[Resolution, Law] | None = None

    def epsilon(
        self, delta: float, *, directions: Sequence[Direction], accuracy: float
    ) -> UpperBound:
        """The smallest epsilon that was read when refining stopped."""
        delta = check.small_probability("delta", delta)

        def read(law: Law) -> float:
            worst = max(
                epsilon_from_law(oriented(law, d), delta / (1 + ROUNDING)) for d in directions
            )
            return worst * (1 + EPSILON_ROUNDING)

        def allowed(value: float) -> float:
            return accuracy * max(value, SMALLEST_EPSILON)

        return UpperBound(self._settled(read, allowed, tail_below(delta), EPSILON_NATS, accuracy))

    def delta(
        self, epsilon: float, *, directions: Sequence[Direction], accuracy: float
    ) -> UpperBound:
        """The smallest delta that was read when refining stopped."""
        epsilon = check.real("epsilon", epsilon)
        if beyond_all_losses(self._expression, epsilon, directions):
            return UpperBound(0.0)

        def read(law: Law) -> float:
            # Losses are rounded too, which next to an atom may be all of delta.
            at = epsilon - EPSILON_ROUNDING * abs(epsilon) if math.isfinite(epsilon) else epsilon
            worst = max(delta_from_law(oriented(law, d), at) for d in directions)
            return min(1.0, worst * (1 + ROUNDING))

        def allowed(value: float) -> float:
            return DELTA_FACTOR * accuracy * max(value, self._negligible)

        last = tail_below(self._negligible)
        value = 1.0
        for tail in (*(tail for tail in COARSE_TAILS if tail > last), last):
            # A coarse law shows whether the tail matters, before finer ones are computed.
            value = min(value, read(self._law(first_step(self._expression, COARSE_ACCURACY), tail)))
            if value <= NEGLIGIBLE_DELTA:
                break
            if tail > max(last, TAIL_BELOW_DELTA * max(value, self._negligible)):
                continue
            value = min(value, self._settled(read, allowed, tail, DELTA_NATS, accuracy))
            if tail <= TAIL_BELOW_DELTA * max(value, self._negligible):
                break
        return UpperBound(value)

    def as_profile(self) -> Profile:
        """The upper law at one fine resolution: a pair of its own."""
        return Profile(Atoms(self._profile.expression.law(Side.UPPER, AS_PROFILE)))

    def _settled(
        self,
        read: Callable[[Law], float],
        allowed: Callable[[float], float],
        tail: float,
        nats: float,
        accuracy: float,
    ) -> float:
        """The smallest number that was read when refining stopped."""
        coarse = first_step(self._expression, COARSE_ACCURACY)
        finest = finest_step(self._law(coarse, tail, nats), coarse)
        step = max(first_step(self._expression, accuracy), finest)
        best = read(self._law(step, tail, nats))
        for _ in range(MOST_LAWS - 1):
            if step <= finest:
                break
            step *= REFINEMENT
            finer = read(self._law(step, tail, nats))
            settled = (best - finer) * STILL_TO_COME <= allowed(finer) or finer == best
            best = min(best, finer)
            if settled:
                break
        return float(best)

    @property
    def _expression(self) -> Expression:
        return self._profile.expression

    def _law(self, step: float, tail: float, nats: float = DELTA_NATS) -> Law:
        """The upper law; the last one is remembered."""
        resolution = Resolution(step, tail, nats)
        if self._known is None or self._known[0] != resolution:
            self._known = resolution, self._expression.law(Side.UPPER, resolution)
        return self._known[1]


def profile_of_deltas(remove: DeltaCurve, add: DeltaCurve) -> Profile:
    """The pair with the largest convex profile below all bounds; that of the run lies below it."""
    loss = np.concatenate((-add[0][:0:-1], remove[0]))
    centre = min(remove[1][0], add[1][0])
    delta = np.concatenate((add[1][:0:-1], [centre], remove[1][1:]))
    return Profile(Atoms(law_of_deltas(loss, np.minimum(delta, 1.0))))
