"""A source of numbers for a run in which the example takes part only with some probability.

LR becomes 1 - r + r LR, so each number follows from one number of the source, exactly:
H(P || Q) at e^e is r times that of the source at h = 1 + (e^e - 1)/r, and H(Q || P) at e^e is
e^e r h' times that of the source at 1/h', h' = 1 + (e^-e - 1)/r, or 0 if h' is not positive.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from hockeystick._numerics.mixed_ratio import argument_growth, mixed_loss, unmixed_loss
from hockeystick.bounds.bound import Source
from hockeystick.profile import Profile
from hockeystick.profile.refinement import Bounds, Direction

__all__ = ["SubsampledSource", "taking_part"]

# What an epsilon loses to floating point when it is carried over, and what a delta loses.
EPSILON_ROUNDING, DELTA_ROUNDING = 1e-15, 1e-12


def taking_part(source: Source, rate: float) -> Source:
    """The source itself if the example always takes part."""
    return source if rate == 1.0 else SubsampledSource(source, rate)


class SubsampledSource:
    """Upper bounds; nothing is claimed from below."""

    has_formula = False

    def __init__(self, source: Source, rate: float) -> None:
        self._source = source
        self._rate = rate

    def epsilon_bounds(
        self, delta: float, *, directions: Sequence[Direction], accuracy: float
    ) -> Bounds:
        """The epsilon of the source at delta / rate, carried over.

        In the add direction the exact factor of H is at most the rate, so this is an upper bound;
        close to exact, because the factor is near the rate unless epsilon is large.
        """
        if delta >= self._rate:
            return Bounds(0.0, 0.0)
        worst = 0.0
        for direction in directions:
            inner = self._source.epsilon_bounds(
                delta / self._rate * (1 - EPSILON_ROUNDING),
                directions=(direction,),
                accuracy=accuracy,
            ).upper
            worst = max(worst, self._diluted(inner, direction))
        return Bounds(0.0, worst * (1 + EPSILON_ROUNDING))

    def delta_bounds(
        self, epsilon: float, *, directions: Sequence[Direction], accuracy: float
    ) -> Bounds:
        """One number of the source for each direction."""
        if math.isfinite(epsilon):
            epsilon -= EPSILON_ROUNDING * argument_growth(self._rate) * abs(epsilon)
        read = {"remove": self._removed, "add": self._added}
        worst = max(read[direction](epsilon, accuracy) for direction in directions)
        return Bounds(0.0, min(worst * (1 + DELTA_ROUNDING), 1.0))

    def as_profile(self) -> Profile:
        """The source's pair, subsampled."""
        return self._source.as_profile().subsample(self._rate)

    def _diluted(self, epsilon: float, direction: Direction) -> float:
        """log(1 - r + r e^epsilon), or for the inverse ratio -log(1 - r + r e^-epsilon)."""
        if direction == "add":
            return -mixed_loss(self._rate, -epsilon)
        return mixed_loss(self._rate, epsilon)

    def _removed(self, epsilon: float, accuracy: float) -> float:
        at = unmixed_loss(self._rate, epsilon)
        if at == -math.inf:
            return -math.expm1(epsilon)
        inner = self._source.delta_bounds(at, directions=("remove",), accuracy=accuracy).upper
        return self._rate * inner

    def _added(self, epsilon: float, accuracy: float) -> float:
        log_level = unmixed_loss(self._rate, -epsilon)
        if log_level == -math.inf:
            return 0.0
        inner = self._source.delta_bounds(-log_level, directions=("add",), accuracy=accuracy).upper
        return math.exp(epsilon + log_level) * self._rate * inner
