"""Bounds from mixtures with Markov structure above and below a mixture over bins.

Which majorant is best depends on the question: at high noise the sum of all entries of the Gram
matrix counts, at low noise its diagonal. So several are computed on a coarse lattice, and the best
one for the (epsilon, delta) asked on finer ones, until the answer settles or the budget is spent.
Every number on the way is a bound, and the smallest is given.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property

import numpy as np

from hockeystick._numerics.law import FloatArray, Side
from hockeystick.analyses.gram_below import GramBelow
from hockeystick.analyses.gram_candidates import COARSEST, Candidate
from hockeystick.analyses.gram_question import Found, Question
from hockeystick.analyses.gram_targets import candidates
from hockeystick.analyses.price_profile import Prices, profile_of_prices
from hockeystick.evaluation import Bounds, Direction
from hockeystick.expressions.gaussian import Gaussian
from hockeystick.profile import Profile

__all__ = ["GramBound"]

# Parts of the budget, in operations: for a coarse look, for a number, and for one from below. They
# are for so many bins; more bins get more, up to a multiple.
COARSE_WORK, FINE_WORK, LOWER_WORK, PLAIN_BINS, MOST_OF_BUDGET = 0.3, 6.0, 0.5, 100, 5.0
FIRST_FINENESS, REFINEMENT = 1.2, 0.6
# Nothing is gained by a lattice that is hardly finer.
ALMOST = 1.1
# A ring loses more on a coarse lattice, for its first state; promises this close are both kept.
RING_EXCESS, CLOSE_CALL = 1.6, 1.02
# Promises of a single chain that a second one may improve, and what a better score is worth, in
# squares of the fineness (measured: a quarter of it in epsilon, about).
WORTH_DOUBLING, WORTH_OF_SCORE = 1.05, 3.0
# It takes as long as everything else, and has to promise this much less.
PAYS = 0.995
# A ring between mirrors takes one run instead of many, and is content with part of the work.
SHARE_OF_MIRRORS = 0.25
# Tails that are cut, relative to delta.
TAIL, FIRST_TAILS = 1e-6, (1e-12, 1e-20, 1e-40, 1e-80, 1e-160)
# Where the participation of the example can hardly be hidden, its bin may as well be known.
LARGEST_SIGNAL = 150.0
# The profile: its smallest delta, corners on either side, and the deltas it is made for.
SMALLEST_DELTA, CORNERS, PROFILE_DELTAS = 1e-20, 300, (1e-3, 1e-6, 1e-12)
PROFILE_ACCURACY = 0.01
# How a bound from the longest mean alone is called.
KNOWN_BIN = "known bin"


class GramBound:
    """Both directions, upper and lower, of a uniform mixture of Gaussians with the given kernel."""

    has_formula = False

    def __init__(self, kernel: FloatArray, budget: float) -> None:
        self._kernel = kernel
        self._budget = budget * min(max(1.0, kernel.shape[0] / PLAIN_BINS), MOST_OF_BUDGET)
        self._answers: dict[tuple[object, ...], Found] = {}
        self._deciding: dict[tuple[float | None, float | None], Found] = {}

    def epsilon_bounds(
        self, delta: float, *, directions: Sequence[Direction], accuracy: float
    ) -> Bounds:
        """From the best majorant for this delta; `below` answers from below."""
        return self._bounds(Question(delta, None, TAIL * delta), directions, accuracy)

    def delta_bounds(
        self, epsilon: float, *, directions: Sequence[Direction], accuracy: float
    ) -> Bounds:
        """From the best majorant for this epsilon; `below` answers from below."""
        for tail in FIRST_TAILS:
            bounds = self._bounds(Question(None, epsilon, tail), directions, accuracy)
            if tail <= 10 * TAIL * bounds.upper:
                break
        return bounds

    def as_profile(self) -> Profile:
        """The convex envelope of the bounds at many epsilons, in both directions."""
        if self._is_loud:
            return self._known_bin
        return profile_of_prices(self._prices("remove"), self._prices("add"))

    def explain(
        self, *, delta: float | None, epsilon: float | None, directions: Sequence[Direction]
    ) -> dict[str, object]:
        """The majorant that decided, from what was computed for the answer."""
        worst = self._deciding.get((delta, epsilon))
        if worst is None:
            return {"majorant": KNOWN_BIN}
        mixture = worst.candidate.mixture
        return {
            "direction": worst.direction,
            "majorant": worst.candidate.name,
            **mixture.memory,
            "common": mixture.common,
            "fineness": worst.fineness,
        }

    def below(
        self, *, delta: float | None, epsilon: float | None, directions: Sequence[Direction]
    ) -> float:
        """The best bound from below of the worst direction."""
        tail = TAIL * delta if delta is not None else FIRST_TAILS[1]
        question = Question(delta, epsilon, tail)
        if self._is_loud:
            return 0.0
        return max(self._below.number(question, direction) for direction in directions)

    def _bounds(
        self, question: Question, directions: Sequence[Direction], accuracy: float
    ) -> Bounds:
        """The worst direction; one that is below another already is not looked at closely.

        Never above what is known if the bin were revealed.
        """
        known = question.bounds_of(self._known_bin, directions).upper
        if self._is_loud:
            return Bounds(0.0, known)
        worst: Found | None = None
        for direction in directions:
            found = self._same_majorant(question, direction, worst)
            if found is None:
                found = self._upper(question, direction, accuracy)
            worst = found if worst is None else max(worst, found, key=lambda one: one.value)
        assert worst is not None
        if worst.value > known:
            return Bounds(0.0, known)
        self._deciding[question[:2]] = worst
        return Bounds(0.0, worst.value)

    def _same_majorant(
        self, question: Question, direction: Direction, worst: Found | None
    ) -> Found | None:
        """The majorant of the other direction, if it shows that this one is not worse."""
        if worst is None:
            return None
        for fineness in (max(FIRST_FINENESS, worst.fineness), worst.fineness):
            found = self._at(question, direction, worst.candidate, fineness)
            if found.value <= worst.value:
                return found
        return None

    def _upper(self, question: Question, direction: Direction, accuracy: float) -> Found:
        """The best number of one direction."""
        key = (question, direction, accuracy)
        if key not in self._answers:
            promises = sorted(
                (self._promise(question, direction, candidate) for candidate in self._candidates),
                key=lambda one: one.value,
            )
            # Promises of different kinds are not comparable to the last digit.
            best = promises[0]
            rivals = [
                one
                for one in promises
                if one.candidate.name != best.candidate.name and one.value < CLOSE_CALL * best.value
            ]
            leading = list({one.candidate.name: one for one in reversed(promises)}.values())
            mirrored = self._mirrored(question, direction, leading, best.value)
            closer = self._second_chain(question, direction, [*leading, *mirrored])
            tried = (best, *rivals[:1], *mirrored, *closer)
            found = [self._kept(question, one, accuracy) for one in tried]
            self._answers[key] = min(found, key=lambda one: one.value)
        return self._answers[key]

    def _mirrored(
        self, question: Question, direction: Direction, promises: list[Found], least: float
    ) -> list[Found]:
        """The best promise of a ring on a line between mirrors, if it is as good as others."""
        found = [
            self._promise(question, direction, one.candidate.mirrored, SHARE_OF_MIRRORS)
            for one in promises
            if one.candidate.mirrored is not None
        ]
        found.sort(key=lambda one: one.value)
        return [one for one in found[:1] if one.value < CLOSE_CALL * least]

    def _second_chain(
        self, question: Question, direction: Direction, promises: list[Found]
    ) -> list[Found]:
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
            excess = RING_EXCESS if candidate.mixture.ring else 1.0
            finer = excess * (finest**2 - promise.fineness**2) - WORTH_OF_SCORE * gain
            value = question.expected(promise.value, finer)
            closer.append(Found(value, direction, candidate, finest))
        closer.sort(key=lambda one: one.value)
        return [one for one in closer[:1] if one.value < PAYS * least]

    def _kept(self, question: Question, promise: Found, accuracy: float) -> Found:
        """What a promise comes to: finer lattices until the answer settles or costs too much."""
        direction, candidate, finest = promise[1:]
        best = self._at(question, direction, candidate, max(FIRST_FINENESS, finest))
        first = best.fineness
        if first <= finest * ALMOST:
            return best
        # Equal ratios, so that the last lattice is not hardly finer than the one before.
        looks = max(1, round(math.log(finest / first) / math.log(REFINEMENT)))
        ratio = (finest / first) ** (1 / looks)
        still_to_come = ratio**2 / (1 - ratio**2)
        for look in range(1, looks + 1):
            finer = self._at(question, direction, candidate, first * ratio**look)
            moved = best.value - finer.value
            best = min(best, finer, key=lambda one: one.value)
            if 0 <= moved * still_to_come <= accuracy * question.scale(finer.value):
                break
        return best

    def _promise(
        self, question: Question, direction: Direction, candidate: Candidate, share: float = 1.0
    ) -> Found:
        """About what the finest affordable lattice would give, from a coarse look on a line."""
        line = candidate.cut_open()
        tail = question.tail
        finest = candidate.affordable(direction, tail=tail, most=share * FINE_WORK * self._budget)
        coarse = line.affordable(direction, tail=tail, most=COARSE_WORK * self._budget)
        coarse = max(coarse, FIRST_FINENESS)
        seen = self._at(question, direction, line, coarse).value
        excess = RING_EXCESS if candidate.mixture.ring else 1.0
        value = question.expected(seen, excess * finest**2 - coarse**2)
        return Found(value, direction, candidate, finest)

    def _at(
        self, question: Question, direction: Direction, candidate: Candidate, fineness: float
    ) -> Found:
        reading = candidate.reading(
            direction, side=Side.UPPER, fineness=fineness, tail=question.tail
        )
        return Found(question.read(reading), direction, candidate, fineness)

    @cached_property
    def _known_bin(self) -> Profile:
        """The Gaussian mechanism of the longest mean: dominates whichever bin it is."""
        return Profile(Gaussian(math.sqrt(float(np.diagonal(self._kernel).max()))))

    @property
    def _is_loud(self) -> bool:
        """Whether lattices would leave floating point."""
        return float(self._kernel.max()) > LARGEST_SIGNAL

    @cached_property
    def _candidates(self) -> list[Candidate]:
        return candidates(self._kernel)

    @cached_property
    def _below(self) -> GramBelow:
        return GramBelow(self._kernel, LOWER_WORK * self._budget)

    def _prices(self, direction: Direction) -> Prices:
        """The smallest bounds of the majorants that are best at a few deltas."""
        readings = []
        for wanted in PROFILE_DELTAS:
            question = Question(wanted, None, TAIL * SMALLEST_DELTA)
            found = self._upper(question, direction, PROFILE_ACCURACY)
            readings.append(
                found.candidate.reading(
                    direction, side=Side.UPPER, fineness=found.fineness, tail=question.tail
                )
            )
        (known, ends) = self._known_bin, [one.epsilon(SMALLEST_DELTA) for one in readings]
        asked: Sequence[Direction] = (direction,)
        last = known.epsilon_bounds(SMALLEST_DELTA, directions=asked, accuracy=PROFILE_ACCURACY)
        loss = np.linspace(0.0, max(min(*ends, last.upper), 1e-3), CORNERS)
        delta = [
            min(
                known.delta_bounds(at, directions=asked, accuracy=PROFILE_ACCURACY).upper,
                *(one.delta(at) for one in readings),
            )
            for at in loss.tolist()
        ]
        return loss, np.array(delta)
