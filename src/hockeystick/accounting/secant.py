"""The search for a noise with a wanted epsilon."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

from hockeystick.errors import CalibrationError

__all__ = ["Start", "noise_secant"]

# The range of noise multipliers that is searched.
SMALLEST_NOISE, LARGEST_NOISE = 1e-3, 1e7
MOST_EVALUATIONS = 80
# A secant that falls less is where another analysis takes over, and says little.
FLATTEST = -0.5
# Where epsilon falls so many times as fast as usual between two noises it jumps, from one analysis
# to another; and an answer so close to a jump, in logs, is close enough.
JUMP, NEAR_A_JUMP = 2.0, 1e-3
# A search that only moves one side of its bracket so often halves it; no step is longer, in logs.
LONGEST_STREAK, FARTHEST_STEP = 3, math.log(8)
# One that has so far only seen one side, so often, takes the longest steps.
FLAT_STREAK = 6


class Start(NamedTuple):
    """A noise near the answer, and the power of the noise by which epsilon falls there."""

    noise: float
    slope: float = -1.3


def noise_secant(
    price: Callable[[float], float], target: float, *, start: Start, tolerance: float
) -> Start:
    """A noise with (1 - tolerance) target <= epsilon <= target, by a safeguarded secant search.

    The last one that was priced and held.

    `fails` and `holds` always bracket the answer once both are known; a step of the secant that
    would leave the bracket, or one that follows several on the same side, is replaced by the
    geometric middle. A bound may jump, where another analysis becomes the best one: a bracket that
    is narrow ends the search as well.
    """
    aim = math.log(target * (1 - tolerance / 2))
    bracket, held = Bracket(), math.inf
    noise, slope = start
    before: Point | None = None
    for _ in range(MOST_EVALUATIONS):
        epsilon = price(noise)
        point = Point(math.log(noise), math.log(epsilon) if epsilon > 0 else -math.inf)
        slope, before = _slope(before, point, slope), point
        bracket = bracket.with_point(point, holds=epsilon <= target)
        held = noise if epsilon <= target else held
        if target * (1 - tolerance) <= epsilon <= target:
            return Start(noise, slope)
        if epsilon <= target and noise <= SMALLEST_NOISE:
            return Start(noise, slope)
        if epsilon > target and noise >= LARGEST_NOISE:
            raise CalibrationError(
                f"No noise multiplier up to {LARGEST_NOISE:g} reaches epsilon = {target:g}."
            )
        if bracket.width < bracket.narrow(tolerance, slope):
            return Start(held, slope)
        noise = math.exp(bracket.inside(_along(point, aim, slope)))
        noise = min(max(noise, SMALLEST_NOISE), LARGEST_NOISE)
    raise CalibrationError(f"The search for epsilon = {target:g} did not settle.")


class Point(NamedTuple):
    """A log noise with its log epsilon."""

    noise: float
    epsilon: float


class Bracket(NamedTuple):
    """The largest noise that fails, the smallest that holds, and how often one side moved."""

    fails: Point = Point(-math.inf, math.inf)
    holds: Point = Point(math.inf, -math.inf)
    # Positive: so many points in a row held; negative: failed.
    streak: int = 0

    @property
    def width(self) -> float:
        """In log noise."""
        return self.holds.noise - self.fails.noise

    def narrow(self, tolerance: float, slope: float) -> float:
        """Below which width nothing is to be gained; more is left to a jump than to a slope."""
        drop = self.fails.epsilon - self.holds.epsilon
        if drop > JUMP * abs(slope) * self.width:
            return max(tolerance, NEAR_A_JUMP)
        return tolerance / 2

    def with_point(self, point: Point, *, holds: bool) -> Bracket:
        """After one more evaluation."""
        if holds:
            return Bracket(self.fails, point, max(self.streak, 0) + 1)
        return Bracket(point, self.holds, min(self.streak, 0) - 1)

    def inside(self, wanted: float) -> float:
        """The wanted log noise, or the middle if that is outside or only one side moves."""
        if not math.isfinite(self.width):
            if abs(self.streak) < FLAT_STREAK:
                return wanted
            # epsilon hardly moves with the noise: its slope says nothing about how far to go.
            if self.streak > 0:
                return self.holds.noise - FARTHEST_STEP
            return self.fails.noise + FARTHEST_STEP
        low, high = self.fails.noise, self.holds.noise
        if low < wanted < high and abs(self.streak) < LONGEST_STREAK:
            return wanted
        return (low + high) / 2


def _slope(before: Point | None, point: Point, previous: float) -> float:
    """The secant of the last two points, if it falls."""
    if before is None or before.noise == point.noise:
        return previous
    slope = (point.epsilon - before.epsilon) / (point.noise - before.noise)
    return slope if math.isfinite(slope) and slope < FLATTEST else previous


def _along(point: Point, aim: float, slope: float) -> float:
    """The next log noise along the slope, at most a factor of 8 away."""
    # An epsilon of 0 is too much noise, an infinite one too little.
    if math.isinf(point.epsilon):
        step = math.copysign(math.inf, point.epsilon)
    else:
        step = (aim - point.epsilon) / slope
    return point.noise + min(max(step, -FARTHEST_STEP), FARTHEST_STEP)
