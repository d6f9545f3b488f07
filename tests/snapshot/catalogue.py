"""All questions of the snapshot, and the file with their numbers."""

from __future__ import annotations

from dataclasses import replace
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
# Questions that take about half a second or more, beside others of their kind that stay.
LONG = frozenset(
    (
        "allocation of 3, identity: auto",
        "allocation of 3, identity: decomposition",
        "allocation of 3, identity: profile",
        "allocation, identity: auto",
        "allocation, identity: profile",
        "allocation, truncated, identity: auto",
        "calibrate allocation, identity: method profile",
        "calibrate poisson, identity: direction add",
        "cyclic, matrix: auto",
        "estimated noise",
        "four bins, identity: conditional",
        "four bins, matrix: gram",
        "individual renyi",
        "min-sep, identity: poisson-reduction",
        "min-sep, short, coefficients: auto",
        "min-sep, short, coefficients: renyi",
        "poisson 2000, identity: auto",
        "poisson, at most 5, identity: auto",
        "poisson, at most 5, identity: profile",
        "poisson, identity: auto",
        "users, bsr: auto",
        "users, identity: auto",
        "verify: users, bsr",
    )
)
QUESTIONS: dict[str, Question] = {
    question.name: replace(question, long=question.long or question.name in LONG)
    for question in _ALL
}
assert QUESTIONS.keys() >= LONG, "a question that is not there"
assert len(QUESTIONS) == len(_ALL), "two questions have the same name"
