"""`SelectionBound`: epsilon and delta of a search, from the profile of one of its runs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from hockeystick._numerics.law import Resolution, Side
from hockeystick._numerics.search import smallest_argument
from hockeystick.bounds.bound import Bound, UpperBound, largest
from hockeystick.bounds.profiles import DeltaCurve, profile_of_deltas
from hockeystick.profile import Profile
from hockeystick.profile.resolution import (
    DELTA_NATS,
    EPSILON_ROUNDING,
    Direction,
    oriented,
    tail_below,
)
from hockeystick.tuning.run_counts import RunCount
from hockeystick.tuning.selection import SelectionCurve, selection_curve

__all__ = ["SelectionBound"]

# Laws of one run at this step: each rounding adds step^2 / 6 = 2e-5 of the variance.
STEP = 0.01
# The profile: its smallest delta, and its corners on either side, between which it is a chord.
SMALLEST_DELTA, CORNERS = 1e-20, 400


class SelectionBound(Bound):
    """The best of a random number of runs; see `selection` for the proof.

    Parameters
    ----------
    profile
        A pair that dominates one run, in both directions.
    count
        The law of the number of runs.
    """

    def __init__(self, profile: Profile, count: RunCount) -> None:
        self._profile, self._count = profile, count
        self._curve = lru_cache(maxsize=8)(self._computed)

    def epsilon(
        self, delta: float, *, directions: Sequence[Direction], accuracy: float
    ) -> UpperBound:
        """By bisection on the bounds on delta; `accuracy` is that of the fixed grid, 0.1 %."""
        tail = tail_below(delta / max(self._count.mean, 1.0))
        return largest(self._epsilon(d, delta, self._curve(d, tail)) for d in directions)

    def delta(
        self, epsilon: float, *, directions: Sequence[Direction], accuracy: float
    ) -> UpperBound:
        """The smaller of the two bounds of `selection`."""
        tail = tail_below(SMALLEST_DELTA)
        at = epsilon - EPSILON_ROUNDING * abs(epsilon)
        return largest(UpperBound(self._curve(d, tail).delta(at), direction=d) for d in directions)

    def as_profile(self) -> Profile:
        """The largest convex function below the bounds at some hundred orders."""
        return profile_of_deltas(self._corners("remove"), self._corners("add"))

    def _corners(self, direction: Direction) -> DeltaCurve:
        end = self.epsilon(SMALLEST_DELTA, directions=(direction,), accuracy=STEP).value
        curve = self._curve(direction, tail_below(SMALLEST_DELTA))
        # Where delta never becomes small the losses of one run say how far it changes.
        last = end if math.isfinite(end) else 2 * float(curve.ordered_losses.max(initial=1.0))
        epsilons = np.linspace(0.0, max(last, STEP), CORNERS)
        return epsilons, np.array([curve.delta(float(one)) for one in epsilons])

    def _computed(self, direction: Direction, tail: float) -> SelectionCurve:
        law = self._profile.expression.law(Side.UPPER, Resolution(STEP, tail, DELTA_NATS))
        return selection_curve(oriented(law, direction), self._count)

    @staticmethod
    def _epsilon(direction: Direction, delta: float, curve: SelectionCurve) -> UpperBound:
        enough = smallest_argument(lambda epsilon: curve.delta(epsilon) <= delta)[1]
        return UpperBound(enough * (1 + EPSILON_ROUNDING), direction=direction)
