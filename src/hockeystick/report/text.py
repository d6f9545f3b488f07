"""A sign of life on a terminal, silence in a pipe.

Numbers as text that stays on the safe side of what was proven.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal

from rich.console import Console
from rich.status import Status
from rich.text import Text

__all__ = [
    "StatusLine",
    "Update",
    "count_text",
    "lower_text",
    "progress",
    "upper_text",
]

Update = Callable[[str], None]


# Seconds after which the time is shown.
SHOWN_AFTER = 2.0


class _Timed:
    """A text, and how long it has been there."""

    def __init__(self, text: str) -> None:
        self._text, self._start = text, time.monotonic()

    def __rich__(self) -> Text:
        seconds = time.monotonic() - self._start
        return Text(f"{self._text} ({seconds:.0f} s)" if seconds >= SHOWN_AFTER else self._text)


class StatusLine:
    """A text that changes while work is done, and lines that stay above it; silent in a pipe."""

    def __init__(self, console: Console | None = None, status: Status | None = None) -> None:
        self._console, self._status = console, status

    def __call__(self, text: str) -> None:
        """Change the text."""
        if self._status is not None:
            self._status.update(_Timed(text))

    def line(self, text: str) -> None:
        """Print a line that stays."""
        if self._console is not None:
            self._console.print(text, markup=False, highlight=False, soft_wrap=True)


@contextmanager
def progress(text: str) -> Iterator[StatusLine]:
    """A spinner on standard error while the block runs, if that is a terminal; else nothing.

    Gives an object that changes the text when it is called, and prints lines above it.
    """
    console = Console(stderr=True)
    if not console.is_terminal:
        yield StatusLine()
        return
    with console.status(_Timed(text)) as status:
        yield StatusLine(console, status)


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
