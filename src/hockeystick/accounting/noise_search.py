"""The search for the noise with a wanted epsilon: a first guess, then a safeguarded secant.

Nothing here makes a bound: `calibrate` returns a noise only with its own guarantee.
`Calibration` is what `calibrate` returns.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from hockeystick._numerics.gaussian import gaussian_delta
from hockeystick._numerics.search import bracket
from hockeystick.errors import CalibrationError
from hockeystick.guarantee import Guarantee
from hockeystick.plan import Accountable, Plan
from hockeystick.strategies import Strategy

__all__ = [
    "Calibration",
    "Start",
    "first_guess",
    "noise_guess",
    "noise_secant",
]

# The range of noise multipliers that is searched: beyond it epsilon or the error is of no use.
SMALLEST_NOISE, LARGEST_NOISE = 1e-3, 1e7


@dataclass(frozen=True)
class GuessSettings:
    """How the first noise is guessed."""

    # Guesses are kept inside this range, well within the one that is searched.
    smallest: float = 0.05
    largest: float = 1e5
    # The limits of much and of little noise are joined by the norm of this power: between the sum,
    # which counts what both describe twice, and the maximum.
    norm: float = 3.0
    # The Gaussian mechanism's mu is found to this accuracy, and sought up to this multiple.
    accuracy: float = 1e-3
    farthest: float = 1e3
    # The slope is that between the guesses for epsilon and for so much more; it is kept between
    # -1, that of a Gaussian mechanism at high noise, and somewhat below -2, that at low noise.
    apart: float = 1.2
    steepest: float = -3.0
    flattest: float = -1.0


@dataclass(frozen=True)
class SecantSettings:
    """When the secant is believed, and when the search has arrived."""

    # Halving log noise from a range of 30 down to the rounding of doubles takes 58.
    most_evaluations: int = 80
    # A flatter secant is where another analysis becomes the best one; the slope before is kept.
    flattest: float = -0.5
    # Where epsilon falls this many times as fast as the slope between two noises it jumps, from one
    # analysis to another; an answer this close to a jump, in log noise, is close enough.
    jump: float = 2.0
    near_a_jump: float = 1e-3
    # After so many evaluations on one side of the bracket it is halved; no step is longer.
    longest_streak: int = 3
    longest_step: float = math.log(8)
    # After so many on one side without a bracket the longest steps are taken.
    flat_streak: int = 6


GUESS, SECANT = GuessSettings(), SecantSettings()


class Start(NamedTuple):
    """A noise near the answer, and the power of the noise by which epsilon falls there."""

    noise: float
    # Between the limits of much noise, -1, and of little, -2; used where two guesses tell no slope,
    # and replaced by the secant after the second evaluation.
    slope: float = -1.3


def first_guess(run: Accountable, *, epsilon: float, delta: float) -> Start:
    """A guess at the noise, and how fast epsilon falls there."""
    near, lower = (
        _factor_guess(run, epsilon=one, delta=delta) for one in (epsilon, GUESS.apart * epsilon)
    )
    if not lower < near:
        return Start(near)
    slope = math.log(GUESS.apart) / math.log(lower / near)
    return Start(near, min(max(slope, GUESS.steepest), GUESS.flattest))


def _factor_guess(run: Accountable, *, epsilon: float, delta: float) -> float:
    """The common factor of several parts, as if all of them were Gaussian mechanisms.

    The squares of their mu add up, and mu is inverse to the noise.
    """
    return math.hypot(
        *(
            noise_guess(plan, epsilon=epsilon, delta=delta) / relative_noise
            for plan, relative_noise in run.parts
        )
    )


def noise_guess(plan: Plan, *, epsilon: float, delta: float) -> float:
    """About the noise for (epsilon, delta), within ten per cent for many plans; instant.

    With much noise only the mean of what an example adds to C G counts: C 1 times the rate, as in a
    Gaussian mechanism. With little noise a participation is visible, and sampling hides which one
    it was: a Gaussian mechanism whose epsilon is larger by log(1 / rate).
    """
    together, longest = _lengths(plan.strategy)
    rate = min(plan.sampling.expected_batch_size(1_000_000) / 1e6, 1.0)
    most = plan.sampling.most_participations(plan.steps)
    participations = min(max(rate * plan.steps, 1.0), most)
    length = longest * math.sqrt(participations)
    guesses = (
        rate * together / _gaussian_parameter(epsilon, delta),
        length / _gaussian_parameter(epsilon + math.log(1 / rate), delta),
    )
    largest = max(guesses)
    # Where all take part in all steps both are the same.
    norm = GUESS.norm
    joined: float = sum((one / largest) ** norm for one in guesses) ** (1 / norm) if rate < 1 else 1
    return min(max(largest * joined, GUESS.smallest), GUESS.largest)


def _lengths(strategy: Strategy) -> tuple[float, float]:
    """Of all columns together, and of the longest; a run of any length has independent noise."""
    if strategy.is_identity:
        return math.sqrt(strategy.steps), 1.0
    together = math.sqrt(float((strategy.summed_columns(spacing=1) ** 2).sum()))
    return together, float(strategy.column_norms.max())


def _gaussian_parameter(epsilon: float, delta: float) -> float:
    """The mu of a Gaussian mechanism that is (epsilon, delta)-DP, about.

    A little above the mu with mu^2 / 2 + mu sqrt(2 log(1 / delta)) = epsilon.
    """
    tail = 2 * math.log(1 / delta)
    low = high = 2 * epsilon / (math.sqrt(tail + 2 * epsilon) + math.sqrt(tail))

    def spent(mu: float) -> bool:
        return gaussian_delta(mu, epsilon) >= delta

    while not spent(high) and high < GUESS.farthest * low:
        high *= 2
    return bracket(spent, low / 2, high, tolerance=GUESS.accuracy)[1]


def noise_secant(
    epsilon_at: Callable[[float], float], target: float, *, start: Start, tolerance: float
) -> Start:
    """A noise with (1 - tolerance) target <= epsilon <= target, by a safeguarded secant search.

    It is the last one that was evaluated and met the target.

    `fails` and `holds` always bracket the answer once both are known; a step of the secant that
    would leave the bracket, or one that follows several on the same side, is replaced by the
    geometric middle. A bound may jump, where another analysis becomes the best one: a bracket that
    is narrow ends the search as well.
    """
    aim = math.log(target * (1 - tolerance / 2))
    sides, held = _Bracket(), math.inf
    noise, slope = start
    before: _Point | None = None
    for _ in range(SECANT.most_evaluations):
        epsilon = epsilon_at(noise)
        point = _Point(math.log(noise), math.log(epsilon) if epsilon > 0 else -math.inf)
        slope, before = _slope(before, point, slope), point
        sides = sides.with_point(point, holds=epsilon <= target)
        held = noise if epsilon <= target else held
        if target * (1 - tolerance) <= epsilon <= target:
            return Start(noise, slope)
        if epsilon <= target and noise <= SMALLEST_NOISE:
            return Start(noise, slope)
        if epsilon > target and noise >= LARGEST_NOISE:
            raise CalibrationError(
                f"No noise multiplier up to {LARGEST_NOISE:g} reaches epsilon = {target:g}; a "
                "larger epsilon or delta, or fewer steps, may.",
                page="docs/sharp-edges.md#limits-of-the-numbers",
            )
        if sides.width < sides.narrow(tolerance, slope):
            return Start(held, slope)
        noise = math.exp(sides.inside(_along(point, aim, slope)))
        noise = min(max(noise, SMALLEST_NOISE), LARGEST_NOISE)
    raise CalibrationError(
        f"The search for epsilon = {target:g} did not settle; method= with one of methods(plan) "
        "may.",
        page="docs/how-to-choose.md#a-method",
    )


class _Point(NamedTuple):
    """A log noise with its log epsilon."""

    noise: float
    epsilon: float


class _Bracket(NamedTuple):
    """The largest noise that fails, the smallest that holds, and how often one side moved."""

    fails: _Point = _Point(-math.inf, math.inf)
    holds: _Point = _Point(math.inf, -math.inf)
    # Positive: so many points in a row held; negative: failed.
    streak: int = 0

    @property
    def width(self) -> float:
        """In log noise."""
        return self.holds.noise - self.fails.noise

    def narrow(self, tolerance: float, slope: float) -> float:
        """The width at which the search ends; it is larger at a jump than on a slope."""
        drop = self.fails.epsilon - self.holds.epsilon
        if drop > SECANT.jump * abs(slope) * self.width:
            return max(tolerance, SECANT.near_a_jump)
        return tolerance / 2

    def with_point(self, point: _Point, *, holds: bool) -> _Bracket:
        """After one more evaluation."""
        if holds:
            return _Bracket(self.fails, point, max(self.streak, 0) + 1)
        return _Bracket(point, self.holds, min(self.streak, 0) - 1)

    def inside(self, wanted: float) -> float:
        """The wanted log noise, or the middle if that is outside or one side alone moves."""
        if not math.isfinite(self.width):
            if abs(self.streak) < SECANT.flat_streak:
                return wanted
            # epsilon hardly moves with the noise: its slope says nothing about how far to go.
            if self.streak > 0:
                return self.holds.noise - SECANT.longest_step
            return self.fails.noise + SECANT.longest_step
        low, high = self.fails.noise, self.holds.noise
        if low < wanted < high and abs(self.streak) < SECANT.longest_streak:
            return wanted
        return (low + high) / 2


def _slope(before: _Point | None, point: _Point, previous: float) -> float:
    """The secant of the last two points, if it falls."""
    if before is None or before.noise == point.noise:
        return previous
    slope = (point.epsilon - before.epsilon) / (point.noise - before.noise)
    return slope if math.isfinite(slope) and slope < SECANT.flattest else previous


def _along(point: _Point, aim: float, slope: float) -> float:
    """The next log noise along the slope, at most a factor of 8 away."""
    # An epsilon of 0 is too much noise, an infinite one too little.
    if math.isinf(point.epsilon):
        step = math.copysign(math.inf, point.epsilon)
    else:
        step = (aim - point.epsilon) / slope
    return point.noise + min(max(step, -SECANT.longest_step), SECANT.longest_step)


@dataclass(frozen=True)
class Calibration:
    """The smallest noise that was found to meet a target, with its guarantee.

    Attributes
    ----------
    noise_multiplier
        The standard deviation of the noise over the clip norm.
    guarantee
        What a run with this noise guarantees, as `account` gives it for the same settings;
        `guarantee.epsilon(delta) <= epsilon`.
    epsilon, delta
        The target.
    evaluations
        How many noise multipliers were evaluated, or tested by draws.

    Examples
    --------
    >>> import hockeystick as hs
    >>> found = hs.calibrate(hs.Plan(sampling=hs.FullBatch(), steps=4), epsilon=1.0, delta=1e-5)
    >>> found.guarantee.epsilon(found.delta) <= found.epsilon
    True
    """

    noise_multiplier: float
    guarantee: Guarantee
    epsilon: float
    delta: float
    evaluations: int
