"""What the methods and the baselines answer to one question, before it is put into words."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from hockeystick.accounting import methods
from hockeystick.accounting.baselines import BASELINES, Baseline
from hockeystick.analyses import METHODS
from hockeystick.bounds.risk import RiskBounds
from hockeystick.errors import CalibrationError, HockeystickError, PrecisionError
from hockeystick.guarantee import KINDS, Answer, Guarantee, Kind, directions_for
from hockeystick.plan import Plan
from hockeystick.report import Update

__all__ = [
    "ALL",
    "Answers",
    "Ask",
    "BaselineAnswer",
    "BaselineQuestion",
    "MethodAnswer",
    "Quantity",
    "Row",
    "answer_all",
    "answer_of",
    "best_of",
]

ALL = "all"


@dataclass(frozen=True)
class MethodAnswer:
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
    """What one method said: `result`, or the `error` for which it gave no number.

    `asked` is the name by which the method was asked for, which may be "auto".
    """

    asked: str
    method: str
    kind: Kind
    seconds: float
    result: MethodAnswer | None
    error: str | None

    @property
    def value(self) -> float | None:
        """The number asked for, if there is one."""
        return None if self.result is None else self.result.answer.value


# Puts the question to a method, which may tell how far it is.
Ask = Callable[[str, Update], MethodAnswer]


def answer_of(
    guarantee: Guarantee,
    *,
    method: str,
    delta: float | None = None,
    epsilon: float | None = None,
) -> MethodAnswer:
    """The guarantee's answer; among all methods, also one that is less accurate than asked for."""
    try:
        return MethodAnswer(guarantee.answer(delta=delta, epsilon=epsilon), guarantee)
    except PrecisionError as error:
        if method != ALL or not math.isfinite(error.upper):
            raise
        answer = Answer(error.upper, None, guarantee.method, guarantee.kind)
        return MethodAnswer(answer, guarantee, error=str(error))


def answer_all(plan: Plan, *, method: str, ask: Ask, update: Update) -> list[Row]:
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


def best_of(rows: list[Row]) -> tuple[Row, MethodAnswer]:
    """The smallest number of the strongest kind; at least one row has a number."""
    numbers = [(row, row.result) for row in rows if row.result is not None]
    return min(numbers, key=lambda pair: (KINDS.index(pair[0].kind), pair[1].answer.value))


def _row(name: str, ask: Ask, update: Update) -> Row:
    start = time.perf_counter()
    result = ask(name, update)
    seconds = time.perf_counter() - start
    answer = result.answer
    return Row(name, answer.method, answer.kind, seconds, result, result.error)


@dataclass(frozen=True)
class BaselineAnswer:
    """What one baseline says."""

    name: str
    summary: str
    value: float
    seconds: float


@dataclass(frozen=True)
class BaselineQuestion:
    """The baselines to evaluate: at a delta or at an epsilon, whichever is given."""

    noise_multiplier: float
    accuracy: float
    direction: str
    epsilon: float | None = None
    delta: float | None = None

    def of(self, plan: Plan, update: Update) -> list[BaselineAnswer]:
        """Every baseline that there is for the plan."""
        found = []
        for baseline in BASELINES.values():
            if baseline.objection(plan) is None:
                update(f"Asking the baseline {baseline.name} ...")
                start = time.perf_counter()
                value = self._value(baseline, plan)
                seconds = time.perf_counter() - start
                found.append(BaselineAnswer(baseline.name, baseline.summary, value, seconds))
        return found

    def _value(self, baseline: Baseline, plan: Plan) -> float:
        bound = baseline.bound(plan, self.noise_multiplier)
        directions = directions_for(self.direction)
        if self.delta is not None:
            found = bound.epsilon(self.delta, directions=directions, accuracy=self.accuracy)
        else:
            assert self.epsilon is not None
            found = bound.delta(self.epsilon, directions=directions, accuracy=self.accuracy)
        return found.value


Quantity = Literal["epsilon", "delta", "noise_multiplier"]


@dataclass(frozen=True)
class Answers:
    """The rows of one question: `quantity` is what was asked for, `question` what was given."""

    plan: Mapping[str, Any]
    quantity: Quantity
    question: Mapping[str, float | str]
    rows: list[Row]
    plot: Path | None
    baselines: list[BaselineAnswer] = field(default_factory=list)
    risks: Mapping[str, RiskBounds] | None = None
