"""Where a search for noise starts: no bound, only the right order of magnitude."""

from __future__ import annotations

import math

from hockeystick._numerics.gaussian import gaussian_delta
from hockeystick._numerics.search import bracket
from hockeystick.accounting.secant import Start
from hockeystick.plan import Plan
from hockeystick.strategies import Strategy

__all__ = ["noise_guess", "start_of_search"]

SMALLEST, LARGEST = 0.05, 1e5
# The two limits are joined by the norm of this power.
NORM = 3.0
# The parameter of a Gaussian mechanism is found to this accuracy, and sought up to a multiple.
ACCURACY, FARTHEST = 1e-3, 1e3
# Between epsilon and so much more the slope is seen; and no start has a steeper one, or a flatter.
APART, STEEPEST, FLATTEST = 1.2, -3.0, -1.0


def start_of_search(plan: Plan, *, epsilon: float, delta: float) -> Start:
    """A guess at the noise, and how fast epsilon falls there."""
    near, below = (
        noise_guess(plan, epsilon=one, delta=delta) for one in (epsilon, APART * epsilon)
    )
    if not below < near:
        return Start(near)
    slope = math.log(APART) / math.log(below / near)
    return Start(near, min(max(slope, STEEPEST), FLATTEST))


def noise_guess(plan: Plan, *, epsilon: float, delta: float) -> float:
    """About the noise for (epsilon, delta), within ten per cent for many plans; instant.

    With much noise only the mean of what an example adds to C G counts: C 1 times the rate, as in a
    Gaussian mechanism. With little, a participation can be told, and what sampling hides is which
    one it was: that of a Gaussian mechanism whose epsilon is larger by log(1 / rate).
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
    joined: float = sum((one / largest) ** NORM for one in guesses) ** (1 / NORM) if rate < 1 else 1
    return min(max(largest * joined, SMALLEST), LARGEST)


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

    while not spent(high) and high < FARTHEST * low:
        high *= 2
    return bracket(spent, low / 2, high, tolerance=ACCURACY)[1]
