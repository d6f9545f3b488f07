"""Lower bound, truth and upper bound of one pair, in both directions and over its whole range."""

from __future__ import annotations

import itertools
from typing import Any

from references.laws import measure
from references.outcomes import Outcomes, exact, hockey_stick, reverse

__all__ = ["assert_between", "assert_same_profile", "corners"]

# A tenth of what every answer is moved outwards by for the sake of floating point.
ROUNDING = 1e-9
# Losses and likelihood ratios are floating-point numbers: a bound is compared this far away,
# relative to the loss and relative to a likelihood ratio of one.
LOSS_ROUNDING, RATIO_ROUNDING = 1e-12, 4e-16
# Below this masses underflow.
SMALLEST = 1e-285


def corners(pair: Outcomes, most: int = 12) -> list[float]:
    """Epsilons that matter for the pair: its losses, the points between them, and beyond."""
    losses = sorted({float(exact.log(p / q)) for p, q in pair if p > 0 and q > 0})
    middles = [(a + b) / 2 for a, b in itertools.pairwise(losses)]
    points = sorted({0.0, *losses, *middles, *(losses[-1:] and [losses[-1] + 1, losses[0] - 1])})
    step = max(1, len(points) // most)
    return points[::step]


def assert_between(
    pair: Outcomes,
    lower: Any,
    upper: Any,
    *,
    epsilons: list[float] | None = None,
    shift: float = RATIO_ROUNDING,
) -> None:
    """The profile of the pair lies between those of the two laws, in both directions."""
    for forward in (True, False):
        truth, below, above = (
            pairs if forward else reverse(pairs) for pairs in (pair, measure(lower), measure(upper))
        )
        for epsilon in epsilons or corners(truth):
            move = LOSS_ROUNDING * abs(epsilon) + shift
            value = hockey_stick(truth, epsilon)
            high = hockey_stick(above, epsilon - move) * (1 + ROUNDING) + SMALLEST
            low = hockey_stick(below, epsilon + move) * (1 - ROUNDING) - SMALLEST
            assert low <= value, f"lower bound {low} above {value} at {epsilon}, {forward=}"
            assert value <= high, f"upper bound {high} below {value} at {epsilon}, {forward=}"


def assert_same_profile(pair: Outcomes, law: Any) -> None:
    """The law has exactly the profile of the pair."""
    assert_between(pair, law, law)
