"""Public numbers are what they were when the snapshot was recorded."""

from __future__ import annotations

import json
from typing import Any

import pytest

from snapshot.catalogue import QUESTIONS, RECORDED
from snapshot.questions import Question, agrees

pytestmark = pytest.mark.slow

NUMBERS: dict[str, Any] = json.loads(RECORDED.read_text())
LONG = [pytest.mark.slow, pytest.mark.long]
CASES = [
    pytest.param(question, id=name, marks=LONG if question.long else [])
    for name, question in QUESTIONS.items()
]


@pytest.mark.parametrize("question", CASES)
def test_the_numbers_are_the_recorded_ones(question: Question) -> None:
    """Equal up to rounding, or where bounds are searched for not worse by more than 0.1 %."""
    assert question.differences(NUMBERS[question.name], question.ask()) == []


def test_every_question_is_recorded() -> None:
    """The file has the questions and no others; at least 300 numbers are compared every time."""
    assert list(NUMBERS) == list(QUESTIONS)
    quick = [NUMBERS[name] for name, question in QUESTIONS.items() if not question.long]
    numbers = [one for found in quick for one in found.values() if isinstance(one, float)]
    assert len(numbers) >= 300


def test_what_agrees() -> None:
    """Rounding is forgiven; searches may get better, and bounds from below larger."""
    assert agrees(1.0, 1.0 + 1e-13, "exact")
    assert not agrees(1.0, 1.0 - 1e-11, "exact")
    assert agrees(1.0, 0.5, "search")
    assert agrees(1.0, 1.0009, "search")
    assert not agrees(1.0, 1.002, "search")
    assert agrees(1.0, 2.0, "lower")
    assert not agrees(1.0, 0.998, "lower")
    assert agrees(float("inf"), float("inf"), "exact")
    assert not agrees(float("nan"), 1.0, "search")
    assert not agrees("proven", "verified", "search")
    assert not agrees(3, 4, "search")
