"""Menus: what a residual filter is told to expect, may still give away, and what a request takes.

A menu is a composition of classes, so many steps of each. It pays for a step with one step of a
class that dominates it. Several menus share delta: each pays for every step until it cannot, and
the filter ends with the last of them (docs/residual.md, Several menus).

Expected are steps, or ranges of steps.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from hockeystick import _validate as check
from hockeystick._text import strict_json
from hockeystick.errors import InvalidParameter
from hockeystick.filters.request import expected_rows
from hockeystick.filters.residual.composition import StepClass

__all__ = [
    "ExpectedRanges",
    "ExpectedSteps",
    "Menu",
    "MenuDesign",
    "MenuState",
    "Payment",
    "checked_ranges",
    "least_noise",
    "paid",
    "taken_back",
]

Payment = dict[StepClass, int]


class Menu(NamedTuple):
    """A composition: classes of steps (rate, noise multiplier), and how many of each.

    Attributes
    ----------
    counts : tuple of (rate, noise_multiplier, steps)
        In any order.
    """

    counts: tuple[tuple[float, float, int], ...]

    def start(self) -> Payment:
        """The same as a mapping."""
        found: Payment = {}
        for rate, noise, steps in self.counts:
            one = StepClass(rate, noise)
            found[one] = found.get(one, 0) + steps
        return found

    @classmethod
    def of(cls, counts: Mapping[StepClass, int]) -> Menu:
        """The menu of these counts."""
        return cls(tuple((one.rate, one.noise, n) for one, n in counts.items() if n))


@dataclass(frozen=True)
class MenuDesign:
    """What a `Residual` filter starts with; that of one filter can be given to another.

    Parameters
    ----------
    menus
        The first one is for what is expected, the others for what is not.
    exchanges
        Units of slack, of all menus together: one for a few copies in the place of a step, and one
        for an exchange of whole menus, or a 25th of them if there are more than 25.
    slack
        What each unit may add to delta.

    Examples
    --------
    >>> import hockeystick as hs
    >>> hs.filters.MenuDesign(menus=[[(0.01, 1.0, 500)]]).steps
    500
    """

    menus: tuple[Menu, ...]
    exchanges: int = 0
    slack: float = 0.0

    def __post_init__(self) -> None:
        try:
            menus = tuple(Menu(tuple(map(_checked_class, menu_rows(one)))) for one in self.menus)
        except (TypeError, ValueError) as error:
            if isinstance(error, InvalidParameter):
                raise
            allowed = "lists of (rate, noise_multiplier, steps), one for each menu"
            raise InvalidParameter("menus", allowed, self.menus) from None
        if not menus or not all(menu.counts for menu in menus):
            raise InvalidParameter("menus", "one or more, none of them empty", self.menus)
        object.__setattr__(self, "menus", menus)
        if self.exchanges:
            check.positive_integer("exchanges", self.exchanges)
        check.at_least("slack", self.slack, 0.0)

    @property
    def steps(self) -> int:
        """Of the first menu."""
        return sum(steps for _, _, steps in self.menus[0].counts)

    def as_json(self) -> Mapping[str, object]:
        """The design as the ledger keeps it."""
        menus = [[list(row) for row in menu.counts] for menu in self.menus]
        return {"menus": menus, "exchanges": self.exchanges, "slack": self.slack}

    def as_text(self) -> str:
        """The same in one line, for `from_text`."""
        return json.dumps(self.as_json(), sort_keys=True)

    @classmethod
    def from_text(cls, text: str) -> MenuDesign:
        """The design that `as_text` wrote, to the last digit."""
        try:
            return cls(**dict(strict_json(text)))
        except (KeyError, TypeError, ValueError) as error:
            if isinstance(error, InvalidParameter):
                raise
            raise InvalidParameter("text", "what `as_text` wrote", text) from error


def menu_rows(menu: Any) -> Sequence[Any]:
    """The rows of a menu, or of a list that stands for one."""
    return menu.counts if isinstance(menu, Menu) else menu


def _checked_class(row: Any) -> tuple[float, float, int]:
    rate, noise, steps = row
    return (
        check.sampling_rate("rate in menus", rate),
        check.noise_scale("noise_multiplier in menus", noise),
        check.positive_integer("steps in menus", steps),
    )


class MenuState:
    """What is left of a menu; its classes from the weakest to the strongest."""

    def __init__(self, counts: Mapping[StepClass, int], exchanges: int) -> None:
        self.counts: Payment = {}
        self.exchanges, self.ended, self.variance = exchanges, False, 0.0
        self.change(counts, +1)

    def change(self, payment: Mapping[StepClass, int], sign: int) -> None:
        """Add counts, or take them away; what is not there cannot be taken."""
        for one, count in payment.items():
            if one not in self.counts:
                everything = {**self.counts, one: 0}
                ordered = sorted(everything, key=lambda kind: kind.variance)
                self.counts = {kind: everything[kind] for kind in ordered}
            left = self.counts[one] + sign * count
            if left < 0:
                raise InvalidParameter("counts of a menu", ">= 0 after every request", payment)
            self.counts[one] = left
        self.variance = math.fsum(one.variance * n for one, n in self.counts.items() if n)


def paid(state: MenuState, wanted: StepClass, steps: int) -> Payment | None:
    """What the menu pays for the steps, one by one with steps that dominate them; None if it can't.

    The weakest classes that serve a step are taken first: what is left then serves the most.
    """
    payment: Payment = {}
    missing = steps
    for one, there in state.counts.items():
        if there and one.serves(*wanted):
            here = min(there, missing)
            payment[one] = here
            missing -= here
            if not missing:
                return payment
    return None


def least_noise(state: MenuState, rate: float, noise: float, steps: int) -> float | None:
    """The least noise, from `noise` on, at which so many steps of the rate could be paid."""
    able = sorted((one.noise, n) for one, n in state.counts.items() if n and one.rate >= rate)
    seen = 0
    for at, n in able:
        seen += n
        if seen >= steps:
            return max(at, noise)
    return None


def taken_back(rows: Any) -> Payment:
    """A payment from the rows (rate, noise, steps) that an entry of the ledger has."""
    return {StepClass(float(rate), float(noise)): int(steps) for rate, noise, steps in rows}


# A number, or the ends of a range in which each value is as likely as any other; with a step those
# are low, low + step, ... up to high.
Span = float | tuple[float, float] | tuple[float, float, float]
ExpectedRanges = Iterable[tuple[Span, Span, int]]

# How far a number of steps may be from a whole one, by rounding; digits that sums are rounded to.
STEP_ROUNDING, STEP_DIGITS = 1e-6, 12
# More values than this are no different from a range without a step.
MOST_VALUES = 10_000

ALLOWED = (
    "a list of (rate, noise_multiplier, steps), where rate and noise multiplier may be ranges, "
    "such as [(0.01, (0.8, 2.0), 500)], and (0.8, 2.0, 0.1) every tenth from 0.8 to 2.0"
)


class Range(NamedTuple):
    """Numbers between two ends, which may be equal: all of them, or every `step` from `low` on."""

    low: float
    high: float
    step: float = 0.0

    @property
    def is_range(self) -> bool:
        """Whether there is more than one of them."""
        return self.low < self.high

    @property
    def values(self) -> float:
        """How many there are; infinitely many without a step."""
        if not self.step:
            return math.inf if self.is_range else 1
        return math.floor((self.high - self.low) / self.step + STEP_ROUNDING) + 1

    def at(self, share: float, *, downwards: bool = False) -> float:
        """The number at this share of the way to the upper end, or to the lower one."""
        if not self.step:
            start, end = (self.high, self.low) if downwards else (self.low, self.high)
            return start + (end - start) * share
        last = int(self.values) - 1
        index = min(math.floor(share * (last + 1)), last)
        return round(self.low + (last - index if downwards else index) * self.step, STEP_DIGITS)


class ExpectedSteps(NamedTuple):
    """Steps whose rate and noise lie anywhere in two ranges."""

    rates: Range
    noises: Range
    steps: int


def checked_ranges(expected: Any) -> tuple[ExpectedSteps, ...]:
    """The expected steps, one row or more; full batches if nothing is said."""
    if expected is None:
        return (ExpectedSteps(Range(1.0, 1.0), Range(1.0, 1.0), 1),)
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


def _span(value: Any, checked: Any, expected: Any) -> Range:
    """Both ends, in order, and the step."""
    if not isinstance(value, (tuple, list)):
        one = checked(value)
        return Range(one, one)
    if len(value) not in (2, 3):
        raise InvalidParameter("expected", ALLOWED, expected)
    low, high = (checked(one) for one in value[:2])
    if not low <= high:
        raise InvalidParameter("expected", f"{ALLOWED}, the smaller end first", expected)
    if len(value) == 2:
        return Range(low, high)
    step = check.positive("step in expected", value[2])
    if not (high - low) / MOST_VALUES <= step:
        allowed = f"{ALLOWED}, at most {MOST_VALUES} values"
        raise InvalidParameter("expected", allowed, expected)
    return Range(low, high, step)
