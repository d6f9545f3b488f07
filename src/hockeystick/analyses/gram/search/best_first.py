"""A race of majorants: who promises most is looked at more closely, until a promise is kept.

A promise says about what a majorant would come to on the finest lattice that is affordable for it.
It begins with a coarse lattice, on a line in the place of a ring; then come how fast its numbers
fall as lattices become finer, the ring itself, a finer lattice, and the number. What a first look
of a kind corrects is expected of all that have not been looked at so.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from hockeystick.analyses.gram.search.candidates import COARSEST, Candidate
from hockeystick.analyses.gram.search.question import Found, Question
from hockeystick.profile.refinement import Direction

__all__ = ["FINE_WORK", "FIRST_FINENESS", "RING_EXCESS", "SECOND_LOOK", "Race"]

# Parts of the budget, in operations: for a coarse look, and for a number.
COARSE_WORK, FINE_WORK = 0.3, 6.0
# The first lattice, one beside it that tells how fast numbers fall, and the ratio of further ones.
FIRST_FINENESS, SECOND_LOOK, REFINEMENT = 1.2, 0.75, 0.6
# Nothing is gained by a lattice that is hardly finer; two with this ratio are apart, or far apart.
ALMOST, APART, FAR = 1.1, 1.5, 2.3
# A ring loses more on a coarse lattice, for its first state.
RING_EXCESS = 1.3
# An answer may settle where so many times the accuracy is expected to be still to come.
MAY_SETTLE = 2.0
# How many promises are looked at once more, at most, in each of four ways; and what they may come
# to after so many looks, relative to what they say. One that is kept may be a little above another.
LIMITS, DOUBT = (6, 4, 3, 2), (0.96, 0.98, 0.98, 1.0, 0.997)
ITSELF, CLOSELY, KEPT = 1, 2, 3
# What would grow by more is no promise.
LARGEST_EXPONENT = 500.0
# Promises of a single chain that a second one may improve, and what a better score is worth, in
# squares of the fineness (measured: a quarter of it in epsilon, about).
WORTH_DOUBLING, WORTH_OF_SCORE = 1.05, 3.0
# It takes as long as everything else, and has to promise this much less.
PAYS = 0.995
# A ring between mirrors takes one run instead of many, and is content with part of the work.
SHARE_OF_MIRRORS = 0.25


class Promise(NamedTuple):
    """About what a candidate would come to on the finest lattice that is affordable for it.

    `fall` is how fast the log of its numbers falls with the square of the fineness on a line. After
    so many `looks`; after the last one it was kept, and `fineness` is that of the number.
    """

    value: float
    candidate: Candidate
    finest: float
    coarse: float
    fall: float
    looks: int = 0
    fineness: float = math.inf

    @property
    def ring(self) -> bool:
        """Whether it has to be computed as a ring."""
        return self.candidate.mixture.ring

    @property
    def kind(self) -> tuple[object, ...]:
        """What has lattices like its own."""
        return self.ring, "mirrored" in self.candidate.mixture.memory, self.candidate.recursion

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

    @property
    def is_far(self) -> bool:
        """Whether the finest is far from the first one."""
        return self.coarse > FAR * self.finest

    def excess(self, fineness: float) -> float:
        """The square of a fineness, or what is like it on a line."""
        return (RING_EXCESS if self.ring else 1.0) * fineness**2

    def hoped(self, seen: float, finer: float) -> Promise:
        """What is seen, if the square of the fineness changes by `finer`."""
        return self._replace(value=_expected(seen, finer, self.fall))


class Race:
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
        # Kinds, and the looks of them that have corrected others.
        self._known: set[tuple[object, int]] = set()

    def winner(self) -> Found:
        """The best promise that has been kept."""
        pool = self._promises()
        steps = (self._falling, self._itself, self._closely, self._kept)
        taken, doubled = [0] * len(steps), False
        while True:
            best = min(pool, key=self._hope)
            looks = best.looks
            if looks > KEPT:
                return Found(best.value, self._direction, best.candidate, best.fineness)
            if looks == KEPT and not doubled:
                pool += self._second_chain(pool)
                doubled = True
                continue
            pool.remove(best)
            if self._is_idle(best, pool):
                pool.append(best._replace(looks=looks + 1))
            elif taken[looks] < LIMITS[looks]:
                taken[looks] += 1
                seen = steps[looks](best)._replace(looks=looks + 1)
                pool = [*self._corrected(pool, best, seen), seen]

    def _hope(self, promise: Promise) -> float:
        """What it may come to at best."""
        return self._question.grown(promise.value, DOUBT[promise.looks])

    def _is_idle(self, promise: Promise, others: list[Promise]) -> bool:
        """Whether the next look is not worth its time.

        A line has been seen itself. Where nobody comes near no closer look is needed, and of a ring
        whose finest lattice is near the first one it takes nearly as long as the number.
        """
        if promise.looks == CLOSELY:
            rival = min(map(self._hope, others), default=math.inf)
            return promise.value < rival or (promise.ring and not promise.is_far)
        return promise.looks == ITSELF and not promise.ring

    def _corrected(self, pool: list[Promise], before: Promise, after: Promise) -> list[Promise]:
        """What a first look has changed is expected of the others of its kind."""
        if (before.kind, before.looks) in self._known:
            return pool
        self._known.add((before.kind, before.looks))
        if not (0 < before.value < math.inf and 0 < after.value < math.inf):
            return pool
        return [
            one._replace(value=one.value * after.value / before.value)
            if one.looks <= before.looks and one.kind == before.kind
            else one
            for one in pool
        ]

    def _promises(self) -> list[Promise]:
        """From a coarse look at all; the best of each kind also as a line between mirrors."""
        seen = [
            self._from_afar(one)
            for one in self._candidates
            if not one.dear or self._affordable(one, COARSE_WORK) < COARSEST
        ]
        leading = {one.candidate.name: one for one in sorted(seen, key=_by_value, reverse=True)}
        mirrored = [one.candidate.mirrored for one in leading.values()]
        return seen + [
            self._from_afar(one, SHARE_OF_MIRRORS) for one in mirrored if one is not None
        ]

    def _from_afar(self, candidate: Candidate, share: float = 1.0) -> Promise:
        """From a coarse look on a line, with what a ring has beyond it."""
        line = candidate.cut_open()
        coarse = max(self._affordable(line, COARSE_WORK), FIRST_FINENESS)
        finest = self._affordable(candidate, share * FINE_WORK)
        promise = Promise(math.inf, candidate, finest, coarse, self._question.usual_fall)
        return self._on_a_line(promise, coarse)

    def _on_a_line(self, promise: Promise, fineness: float) -> Promise:
        seen = self._at(promise.candidate.cut_open(), fineness).value
        grown = self._question.grown(seen, promise.candidate.growth_of_ring)
        return promise.hoped(grown, promise.excess(promise.finest) - fineness**2)

    def _falling(self, promise: Promise) -> Promise:
        """From two lattices on a line, unless there will be no finer one."""
        line, second = promise.candidate.cut_open(), SECOND_LOOK * promise.coarse
        if promise.finest >= second:
            return promise
        fall = self._question.fall(self._at(line, promise.coarse), self._at(line, second))
        return self._on_a_line(promise._replace(fall=fall), second)

    def _itself(self, promise: Promise) -> Promise:
        """From the first lattice, not of a line in the place of a ring."""
        first = promise.finenesses[0]
        finer = promise.excess(promise.finest) - promise.excess(first)
        return promise.hoped(self._at(promise.candidate, first).value, finer)

    def _closely(self, promise: Promise) -> Promise:
        """From the lattice before the finest one, and from how fast numbers fell until then."""
        if len(promise.finenesses) < 3:
            return promise
        first, *_, second, finest = promise.finenesses
        looks = self._at(promise.candidate, first), self._at(promise.candidate, second)
        fall = self._question.fall(*looks)
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
        enough = MAY_SETTLE * self._accuracy * self._question.scale(value)
        settles = [
            one for one in finenesses[:-1] if promise.fall * promise.excess(one) * value < enough
        ]
        return [*settles, *finenesses[-1:]]

    def _second_chain(self, promises: list[Promise]) -> list[Promise]:
        """The promise with two chains, if one is expected to be better than all with one."""
        least = min(one.value for one in promises)
        closer = []
        for promise in promises:
            close = promise.looks > CLOSELY and promise.value < WORTH_DOUBLING * least
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
        return self._question.at(candidate, self._direction, fineness)

    def _affordable(self, candidate: Candidate, share: float) -> float:
        most = share * self._budget
        return candidate.affordable(self._direction, tail=self._question.tail, most=most)


def _expected(value: float, finer: float, fall: float) -> float:
    """What a number may become if the square of the fineness changes by `finer`."""
    return value * math.exp(min(fall * finer, LARGEST_EXPONENT))


def _by_value(one: Promise) -> float:
    return one.value
