"""What a residual filter is told to expect: steps, or ranges of steps."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from hockeystick import _validate as check
from hockeystick.errors import InvalidParameter
from hockeystick.filters.request import expected_rows

__all__ = ["ExpectedRanges", "ExpectedSteps", "checked_ranges"]

# A number, or the ends of a range in which each value is as likely as any other.
Span = float | tuple[float, float]
ExpectedRanges = Iterable[tuple[Span, Span, int]]

ALLOWED = (
    "a list of (rate, noise_multiplier, steps), where rate and noise multiplier may be ranges, "
    "such as [(0.01, (0.8, 2.0), 500)]"
)


class ExpectedSteps(NamedTuple):
    """Steps whose rate and noise lie anywhere between two ends, which may be equal."""

    rates: tuple[float, float]
    noises: tuple[float, float]
    steps: int


def checked_ranges(expected: Any) -> tuple[ExpectedSteps, ...]:
    """The expected steps, one row or more; full batches if nothing is said."""
    if expected is None:
        return (ExpectedSteps((1.0, 1.0), (1.0, 1.0), 1),)
    return tuple(
        ExpectedSteps(
            _span(rate, lambda one: check.sampling_rate("rate in expected", one), expected),
            _span(
                noise, lambda one: check.noise_scale("noise_multiplier in expected", one), expected
            ),
            check.positive_integer("steps in expected", steps),
        )
        for rate, noise, steps in expected_rows(expected, ALLOWED)
    )


def _span(value: Any, checked: Any, expected: Any) -> tuple[float, float]:
    """Both ends, in order."""
    if not isinstance(value, (tuple, list)):
        one = checked(value)
        return one, one
    if len(value) != 2:
        raise InvalidParameter("expected", ALLOWED, expected)
    low, high = (checked(one) for one in value)
    if not low <= high:
        raise InvalidParameter("expected", f"{ALLOWED}, the smaller end first", expected)
    return low, high
