"""One question put to one method, or to all of them."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass

from hockeystick.accounting.account import methods
from hockeystick.analyses import METHODS
from hockeystick.errors import CalibrationError, HockeystickError, PrecisionError
from hockeystick.guarantee import KINDS, Answer, Guarantee, Kind
from hockeystick.plan import Plan
from hockeystick.report.progress import Update

__all__ = ["ALL", "Ask", "Priced", "Row", "answered", "best_of", "price"]

ALL = "all"


@dataclass(frozen=True)
class Priced:
    """An answer, the guarantee behind it, and what calibration adds.

    With an `error` the answer is valid, but not as accurate as was asked for.
    """

    answer: Answer
    guarantee: Guarantee
    reached_epsilon: float | None = None
    evaluations: int | None = None
    error: str | None = None


@dataclass(frozen=True)
class Row:
    """What one method said: `priced`, or the `error` for which it gave no number.

    `asked` is the name by which the method was asked for, which may be "auto".
    """

    asked: str
    method: str
    kind: Kind
    seconds: float
    priced: Priced | None
    error: str | None

    @property
    def value(self) -> float | None:
        """The number asked for, if there is one."""
        return None if self.priced is None else self.priced.answer.value


# Puts the question to a method, which may tell how far it is.
Ask = Callable[[str, Update], Priced]


def answered(
    guarantee: Guarantee,
    *,
    method: str,
    delta: float | None = None,
    epsilon: float | None = None,
) -> Priced:
    """The guarantee's answer; among all methods, also one that is less accurate than asked for."""
    try:
        return Priced(guarantee.answer(delta=delta, epsilon=epsilon), guarantee)
    except PrecisionError as error:
        if method != ALL or not math.isfinite(error.upper):
            raise
        answer = Answer(error.upper, None, guarantee.method, guarantee.kind)
        return Priced(answer, guarantee, error=str(error))


def price(plan: Plan, *, method: str, ask: Ask, update: Update) -> list[Row]:
    """A row for the method; with "all" a row for each that needs no draws, errors included.

    If none of them gives a number, the first error is raised. A plan to which nothing applies is
    asked about all the same, because the refusal says why.
    """
    kinds = {name: kind for name, kind in methods(plan).items() if not METHODS[name].by_draws}
    if method != ALL or not kinds:
        return [_row("auto" if method == ALL else method, ask, update)]
    rows: list[Row] = []
    errors: list[HockeystickError] = []
    for name, kind in kinds.items():
        update(f"Asking {name} ...")
        start = time.perf_counter()
        try:
            rows.append(_row(name, ask, update))
        except (PrecisionError, CalibrationError) as error:
            errors.append(error)
            seconds = time.perf_counter() - start
            rows.append(Row(name, name, kind, seconds, None, str(error)))
    if len(errors) == len(rows):
        raise errors[0]
    return rows


def best_of(rows: list[Row]) -> tuple[Row, Priced]:
    """The smallest number of the strongest kind; at least one row has a number."""
    numbers = [(row, row.priced) for row in rows if row.priced is not None]
    return min(numbers, key=lambda pair: (KINDS.index(pair[0].kind), pair[1].answer.value))


def _row(name: str, ask: Ask, update: Update) -> Row:
    start = time.perf_counter()
    priced = ask(name, update)
    seconds = time.perf_counter() - start
    answer = priced.answer
    return Row(name, answer.method, answer.kind, seconds, priced, priced.error)
