"""All questions of the snapshot, and the file with their numbers."""

from __future__ import annotations

from pathlib import Path

from snapshot import accounts, budgets, curves, draws, runs
from snapshot.questions import Question

RECORDED = Path(__file__).with_name("numbers.json")
_ALL = (
    *accounts.QUESTIONS,
    *draws.QUESTIONS,
    *budgets.QUESTIONS,
    *curves.QUESTIONS,
    *runs.QUESTIONS,
)
QUESTIONS: dict[str, Question] = {question.name: question for question in _ALL}
assert len(QUESTIONS) == len(_ALL), "two questions have the same name"
