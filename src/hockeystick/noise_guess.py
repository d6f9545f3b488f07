"""Where a search for noise starts: no bound, only the right order of magnitude."""

from __future__ import annotations

import math

from hockeystick.plan import Plan
from hockeystick.strategies import Strategy

__all__ = ["noise_guess"]

SMALLEST, LARGEST = 0.05, 1e5


def noise_guess(plan: Plan, *, epsilon: float, delta: float) -> float:
    """About the noise for (epsilon, delta), within a factor of two for most plans; instant.

    With much noise only the mean of what an example adds to C G counts: C 1 times the rate, as in a
    Gaussian mechanism. With little, a participation can be told, and what sampling hides is which
    one it was: that of a Gaussian mechanism whose epsilon is larger by log(1 / rate).
    """
    together, longest = _lengths(plan.strategy)
    rate = min(plan.sampling.expected_batch_size(1_000_000) / 1e6, 1.0)
    most = plan.sampling.most_participations(plan.steps)
    participations = min(max(rate * plan.steps, 1.0), most)
    length = longest * math.sqrt(participations)
    guess = max(
        rate * together / _gaussian_parameter(epsilon, delta),
        length / _gaussian_parameter(epsilon + math.log(1 / rate), delta),
    )
    return min(max(guess, SMALLEST), LARGEST)


def _lengths(strategy: Strategy) -> tuple[float, float]:
    """Of all columns together, and of the longest; a run of any length has independent noise."""
    if strategy.is_identity:
        return math.sqrt(strategy.steps), 1.0
    together = math.sqrt(float((strategy.summed_columns(spacing=1) ** 2).sum()))
    return together, float(strategy.column_norms.max())


def _gaussian_parameter(epsilon: float, delta: float) -> float:
    """The mu with mu^2 / 2 + mu sqrt(2 log(1 / delta)) = epsilon."""
    tail = 2 * math.log(1 / delta)
    return 2 * epsilon / (math.sqrt(tail + 2 * epsilon) + math.sqrt(tail))
