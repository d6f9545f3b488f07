"""The search for the smallest upper bound: some candidates, then finer lattices for the best.

From a few layouts it goes on to whatever is best among those that differ in one choice: how the
majorant is weighted (its tilt), every how many bins are kept, in how many groups, how many bins are
left out beside cuts. All are computed at one fineness, so that what is compared is the majorant.
The best few are then computed with more work, and the best of these with most.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from hockeystick.analyses.gram.law.reading import LawReading
from hockeystick.analyses.gram.search.candidates import Majorants
from hockeystick.analyses.gram.search.evaluation import Found, GramCandidate, GramQuery, LawCache
from hockeystick.analyses.gram.search.settings import SETTINGS, GramSettings
from hockeystick.profile.resolution import Direction

__all__ = ["UpperSearch"]

# Lattices that are closer to each other tell no rate.
FARTHEST_TO_COMPARE = 0.75


class UpperSearch:
    """The best bounds of majorants within a budget; laws and results are kept."""

    def __init__(
        self, majorants: Majorants, budget: float, settings: GramSettings = SETTINGS
    ) -> None:
        self.majorants = majorants
        self.budget = budget
        self.settings = settings
        self.laws = LawCache(settings)
        self._found: dict[tuple[GramQuery, Direction], Found] = {}

    def worst(self, query: GramQuery, directions: Sequence[Direction]) -> Found:
        """The largest over the directions of the smallest bounds; `directions` is not empty."""
        return max((self.best(query, one) for one in directions), key=_value)

    def reading(self, query: GramQuery, direction: Direction) -> LawReading:
        """The law behind the smallest bound, as a bound at every epsilon."""
        _, _, candidate, fineness = self.best(query, direction)
        return self.laws.reading(candidate, direction, fineness=fineness, tail=query.tail)

    def best(self, query: GramQuery, direction: Direction) -> Found:
        """The smallest bound in one direction."""
        key = query, direction
        if key not in self._found:
            self._found[key] = _Request(self, query, direction).best()
        return self._found[key]


class _Request:
    """The search for one number in one direction."""

    def __init__(self, search: UpperSearch, query: GramQuery, direction: Direction) -> None:
        self._search = search
        self._query = query
        self._direction = direction
        self._known: dict[GramCandidate, Found] = {}

    def best(self) -> Found:
        """Climbs from the best layout, then computes the best few, and the best of these."""
        settings, majorants = self._search.settings, self._search.majorants
        best = self._coarse(map(self._affordable_groups, majorants.first))
        self._coarse(majorants.exact)
        before = None
        while best is not before:
            before, best = best, self._coarse([best, *majorants.beside(best)])
        best = self._coarse([best, *majorants.halfway(best)])
        ranked = sorted(self._known.values(), key=self._predicted)
        # Coarse lattices lose more of some kinds, and of the matrix itself they show least.
        kinds = {one.candidate.kind: one for one in reversed(ranked)}
        others = sorted(kinds.values(), key=self._predicted)
        exact = [one for one in ranked if one.candidate in majorants.exact]
        few = settings.finalists
        ranked = list(dict.fromkeys([*ranked[:few], *others[:few], *exact]))
        finer = [self._at(one.candidate, settings.medium_work) for one in ranked]
        tried = [*zip(finer, map(_rate, finer, ranked), strict=True), *self._closed(best)]
        best = min(tried, key=lambda x: self._predicted(*x))[0].candidate
        return min((*finer, self._at(best, settings.finest_work)), key=_value)

    def _closed(self, best: GramCandidate) -> list[tuple[Found, float]]:
        """The first closed ring whose last lattice is fine, with a tilt that has proved best."""
        settings, known = self._search.settings, self._query.delta is not None
        rate = settings.closing * (settings.epsilon_rate if known else settings.delta_rate)
        for one in self._search.majorants.closed(best.tilt):
            fineness = self._affordable(one, settings.finest_work)
            if one not in self._known and fineness <= settings.closed_fineness:
                return [(self._at(one, settings.medium_work), rate)]
        return []

    def _affordable_groups(self, one: GramCandidate) -> GramCandidate:
        """The same in more groups, until a coarse lattice is affordable."""
        settings = self._search.settings
        while self._affordable(one, settings.coarse_work) >= settings.too_coarse:
            shorter = self._search.majorants.shorter(one)
            if shorter is None:
                break
            one = shorter
        return one

    def _coarse(self, candidates: Iterable[GramCandidate | None]) -> GramCandidate:
        """The best of some candidates, all of which are kept; those too expensive are left out."""
        settings, found = self._search.settings, []
        for one in candidates:
            if one is not None and one not in self._known:
                fineness = max(settings.coarse, self._affordable(one, settings.coarse_work))
                exact = one in self._search.majorants.exact
                if self._known and fineness >= (
                    settings.coarsest if exact else settings.too_coarse
                ):
                    continue
                self._known[one] = self._evaluated(one, fineness)
            if one is not None:
                found.append(self._known[one])
        return min(found or self._known.values(), key=self._predicted).candidate

    def _predicted(self, found: Found, rate: float | None = None) -> float:
        """What a bound may become on the finest lattice that is affordable; an estimate."""
        settings = self._search.settings
        if rate is None:
            known = self._query.delta is not None
            rate = settings.epsilon_rate if known else settings.delta_rate
            rate *= settings.rounding if found.candidate.rounds else 1.0
        finest = self._affordable(found.candidate, settings.finest_work)
        return found.value * math.exp(rate * min(finest**2 - found.fineness**2, 0.0))

    def _affordable(self, candidate: GramCandidate, work: float) -> float:
        """The finest lattice for a part of the budget: more for the matrix itself."""
        settings = self._search.settings
        most = max(work * self._search.budget, settings.least_work)
        if candidate in self._search.majorants.exact:
            most = settings.exact_work * work * self._search.budget
        laws, tail = self._search.laws, self._query.tail
        return laws.affordable(candidate, self._direction, tail=tail, most=most)

    def _at(self, candidate: GramCandidate, work: float) -> Found:
        return self._evaluated(candidate, self._affordable(candidate, work))

    def _evaluated(self, candidate: GramCandidate, fineness: float) -> Found:
        """The bound on a lattice."""
        laws, direction = self._search.laws, self._direction
        law = laws.reading(candidate, direction, fineness=fineness, tail=self._query.tail)
        return Found(self._query.read(law), direction, candidate, fineness)


def _rate(fine: Found, coarse: Found) -> float | None:
    """How fast the log of a bound falls with the square of the fineness, from two of them."""
    apart = fine.fineness < FARTHEST_TO_COMPARE * coarse.fineness
    if not (apart and 0 < fine.value < coarse.value < math.inf):
        return None
    return math.log(coarse.value / fine.value) / (coarse.fineness**2 - fine.fineness**2)


def _value(found: Found) -> float:
    return found.value
