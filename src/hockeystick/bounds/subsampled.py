"""The bound of a run in which the example takes part only with some probability.

LR becomes 1 - r + r LR, so each number follows from one number of the full run, exactly:
H(P || Q) at e^e is r times that of the full run at h = 1 + (e^e - 1)/r, and H(Q || P) at e^e is
e^e r h' times that of the full run at 1/h', h' = 1 + (e^-e - 1)/r, or 0 if h' is not positive.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from hockeystick._numerics.mixed_ratio import argument_growth, mixed_loss, unmixed_loss
from hockeystick.bounds.bound import Bound, UpperBound, largest
from hockeystick.profile import Profile
from hockeystick.profile.resolution import Direction

__all__ = ["SubsampledBound", "subsampled"]

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
