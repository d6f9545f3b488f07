"""A source of numbers for a run in which the example takes part only with some probability.

LR becomes 1 - r + r LR, so each number follows from one number of the source, exactly:
H(P || Q) at e^e is r times that of the source at h = 1 + (e^e - 1)/r, and H(Q || P) at e^e is
e^e r h' times that of the source at 1/h', h' = 1 + (e^-e - 1)/r, or 0 if h' is not positive.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from hockeystick.evaluation import Bounds, Direction
from hockeystick.profile import Profile
from hockeystick.source import Source

__all__ = ["SubsampledSource", "taking_part"]


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
                delta / self._rate, directions=(direction,), accuracy=accuracy
            ).upper
            worst = max(worst, self._diluted(inner, direction))
        return Bounds(0.0, worst)

    def delta_bounds(
        self, epsilon: float, *, directions: Sequence[Direction], accuracy: float
    ) -> Bounds:
        """One number of the source for each direction."""
        worst = 0.0
        if "remove" in directions:
            shifted = math.expm1(epsilon) / self._rate if epsilon < 700 else math.inf
            at = epsilon - math.log(self._rate) if math.isinf(shifted) else math.log1p(shifted)
            inner = self._source.delta_bounds(at, directions=("remove",), accuracy=accuracy).upper
            worst = self._rate * inner
        if "add" in directions:
            worst = max(worst, self._added(epsilon, accuracy))
        return Bounds(0.0, worst)

    def as_profile(self) -> Profile:
        """The source's pair, subsampled."""
        return self._source.as_profile().subsample(self._rate)

    def _diluted(self, epsilon: float, direction: Direction) -> float:
        """log(1 - r + r e^epsilon), or for the inverse ratio -log(1 - r + r e^-epsilon)."""
        if direction == "add":
            return -math.log1p(self._rate * math.expm1(-epsilon))
        if epsilon > 700:
            return epsilon
        return math.log1p(self._rate * math.expm1(epsilon))

    def _added(self, epsilon: float, accuracy: float) -> float:
        level = 1 + math.expm1(-epsilon) / self._rate
        if not level > 0:
            return 0.0
        inner = self._source.delta_bounds(
            -math.log(level), directions=("add",), accuracy=accuracy
        ).upper
        return math.exp(epsilon) * self._rate * level * inner
