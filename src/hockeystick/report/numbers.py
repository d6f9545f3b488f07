"""Numbers as text that stays on the safe side of what was proven."""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal

__all__ = ["count_text", "lower_text", "upper_text"]

# Accuracies of bounds are a per mille: further digits would say nothing.
DIGITS = 5


def upper_text(value: float, digits: int = DIGITS) -> str:
    """An upper bound with `digits` significant digits, rounded up, so that it is still one."""
    return _text(value, digits, ROUND_CEILING)


def lower_text(value: float, digits: int = DIGITS) -> str:
    """A lower bound with `digits` significant digits, rounded down, so that it is still one."""
    return _text(value, digits, ROUND_FLOOR)


def count_text(value: int) -> str:
    """A whole number with its thousands separated."""
    return f"{value:,}"


def _text(value: float, digits: int, rounding: str) -> str:
    if value == 0 or not math.isfinite(value):
        return f"{value:g}"
    # Of the shortest decimal that reads back as the same number: 2.2 is 2.2000 and not 2.2001,
    # although the float is above it.
    exact = Decimal(repr(float(value)))
    rounded = Context(prec=digits, rounding=rounding).create_decimal(exact)
    exponent = rounded.adjusted()
    if -4 <= exponent < 7:
        return f"{rounded:.{max(digits - 1 - exponent, 0)}f}"
    return f"{rounded:.{digits - 1}e}"
