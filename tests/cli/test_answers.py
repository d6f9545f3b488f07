"""One method or all of them, and which row is best."""

from __future__ import annotations

import pytest

import hockeystick as hs
from hockeystick.cli.answers import MethodAnswer, Row, answer_all, answer_of, best_of
from hockeystick.errors import CalibrationError, InvalidParameter, PrecisionError
from hockeystick.guarantee import Answer, Kind
from hockeystick.report import Update

PLAN = hs.Plan(sampling=hs.Poisson(rate=0.1), steps=3)
GUARANTEE = hs.account(PLAN, noise_multiplier=1.0, method="gaussian")


def silent(text: str) -> None:
    """No progress."""


def row(value: float | None, kind: Kind = "proven") -> Row:
    """A row with this number."""
    result = None if value is None else MethodAnswer(Answer(value, None, "m", kind), GUARANTEE)
    return Row("m", "m", kind, 0.0, result, None)


def test_the_best_is_the_smallest_of_the_strongest_kind() -> None:
    """A smaller number that is only conjectured does not beat a proven one."""
    rows = [row(None), row(1.0, "conjectured"), row(3.0), row(2.0), row(1.5, "asymptotic")]
    assert best_of(rows)[0] is rows[3]
    assert best_of(rows[:2])[0] is rows[1]


def test_one_method_is_asked_once_by_its_name() -> None:
    """The row keeps the name that was asked for beside the one that answered."""
    asked = []

    def ask(name: str, update: Update) -> MethodAnswer:
        asked.append(name)
        return MethodAnswer(Answer(1.0, None, "profile", "proven"), GUARANTEE)

    [only] = answer_all(PLAN, method="auto", ask=ask, update=silent)
    assert (asked, only.asked, only.method, only.value) == (["auto"], "auto", "profile", 1.0)


def test_all_methods_are_asked_and_failures_kept() -> None:
    """With "all" a failure is a row of its own with the error, and progress names each method."""
    told: list[str] = []

    def ask(name: str, update: Update) -> MethodAnswer:
        if name == "gaussian":
            raise CalibrationError("no noise is enough")
        return MethodAnswer(Answer(1.0, 0.9, name, "proven"), GUARANTEE)

    rows = answer_all(PLAN, method="all", ask=ask, update=told.append)
    assert [(r.method, r.value, r.error) for r in rows] == [
        ("gaussian", None, "no noise is enough"),
        ("profile", 1.0, None),
        ("renyi", 1.0, None),
        ("asymptotic-gdp", 1.0, None),
    ]
    assert told == [f"Asking {row.method} ..." for row in rows]


def test_bad_input_is_not_a_failed_method() -> None:
    """What is wrong for every method ends the question."""

    def ask(name: str, update: Update) -> MethodAnswer:
        raise InvalidParameter("delta", "in (0, 1)", 2)

    with pytest.raises(InvalidParameter):
        answer_all(PLAN, method="all", ask=ask, update=silent)


@pytest.mark.parametrize(("method", "upper"), [("profile", 2.0), ("all", float("inf"))])
def test_an_unusable_bound_is_an_error(
    monkeypatch: pytest.MonkeyPatch, method: str, upper: float
) -> None:
    """A method asked for alone keeps its promise of accuracy; an infinite bound says nothing."""

    def rough(self: hs.Guarantee, **question: object) -> Answer:
        raise PrecisionError("rough", lower=1.0, upper=upper)

    monkeypatch.setattr(hs.Guarantee, "answer", rough)
    with pytest.raises(PrecisionError):
        answer_of(GUARANTEE, method=method, delta=1e-5)
