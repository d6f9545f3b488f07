"""The search for the majorant that answers a question best.

Which one does depends on the question: at high noise the sum of all entries of the Gram matrix
counts, at low noise its diagonal. So all are computed on a coarse lattice, those that promise most
on a finer one, and the best on finer ones still, until the answer settles or the budget is spent.
Numbers of lines are bounds on the way already; the smallest is given.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from hockeystick._numerics.law import Side
from hockeystick.analyses.gram_candidates import COARSEST, Candidate
from hockeystick.analyses.gram_question import Found, Question
from hockeystick.evaluation import Direction

__all__ = ["FIRST_FINENESS", "GramSearch"]

# Parts of the budget, in operations: for a coarse look, and for a number.
COARSE_WORK, FINE_WORK = 0.3, 6.0
FIRST_FINENESS, REFINEMENT = 1.2, 0.6
# Nothing is gained by a lattice that is hardly finer.
ALMOST = 1.1
# A ring loses more on a coarse lattice, for its first state.
RING_EXCESS = 1.3
# Promises this close to the best are looked at again, so many at most; then so many once more.
CLOSE_CALL, CONTENDERS, FINALISTS = 1.03, 3, 2
# Promises of a single chain that a second one may improve, and what a better score is worth, in
# squares of the fineness (measured: a quarter of it in epsilon, about).
WORTH_DOUBLING, WORTH_OF_SCORE = 1.05, 3.0
# It takes as long as everything else, and has to promise this much less.
PAYS = 0.995
# A ring between mirrors takes one run instead of many, and is content with part of the work.
SHARE_OF_MIRRORS = 0.25


class Promise(NamedTuple):
    """About what a candidate would come to on the finest lattice that is affordable for it."""

    value: float
    candidate: Candidate
    finest: float
    coarse: float

    @property
    def finenesses(self) -> list[float]:
        """From the first one to the finest, in equal ratios near the usual one."""
        first = max(self.coarse, self.finest)
        if first <= self.finest * ALMOST:
            return [first]
        looks = max(1, round(math.log(self.finest / first) / math.log(REFINEMENT)))
        return [first * (self.finest / first) ** (look / looks) for look in range(looks + 1)]

    def excess(self, fineness: float) -> float:
        """The square of a fineness, or what is like it on a line."""
        return (RING_EXCESS if self.candidate.mixture.ring else 1.0) * fineness**2


class GramSearch:
    """Answers from candidates within a budget; answers and laws are kept."""

    def __init__(self, candidates: list[Candidate], budget: float) -> None:
        self._candidates = candidates
        self._budget = budget
        self._answers: dict[tuple[object, ...], Found] = {}

    def at(
        self, question: Question, direction: Direction, candidate: Candidate, fineness: float
    ) -> Found:
        """The number that a candidate gives on one lattice."""
        reading = candidate.reading(
            direction, side=Side.UPPER, fineness=fineness, tail=question.tail
        )
        return Found(question.read(reading), direction, candidate, fineness)

    def best(self, question: Question, direction: Direction, accuracy: float) -> Found:
        """The smallest number of one direction."""
        key = (question, direction, accuracy)
        if key not in self._answers:
            found: list[Found] = []
            for promise in self._finalists(question, direction):
                if not found or promise.value < found[0].value:
                    found.append(self._kept(question, direction, promise, accuracy))
            self._answers[key] = min(found, key=_by_value)
        return self._answers[key]

    def _finalists(self, question: Question, direction: Direction) -> list[Promise]:
        """The best first: many are looked at from afar, few closely."""
        seen = self._promises(question, direction)
        close = [one for one in seen if one.value < CLOSE_CALL * seen[0].value] or seen
        contenders = sorted(
            (self._itself(question, direction, one) for one in close[:CONTENDERS]), key=_by_value
        )
        finalists = [
            self._closely(question, direction, one)
            for one in contenders[:FINALISTS]
            if one.value < CLOSE_CALL * contenders[0].value or one is contenders[0]
        ]
        doubled = self._second_chain(question, direction, finalists)
        return sorted([*finalists, *doubled], key=_by_value)

    def _promises(self, question: Question, direction: Direction) -> list[Promise]:
        """From a coarse look at all, the best first."""
        seen = [self._from_afar(question, direction, candidate) for candidate in self._candidates]
        # The best of each kind may be had as a line between mirrors.
        leading = {one.candidate.name: one for one in sorted(seen, key=_by_value, reverse=True)}
        seen += [
            self._from_afar(question, direction, one.candidate.mirrored, SHARE_OF_MIRRORS)
            for one in leading.values()
            if one.candidate.mirrored is not None
        ]
        return sorted(seen, key=_by_value)

    def _from_afar(
        self, question: Question, direction: Direction, candidate: Candidate, share: float = 1.0
    ) -> Promise:
        """From a coarse look on a line, with what a ring has beyond it."""
        line, tail = candidate.cut_open(), question.tail
        finest = candidate.affordable(direction, tail=tail, most=share * FINE_WORK * self._budget)
        coarse = line.affordable(direction, tail=tail, most=COARSE_WORK * self._budget)
        coarse = max(coarse, FIRST_FINENESS)
        seen = question.grown(
            self.at(question, direction, line, coarse).value, candidate.growth_of_ring
        )
        first = Promise(seen, candidate, finest, coarse)
        return first._replace(value=question.expected(seen, first.excess(finest) - coarse**2))

    def _itself(self, question: Question, direction: Direction, promise: Promise) -> Promise:
        """From the first lattice, not of a line in the place of a ring."""
        first = promise.finenesses[0]
        seen = self.at(question, direction, promise.candidate, first).value
        finer = promise.excess(promise.finest) - promise.excess(first)
        return promise._replace(value=question.expected(seen, finer))

    def _closely(self, question: Question, direction: Direction, promise: Promise) -> Promise:
        """From the lattice before the finest one, and from how fast numbers fell until then."""
        first, *middle, last = [*promise.finenesses, promise.finest]
        if len(middle) < 2:
            return promise
        coarse, fine = (
            self.at(question, direction, promise.candidate, fineness).value
            for fineness in (first, middle[-2])
        )
        squares = (first**2, middle[-2] ** 2, last**2)
        return promise._replace(value=question.extrapolated(coarse, fine, squares))

    def _second_chain(
        self, question: Question, direction: Direction, promises: list[Promise]
    ) -> list[Promise]:
        """The promise with two chains, if one is expected to be better than all with one."""
        least = min(one.value for one in promises)
        closer = []
        for promise in promises:
            richer = promise.candidate.richer() if promise.value < WORTH_DOUBLING * least else None
            if richer is None:
                continue
            candidate, gain = richer
            most = FINE_WORK * self._budget
            finest = candidate.affordable(direction, tail=question.tail, most=most)
            if finest >= COARSEST:
                continue
            double = promise._replace(candidate=candidate, finest=finest)
            finer = double.excess(finest) - promise.excess(promise.finest) - WORTH_OF_SCORE * gain
            closer.append(double._replace(value=question.expected(promise.value, finer)))
        closer.sort(key=_by_value)
        return [one for one in closer[:1] if one.value < PAYS * least]

    def _kept(
        self, question: Question, direction: Direction, promise: Promise, accuracy: float
    ) -> Found:
        """What a promise comes to: finer lattices until the answer settles or costs too much."""
        first, *finer = promise.finenesses
        best = self.at(question, direction, promise.candidate, first)
        for fineness in finer:
            found = self.at(question, direction, promise.candidate, fineness)
            moved = best.value - found.value
            ratio = (fineness / best.fineness) ** 2
            still_to_come = moved * ratio / (1 - ratio)
            best = min(best, found, key=_by_value)
            if 0 <= still_to_come <= accuracy * question.scale(found.value):
                break
        return best


def _by_value(one: Promise | Found) -> float:
    return one.value
