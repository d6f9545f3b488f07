"""The search for the majorant that answers a question best.

Which one does depends on the question: at high noise the sum of all entries of the Gram matrix
counts, at low noise its diagonal. So all are looked at on a coarse lattice, and the one that
promises most is looked at more closely, again and again, until that one is a number: computed on
lattices so fine that it settles or that the budget is spent.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from hockeystick._numerics.law import Side
from hockeystick.analyses.gram_candidates import COARSEST, Candidate
from hockeystick.analyses.gram_question import Found, Question
from hockeystick.evaluation import Direction

__all__ = ["GramSearch", "no_worse"]

# Parts of the budget, in operations: for a coarse look, and for a number.
COARSE_WORK, FINE_WORK = 0.3, 6.0
# The first lattice, one beside it that tells how fast numbers fall, and the ratio of further ones.
FIRST_FINENESS, SECOND_LOOK, REFINEMENT = 1.2, 0.75, 0.6
# Nothing is gained by a lattice that is hardly finer; two with this ratio are far apart; and one
# that should be fine enough is made a little finer.
ALMOST, APART, NEARLY = 1.1, 1.5, 0.95
# A ring loses more on a coarse lattice, for its first state.
RING_EXCESS = 1.3
# An answer may settle where so many times the accuracy is expected to be still to come.
MAY_SETTLE = 2.0
# So many promises are looked at themselves, closely, and kept, at most; and what they may come to
# after so many looks, relative to what they say. One that is kept may be a little above the next.
LIMITS, DOUBT = (3, 2, 2), (0.99, 0.995, 1.0, 0.997)
# What would grow by more is no promise.
LARGEST_EXPONENT = 500.0
# Promises of a single chain that a second one may improve, and what a better score is worth, in
# squares of the fineness (measured: a quarter of it in epsilon, about).
WORTH_DOUBLING, WORTH_OF_SCORE = 1.05, 3.0
# It takes as long as everything else, and has to promise this much less.
PAYS = 0.995
# A ring between mirrors takes one run instead of many, and is content with part of the work.
SHARE_OF_MIRRORS = 0.25


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
            race = _Race(self._candidates, self._budget, question, direction, accuracy)
            self._answers[key] = race.winner()
        return self._answers[key]


def no_worse(question: Question, direction: Direction, other: Found) -> Found | None:
    """The majorant of another direction, if it shows that this one is not worse.

    On a lattice that is as coarse as will do, and not finer than the other one's.
    """

    def look(fineness: float) -> Found:
        return _number(question, direction, other.candidate, fineness)

    found = look(max(FIRST_FINENESS, other.fineness))
    if found.value > other.value:
        enough = _enough(question, direction, other, found)
        found = look(max(enough, other.fineness))
    if found.value > other.value:
        found = look(other.fineness)
    return found if found.value <= other.value else None


def _enough(question: Question, direction: Direction, other: Found, found: Found) -> float:
    """How fine a lattice may do; on a line in the place of a ring a second look is quick."""
    line, first = other.candidate.cut_open(), found.fineness
    looks = [_number(question, direction, line, one) for one in (first, SECOND_LOOK * first)]
    fall = _fall(question, *looks) * (RING_EXCESS if other.candidate.mixture.ring else 1.0)
    return NEARLY * _fineness_for(other.value, found, fall)


def _number(
    question: Question, direction: Direction, candidate: Candidate, fineness: float
) -> Found:
    """What a candidate gives on one lattice."""
    reading = candidate.reading(direction, side=Side.UPPER, fineness=fineness, tail=question.tail)
    return Found(question.read(reading), direction, candidate, fineness)


def _fall(question: Question, coarse: Found, fine: Found) -> float:
    """By how much the log of a number grows with the square of the fineness."""
    if not (0 < fine.value < coarse.value < math.inf and fine.fineness < coarse.fineness):
        return question.usual_fall
    return math.log(coarse.value / fine.value) / (coarse.fineness**2 - fine.fineness**2)


def _fineness_for(value: float, found: Found, fall: float) -> float:
    """Where a number may have fallen to a value; 0 where it never does."""
    if not 0 < value < found.value < math.inf:
        return 0.0
    return math.sqrt(max(found.fineness**2 - math.log(found.value / value) / fall, 0.0))


class Promise(NamedTuple):
    """About what a candidate would come to on the finest lattice that is affordable for it.

    After so many `looks`; after the last one it was kept, and `fineness` is that of the number.
    """

    value: float
    candidate: Candidate
    finest: float
    coarse: float
    looks: int = 0
    fineness: float = math.inf

    @property
    def finenesses(self) -> list[float]:
        """From the first one to the finest, in equal ratios near the usual one.

        There is one in between, unless they are close: it tells how fast numbers fall.
        """
        first = max(self.coarse, self.finest)
        if first <= self.finest * ALMOST:
            return [first]
        looks = round(math.log(self.finest / first) / math.log(REFINEMENT))
        looks = max(looks, 2 if first > self.finest * APART else 1)
        return [first * (self.finest / first) ** (look / looks) for look in range(looks + 1)]

    def excess(self, fineness: float) -> float:
        """The square of a fineness, or what is like it on a line."""
        return (RING_EXCESS if self.candidate.mixture.ring else 1.0) * fineness**2


class _Race:
    """One question in one direction: who promises most is looked at more closely."""

    def __init__(
        self,
        candidates: list[Candidate],
        budget: float,
        question: Question,
        direction: Direction,
        accuracy: float,
    ) -> None:
        self._candidates = candidates
        self._budget = budget
        self._question = question
        self._direction = direction
        self._accuracy = accuracy
        # How fast the logs of numbers fall with the square of the fineness, for each kind.
        self._falls: dict[str, float] = {}

    def winner(self) -> Found:
        """The best promise that has been kept."""
        pool = self._promises()
        steps = (self._itself, self._closely, self._kept)
        taken, doubled = [0] * len(LIMITS), False
        while True:
            best = min(pool, key=_hope)
            looks = best.looks
            if looks == len(LIMITS):
                return Found(best.value, self._direction, best.candidate, best.fineness)
            if looks + 1 == len(LIMITS) and not doubled:
                pool += self._second_chain(pool)
                doubled = True
                continue
            pool.remove(best)
            if looks == 1 and best.value < min((_hope(one) for one in pool), default=math.inf):
                # Nobody comes near: a closer look would decide nothing.
                pool.append(best._replace(looks=looks + 1))
                continue
            if taken[looks] < LIMITS[looks]:
                taken[looks] += 1
                pool.append(steps[looks](best)._replace(looks=looks + 1))

    def _promises(self) -> list[Promise]:
        """From a coarse look at all, and a finer one at the best of each kind."""
        seen = [
            self._from_afar(one)
            for one in self._candidates
            if not one.dear or self._affordable(one, COARSE_WORK) < COARSEST
        ]
        leading = {one.candidate.name: one for one in sorted(seen, key=_by_value, reverse=True)}
        self._falls = {name: self._measured_fall(one) for name, one in leading.items()}
        # The best of each kind may be had as a line between mirrors.
        seen += [
            self._from_afar(one.candidate.mirrored, SHARE_OF_MIRRORS)
            for one in leading.values()
            if one.candidate.mirrored is not None
        ]
        return [self._hoped(one, one.value, one.excess(one.finest) - one.coarse**2) for one in seen]

    def _hoped(self, promise: Promise, seen: float, finer: float) -> Promise:
        """What is seen, if the square of the fineness changes by `finer`."""
        return promise._replace(value=_expected(seen, finer, self._fall_of(promise)))

    def _fall_of(self, promise: Promise) -> float:
        """That of its kind; two chains were not looked at from afar."""
        return self._falls.get(promise.candidate.name, self._question.usual_fall)

    def _from_afar(self, candidate: Candidate, share: float = 1.0) -> Promise:
        """From a coarse look on a line, with what a ring has beyond it."""
        line = candidate.cut_open()
        coarse = max(self._affordable(line, COARSE_WORK), FIRST_FINENESS)
        seen = self._question.grown(self._at(line, coarse).value, candidate.growth_of_ring)
        return Promise(seen, candidate, self._affordable(candidate, share * FINE_WORK), coarse)

    def _measured_fall(self, promise: Promise) -> float:
        """From two lattices on a line; where there will be no finer one, the usual one."""
        line, second = promise.candidate.cut_open(), SECOND_LOOK * promise.coarse
        if promise.finest >= second:
            return self._question.usual_fall
        looks = self._at(line, promise.coarse), self._at(line, second)
        return _fall(self._question, *looks)

    def _itself(self, promise: Promise) -> Promise:
        """From the first lattice, not of a line in the place of a ring."""
        first = promise.finenesses[0]
        finer = promise.excess(promise.finest) - promise.excess(first)
        seen = self._at(promise.candidate, first).value
        return self._hoped(promise, seen, finer)

    def _closely(self, promise: Promise) -> Promise:
        """From the lattice before the finest one, and from how fast numbers fell until then."""
        if len(promise.finenesses) < 3:
            return promise
        first, *_, second, finest = promise.finenesses
        looks = self._at(promise.candidate, first), self._at(promise.candidate, second)
        fall = _fall(self._question, *looks)
        return promise._replace(value=_expected(looks[1].value, finest**2 - second**2, fall))

    def _kept(self, promise: Promise) -> Promise:
        """What it comes to: finer lattices until the answer settles or costs too much."""
        first, *finer = promise.finenesses
        best = before = self._at(promise.candidate, first)
        for fineness in self._worth_a_look(promise, finer, best.value):
            found = self._at(promise.candidate, fineness)
            ratio = (fineness / before.fineness) ** 2
            still_to_come = (before.value - found.value) * ratio / (1 - ratio)
            best, before = min(best, found, key=lambda one: one.value), found
            if 0 <= still_to_come <= self._accuracy * self._question.scale(found.value):
                break
        return promise._replace(value=best.value, fineness=best.fineness)

    def _worth_a_look(self, promise: Promise, finenesses: list[float], value: float) -> list[float]:
        """The finest, and those before it where the answer may settle."""
        fall = self._fall_of(promise)
        enough = MAY_SETTLE * self._accuracy * self._question.scale(value)
        settles = [one for one in finenesses[:-1] if fall * promise.excess(one) * value < enough]
        return [*settles, *finenesses[-1:]]

    def _second_chain(self, promises: list[Promise]) -> list[Promise]:
        """The promise with two chains, if one is expected to be better than all with one."""
        least = min(one.value for one in promises)
        closer = []
        for promise in promises:
            close = promise.looks > 1 and promise.value < WORTH_DOUBLING * least
            richer = promise.candidate.richer() if close else None
            if richer is None:
                continue
            candidate, gain = richer
            finest = self._affordable(candidate, FINE_WORK)
            if finest >= COARSEST:
                continue
            double = promise._replace(candidate=candidate, finest=finest)
            finer = double.excess(finest) - promise.excess(promise.finest) - WORTH_OF_SCORE * gain
            value = _expected(promise.value, finer, self._question.usual_fall)
            closer.append(double._replace(value=value))
        closer.sort(key=_by_value)
        return [one for one in closer[:1] if one.value < PAYS * least]

    def _at(self, candidate: Candidate, fineness: float) -> Found:
        return _number(self._question, self._direction, candidate, fineness)

    def _affordable(self, candidate: Candidate, share: float) -> float:
        most = share * self._budget
        return candidate.affordable(self._direction, tail=self._question.tail, most=most)


def _expected(value: float, finer: float, fall: float) -> float:
    """What a number may become if the square of the fineness changes by `finer`."""
    return value * math.exp(min(fall * finer, LARGEST_EXPONENT))


def _hope(one: Promise) -> float:
    """What a promise may come to at best."""
    return one.value * DOUBT[one.looks]


def _by_value(one: Promise) -> float:
    return one.value
