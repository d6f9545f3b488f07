"""Best-first search: the candidate with the smallest predicted bound is evaluated next.

A predicted bound is an estimate of what a candidate gives on the finest lattice that is affordable
for it. It begins with a coarse lattice, on a line in the place of a ring. The stages that follow
make it more reliable: the measured convergence rate, the ring itself, a finer lattice, and at last
the bound. What the first evaluation of a stage corrects is expected of all candidates of the same
kind that have not passed it. The search ends when the smallest prediction is a computed bound.
"""

from __future__ import annotations

import math
from enum import IntEnum
from typing import NamedTuple

from hockeystick.analyses.gram.search.candidates import GramCandidate
from hockeystick.analyses.gram.search.evaluation import Found, LatticeEvaluator
from hockeystick.analyses.gram.search.settings import GramSettings

__all__ = ["BestFirstSearch", "PredictedBound", "Stage"]

# A prediction does not grow by more: e^500 is near the end of floating point.
LARGEST_EXPONENT = 500.0


class Stage(IntEnum):
    """What has been evaluated of a candidate, and so which stage comes next."""

    COARSE = 0
    RATE = 1
    ITSELF = 2
    REFINED = 3
    FINAL = 4


class PredictedBound(NamedTuple):
    """An estimate of what a candidate gives on the finest lattice that is affordable for it.

    `rate` is how fast the log of its bounds decreases with the square of the fineness on a line.
    After the final stage `value` is the bound, computed at `fineness`.
    """

    value: float
    candidate: GramCandidate
    finest: float
    coarse: float
    rate: float
    stage: Stage = Stage.COARSE
    fineness: float = math.inf

    @property
    def ring(self) -> bool:
        """Whether it has to be computed as a ring."""
        return self.candidate.mixture.ring

    def finenesses(self, settings: GramSettings) -> list[float]:
        """From the first one to the finest, in equal ratios near the usual one.

        There is one in between, unless they are close: it tells the convergence rate.
        """
        first = max(self.coarse, self.finest)
        if first <= self.finest * settings.hardly_finer:
            return [first]
        steps = round(math.log(self.finest / first) / math.log(settings.refinement))
        steps = max(steps, 2 if first > self.finest * settings.apart else 1)
        return [first * (self.finest / first) ** (step / steps) for step in range(steps + 1)]


class BestFirstSearch:
    """The best candidate for one query in one direction."""

    def __init__(
        self,
        candidates: list[GramCandidate],
        budget: float,
        evaluator: LatticeEvaluator,
        accuracy: float,
    ) -> None:
        self._candidates = candidates
        self._budget = budget
        self._evaluator = evaluator
        self._accuracy = accuracy
        self._settings = evaluator.laws.settings
        # Kinds, and their stages that have corrected others.
        self._corrected_by: set[tuple[object, Stage]] = set()

    def best(self) -> Found:
        """The smallest predicted bound, once it is a computed one."""
        pool = self._coarse_predictions()
        stages = (self._with_rate, self._of_itself, self._refined, self._final)
        taken, doubled = [0] * len(stages), False
        while True:
            best = min(pool, key=self._at_best)
            stage = best.stage
            if stage is Stage.FINAL:
                found = best.value, self._evaluator.direction, best.candidate, best.fineness
                return Found(*found)
            if stage is Stage.REFINED and not doubled:
                pool += self._second_chains(pool)
                doubled = True
                continue
            pool.remove(best)
            following = Stage(stage + 1)
            if self._may_skip(best, pool):
                pool.append(best._replace(stage=following))
            elif taken[stage] < self._settings.limits[stage]:
                taken[stage] += 1
                evaluated = stages[stage](best)._replace(stage=following)
                pool = [*self._corrected(pool, best, evaluated), evaluated]

    def _at_best(self, predicted: PredictedBound) -> float:
        """What the bound may come to at best: the prediction with the optimism of its stage."""
        return self._evaluator.scaled(predicted.value, self._settings.optimism[predicted.stage])

    def _may_skip(self, predicted: PredictedBound, others: list[PredictedBound]) -> bool:
        """Whether the next stage is not worth its time.

        A line has been evaluated itself. Where no other candidate comes near, no closer evaluation
        is needed, and for a ring whose finest lattice is near the first one it takes nearly as long
        as the final one.
        """
        if predicted.stage is Stage.ITSELF:
            rival = min(map(self._at_best, others), default=math.inf)
            close = not predicted.coarse > self._settings.far_apart * predicted.finest
            return predicted.value < rival or (predicted.ring and close)
        return predicted.stage is Stage.RATE and not predicted.ring

    def _corrected(
        self, pool: list[PredictedBound], before: PredictedBound, after: PredictedBound
    ) -> list[PredictedBound]:
        """What the first evaluation of a stage changed is expected of the others of its kind."""
        kind = before.candidate.kind
        if (kind, before.stage) in self._corrected_by:
            return pool
        self._corrected_by.add((kind, before.stage))
        if not (0 < before.value < math.inf and 0 < after.value < math.inf):
            return pool
        return [
            one._replace(value=one.value * after.value / before.value)
            if one.stage <= before.stage and one.candidate.kind == kind
            else one
            for one in pool
        ]

    def _coarse_predictions(self) -> list[PredictedBound]:
        """From a coarse lattice for all; the best of each name also as a line between mirrors."""
        coarsest = self._settings.coarsest
        found = [
            self._coarse_prediction(one)
            for one in self._candidates
            if not one.expensive or self._affordable(one, self._settings.coarse_work) < coarsest
        ]
        leading = {one.candidate.name: one for one in sorted(found, key=_value, reverse=True)}
        mirrored = [one.candidate.mirrored for one in leading.values()]
        share = self._settings.mirror_work
        return found + [self._coarse_prediction(one, share) for one in mirrored if one is not None]

    def _coarse_prediction(self, candidate: GramCandidate, share: float = 1.0) -> PredictedBound:
        """From a coarse lattice on a line, with what a ring has beyond it."""
        settings = self._settings
        coarse = self._affordable(candidate.on_a_line, settings.coarse_work)
        coarse = max(coarse, settings.first_fineness)
        finest = self._affordable(candidate, share * settings.finest_work)
        rate = self._evaluator.usual_rate
        return self._from_line(PredictedBound(math.inf, candidate, finest, coarse, rate), coarse)

    def _from_line(self, predicted: PredictedBound, fineness: float) -> PredictedBound:
        """From one lattice of the line, extrapolated to the finest one of the candidate."""
        candidate = predicted.candidate
        bound = self._at(candidate.on_a_line, fineness).value
        grown = self._evaluator.scaled(bound, self._evaluator.laws.ring_growth(candidate))
        finer = self._excess(predicted, predicted.finest) - fineness**2
        return predicted._replace(value=_extrapolated(grown, finer, predicted.rate))

    def _with_rate(self, predicted: PredictedBound) -> PredictedBound:
        """From two lattices on a line, unless there will be no finer one."""
        second = self._settings.second_fineness * predicted.coarse
        if predicted.finest >= second:
            return predicted
        line = predicted.candidate.on_a_line
        rate = self._evaluator.rate(self._at(line, predicted.coarse), self._at(line, second))
        return self._from_line(predicted._replace(rate=rate), second)

    def _of_itself(self, predicted: PredictedBound) -> PredictedBound:
        """From the first lattice of the candidate, not of a line in the place of a ring."""
        first = predicted.finenesses(self._settings)[0]
        finer = self._excess(predicted, predicted.finest) - self._excess(predicted, first)
        bound = self._at(predicted.candidate, first).value
        return predicted._replace(value=_extrapolated(bound, finer, predicted.rate))

    def _refined(self, predicted: PredictedBound) -> PredictedBound:
        """From the lattice before the finest one, and the convergence rate until then."""
        finenesses = predicted.finenesses(self._settings)
        if len(finenesses) < 3:
            return predicted
        first, *_, second, finest = finenesses
        bounds = self._at(predicted.candidate, first), self._at(predicted.candidate, second)
        rate = self._evaluator.rate(*bounds)
        value = _extrapolated(bounds[1].value, finest**2 - second**2, rate)
        return predicted._replace(value=value)

    def _final(self, predicted: PredictedBound) -> PredictedBound:
        """The bound: finer lattices until it settles or the budget ends."""
        first, *finer = predicted.finenesses(self._settings)
        best = before = self._at(predicted.candidate, first)
        for fineness in self._worthwhile(predicted, finer, best.value):
            found = self._at(predicted.candidate, fineness)
            ratio = (fineness / before.fineness) ** 2
            still_to_come = (before.value - found.value) * ratio / (1 - ratio)
            best, before = min(best, found, key=lambda one: one.value), found
            scale = self._evaluator.query.scale(found.value)
            if 0 <= still_to_come <= self._accuracy * scale:
                break
        return predicted._replace(value=best.value, fineness=best.fineness)

    def _worthwhile(
        self, predicted: PredictedBound, finenesses: list[float], value: float
    ) -> list[float]:
        """The finest, and those before it where the bound may settle."""
        scale = self._evaluator.query.scale(value)
        enough = self._settings.may_settle * self._accuracy * scale
        settles = [
            one
            for one in finenesses[:-1]
            if predicted.rate * self._excess(predicted, one) * value < enough
        ]
        return [*settles, *finenesses[-1:]]

    def _second_chains(self, predictions: list[PredictedBound]) -> list[PredictedBound]:
        """The prediction with two chains, if one is expected to be better than all with one."""
        settings = self._settings
        least = min(one.value for one in predictions)
        closer = []
        for predicted in predictions:
            close = predicted.stage > Stage.ITSELF and predicted.value < settings.within * least
            extension = predicted.candidate.second_chain() if close else None
            if extension is None:
                continue
            candidate, gain = extension
            finest = self._affordable(candidate, settings.finest_work)
            if finest >= settings.coarsest:
                continue
            double = predicted._replace(candidate=candidate, finest=finest)
            finer = self._excess(double, finest) - self._excess(predicted, predicted.finest)
            finer -= settings.score_worth * gain
            value = _extrapolated(predicted.value, finer, self._evaluator.usual_rate)
            closer.append(double._replace(value=value))
        closer.sort(key=_value)
        return [one for one in closer[:1] if one.value < settings.second_chain_gain * least]

    def _excess(self, predicted: PredictedBound, fineness: float) -> float:
        """The square of a fineness, or what loses as much on a line."""
        return (self._settings.ring_excess if predicted.ring else 1.0) * fineness**2

    def _at(self, candidate: GramCandidate, fineness: float) -> Found:
        return self._evaluator.at(candidate, fineness)

    def _affordable(self, candidate: GramCandidate, share: float) -> float:
        return self._evaluator.affordable(candidate, share * self._budget)


def _extrapolated(value: float, finer: float, rate: float) -> float:
    """What a bound may become if the square of the fineness changes by `finer`."""
    return value * math.exp(min(rate * finer, LARGEST_EXPONENT))


def _value(one: PredictedBound) -> float:
    return one.value
