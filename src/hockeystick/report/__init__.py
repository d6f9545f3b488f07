"""Tables, figures and files made from guarantees; the library itself never imports this.

Here compared plans: in families, as plain values, and as the cells of a table; numbers as text; and
a sign of life on a terminal, silence in a pipe.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import MISSING, dataclass, fields
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.status import Status
from rich.text import Text

from hockeystick.schemes import Sampling

if TYPE_CHECKING:
    from hockeystick.accounting.compare import Compared

__all__ = [
    "COLUMNS",
    "Family",
    "StatusLine",
    "Update",
    "against",
    "cells",
    "count_text",
    "families",
    "family_of",
    "lower_text",
    "parameters_text",
    "percent_above",
    "progress",
    "result_row",
    "scheme_of",
    "settings_of",
    "strategy_text",
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


@dataclass(frozen=True)
class Family:
    """Candidates with the same scheme and strategy; the one with the least error is first."""

    label: str
    members: tuple[Compared, ...]

    @property
    def best(self) -> Compared:
        """The member with the least error."""
        return self.members[0]


def scheme_of(one: Compared) -> str:
    """The scheme by name; batches without chance are called fixed."""
    sampling = one.plan.sampling
    return "fixed batches" if sampling.participation_known else sampling.name


def family_of(one: Compared) -> str:
    """Scheme and strategy by name."""
    return f"{scheme_of(one)}, {strategy_text(one)}"


def families(compared: Sequence[Compared]) -> list[Family]:
    """All families in the order of their best members; `compared` is sorted by error."""
    found: dict[str, list[Compared]] = {}
    for one in compared:
        found.setdefault(family_of(one), []).append(one)
    return [Family(label, tuple(members)) for label, members in found.items()]


# Titles, and whether the column has numbers.
COLUMNS = (
    ("scheme", False),
    ("strategy", False),
    ("parameters", False),
    ("noise\nmultiplier", True),
    ("mse", True),
    ("against\nDP-SGD", True),
)


def strategy_text(one: Compared) -> str:
    """The factorization; the identity is called what it is."""
    return one.plan.strategy.name if one.plan.correlated else "independent"


def settings_of(sampling: Sampling) -> Iterator[tuple[str, Any]]:
    """The scheme's parameters that are not at their defaults."""
    for field in fields(sampling):
        value = getattr(sampling, field.name)
        if field.default is MISSING or value != field.default:
            yield field.name, value


def parameters_text(one: Compared) -> str:
    """What the scheme and the strategy are parametrised by, but for what follows from the scheme.

    Rates are those for the wanted batch size, to five digits.
    """
    of_strategy = one.plan.strategy.parameters.items()
    shown = dict(settings_of(one.plan.sampling))
    shown |= {name: value for name, value in of_strategy if name in ("bands", "buffers")}
    return ", ".join(_parameter(name, value) for name, value in shown.items() if value is not False)


def _parameter(name: str, value: object) -> str:
    words = name.replace("_", " ")
    if value is True:
        return words
    return f"{words} {value:.5g}" if isinstance(value, float) else f"{words} {value}"


def against(one: Compared, baseline: Compared | None) -> str:
    """The error relative to that of plain DP-SGD, in per cent."""
    if baseline is None or one is baseline:
        return "" if baseline is None else "baseline"
    return f"{percent_above(one, baseline):+d} %"


def percent_above(one: Compared, baseline: Compared) -> int:
    """By how much the error is above that of the baseline, rounded up: a gain never grows."""
    return math.ceil(100 * (one.mean_squared_error / baseline.mean_squared_error - 1))


def cells(one: Compared, baseline: Compared | None) -> tuple[str, ...]:
    """The texts of a row, one for each of the columns; upper bounds are rounded up."""
    return (
        scheme_of(one),
        strategy_text(one),
        parameters_text(one),
        upper_text(one.calibration.noise_multiplier),
        upper_text(one.mean_squared_error),
        against(one, baseline),
    )


def result_row(one: Compared, data: Any) -> dict[str, Any]:
    """What `--json` prints for a candidate; `data` are the examples, or whose they are."""
    return {
        **one.plan.describe(),
        "expected_batch_size": one.plan.sampling.expected_batch_size(data),
        "method": one.answer.method,
        "kind": one.answer.kind,
        "noise_multiplier": one.calibration.noise_multiplier,
        "reached_epsilon": one.answer.value,
        "mse": one.mean_squared_error,
        "seconds": round(one.seconds, 6),
    }
