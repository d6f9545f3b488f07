"""The search for the majorant that answers a question best.

Which one does depends on the question: at high noise the sum of all entries of the Gram matrix
counts, at low noise its diagonal. So all of them race for each question.
"""

from __future__ import annotations

import math
from functools import cached_property

from hockeystick.analyses.gram.search.best_first import (
    FIRST_FINENESS,
    RING_EXCESS,
    SECOND_LOOK,
    Race,
)
from hockeystick.analyses.gram.search.candidates import Candidate
from hockeystick.analyses.gram.search.question import Found, Question
from hockeystick.profile.refinement import Direction

__all__ = ["GramSearch", "no_worse"]

# A lattice that should be fine enough is made a little finer.
NEARLY = 0.95
# What is expected of a ring from its line is doubted by this factor.
DOUBT = 0.98
# So many lattices are tried before the finest; what is worse by so little there is left at that.
LOOKS, LITTLE = 2, 1.003


class GramSearch:
    """Answers from candidates within a budget; answers and laws are kept."""

    def __init__(self, candidates: list[Candidate], budget: float) -> None:
        self._candidates = candidates
        self._budget = budget
        self._answers: dict[tuple[object, ...], Found] = {}

    def best(self, question: Question, direction: Direction, accuracy: float) -> Found:
        """The smallest number of one direction."""
        key = (question, direction, accuracy)
        if key not in self._answers:
            race = Race(self._candidates, self._budget, question, direction, accuracy)
            self._answers[key] = race.winner()
        return self._answers[key]


def no_worse(question: Question, direction: Direction, other: Found) -> Found | None:
    """The majorant of another direction, if it shows that this one is hardly worse.

    On a lattice that is as coarse as will do, and not finer than the other one's. With much noise
    both directions are nearly the same, and a search would find nearly the same.
    """
    scout = _Scout(question, direction, other)
    fineness = scout.first_guess()
    for _ in range(LOOKS):
        found = question.at(other.candidate, direction, fineness)
        if found.value <= other.value:
            return found
        fineness = scout.fine_enough(found, other.value)
    found = question.at(other.candidate, direction, other.fineness)
    return found if found.value <= question.grown(other.value, LITTLE) else None


class _Scout:
    """How coarse a lattice may do to come to another number, from what is seen of a line."""

    def __init__(self, question: Question, direction: Direction, other: Found) -> None:
        self._question, self._direction, self._other = question, direction, other
        self._first = max(FIRST_FINENESS, other.fineness)
        self._line = other.candidate.cut_open()

    def first_guess(self) -> float:
        """A ring is larger than the line by as much as in the other direction."""
        other = self._other
        seen = self._question.at(self._line, self._direction, self._first)
        if not other.candidate.mixture.ring:
            return self._first
        ring, line = (
            self._question.at(one, other.direction, self._first).value
            for one in (other.candidate, self._line)
        )
        wanted = other.value * line / ring if 0 < ring < math.inf else other.value
        return self.fine_enough(seen, self._question.grown(wanted, DOUBT))

    def fine_enough(self, found: Found, wanted: float) -> float:
        """Where a number may have fallen to what is wanted."""
        if found.value <= wanted:
            return self._first
        if not 0 < wanted < found.value < math.inf:
            return self._other.fineness
        square = found.fineness**2 - math.log(found.value / wanted) / self._fall
        return max(NEARLY * math.sqrt(max(square, 0.0)), self._other.fineness)

    @cached_property
    def _fall(self) -> float:
        """Of a ring, from two lattices of the line."""
        looks = [
            self._question.at(self._line, self._direction, fineness)
            for fineness in (self._first, SECOND_LOOK * self._first)
        ]
        ring = self._other.candidate.mixture.ring
        return (RING_EXCESS if ring else 1.0) * self._question.fall(*looks)
