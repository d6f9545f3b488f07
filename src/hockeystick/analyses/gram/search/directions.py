"""The search over directions: the worst one decides, the others need not be searched in full."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property

from hockeystick._numerics.law import Side
from hockeystick.analyses.gram.law.reading import LawReading
from hockeystick.analyses.gram.search.best_first import BestFirstSearch
from hockeystick.analyses.gram.search.candidates import GramCandidate
from hockeystick.analyses.gram.search.evaluation import Found, GramQuery, LatticeEvaluator, LawCache
from hockeystick.analyses.gram.search.settings import SETTINGS, GramSettings
from hockeystick.profile.resolution import Direction

__all__ = ["GramSearch", "no_worse"]


class GramSearch:
    """The best bounds of candidates within a budget; laws and results are kept.

    Which candidate is best depends on the query: at high noise the sum of all entries of the
    Gram matrix counts, at low noise its diagonal.
    """

    def __init__(
        self, candidates: list[GramCandidate], budget: float, settings: GramSettings = SETTINGS
    ) -> None:
        self._candidates = candidates
        self._budget = budget
        self.laws = LawCache(settings)
        self._found: dict[tuple[object, ...], Found] = {}

    def best(self, query: GramQuery, direction: Direction, accuracy: float) -> Found:
        """The smallest bound in one direction."""
        key = (query, direction, accuracy)
        if key not in self._found:
            evaluator = LatticeEvaluator(self.laws, query, direction)
            search = BestFirstSearch(self._candidates, self._budget, evaluator, accuracy)
            self._found[key] = search.best()
        return self._found[key]

    def reading(self, query: GramQuery, direction: Direction, accuracy: float) -> LawReading:
        """The law behind the smallest bound, as a bound at every epsilon."""
        found = self.best(query, direction, accuracy)
        return self.laws.reading(
            found.candidate,
            direction,
            side=Side.UPPER,
            fineness=found.fineness,
            tail=query.tail,
        )

    def worst(self, query: GramQuery, directions: Sequence[Direction], accuracy: float) -> Found:
        """The largest over the directions of the smallest bounds; `directions` is not empty.

        A direction that one law shows to be hardly worse than another is not searched.
        """
        first, *others = directions
        worst = self.best(query, first, accuracy)
        for direction in others:
            found = no_worse(LatticeEvaluator(self.laws, query, direction), worst)
            if found is None:
                found = self.best(query, direction, accuracy)
            worst = max(worst, found, key=lambda one: one.value)
        return worst


def no_worse(evaluator: LatticeEvaluator, other: Found) -> Found | None:
    """The majorant of another direction, if it shows that this one is hardly worse.

    On a lattice that is as coarse as will do, and not finer than the other one's. With much noise
    both directions are nearly the same, and a search would find nearly the same.
    """
    settings = evaluator.laws.settings
    comparison = _Comparison(evaluator, other)
    fineness = comparison.first_guess()
    for _ in range(settings.tries):
        found = evaluator.at(other.candidate, fineness)
        if found.value <= other.value:
            return found
        fineness = comparison.fine_enough(found, other.value)
    found = evaluator.at(other.candidate, other.fineness)
    return found if found.value <= evaluator.scaled(other.value, settings.hardly_worse) else None


class _Comparison:
    """How coarse a lattice may be to reach another bound, estimated from a line."""

    def __init__(self, evaluator: LatticeEvaluator, other: Found) -> None:
        self._evaluator, self._other = evaluator, other
        self._settings = evaluator.laws.settings
        self._first = max(self._settings.first_fineness, other.fineness)
        self._line = other.candidate.on_a_line

    def first_guess(self) -> float:
        """Assumes that a ring exceeds the line by as much as in the other direction.

        Only the starting fineness depends on it.
        """
        other = self._other
        found = self._evaluator.at(self._line, self._first)
        if not other.candidate.mixture.ring:
            return self._first
        opposite = self._evaluator._replace(direction=other.direction)
        ring, line = (opposite.at(one, self._first).value for one in (other.candidate, self._line))
        wanted = other.value * line / ring if 0 < ring < math.inf else other.value
        wanted = self._evaluator.scaled(wanted, self._settings.line_optimism)
        return self.fine_enough(found, wanted)

    def fine_enough(self, found: Found, wanted: float) -> float:
        """Where a bound may have decreased to what is wanted."""
        if found.value <= wanted:
            return self._first
        if not 0 < wanted < found.value < math.inf:
            return self._other.fineness
        square = found.fineness**2 - math.log(found.value / wanted) / self._rate
        return max(self._settings.nearly * math.sqrt(max(square, 0.0)), self._other.fineness)

    @cached_property
    def _rate(self) -> float:
        """The convergence rate of a ring, from two lattices of the line."""
        second = self._settings.second_fineness * self._first
        coarse, fine = (self._evaluator.at(self._line, one) for one in (self._first, second))
        ring = self._other.candidate.mixture.ring
        factor = self._settings.ring_excess if ring else 1.0
        return factor * self._evaluator.rate(coarse, fine)
